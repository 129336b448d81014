"""What a drag or an arrow key moves: nodes, frames with what is in them, and reroute points of wires among nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from studio.document.frames import nodes_in, shifted_frame
from studio.document.model import Document, Frame, Routes
from studio.document.wire_routes import inner_routes, shifted_route
from studio.ui.canvas import composite_edits
from studio.ui.canvas.frames.frame_geometry import box_of


@dataclass(frozen=True, slots=True)
class MovedItems:
    """Positions before the move."""

    nodes: dict[str, tuple[float, float]]
    frames: dict[str, Frame]
    routes: Routes

    def node_positions(self, dx: float, dy: float) -> dict[str, tuple[float, float]]:
        return {name: (x + dx, y + dy) for name, (x, y) in self.nodes.items()}

    def moved_frames(self, dx: float, dy: float) -> dict[str, Frame]:
        return {name: shifted_frame(frame, dx, dy) for name, frame in self.frames.items()}

    def moved_routes(self, dx: float, dy: float) -> Routes:
        return {end: shifted_route(points, dx, dy) for end, points in self.routes.items()}

    def apply(self, document: Document, dx: float, dy: float) -> Document:
        """The document after the move. Items that it no longer has are left out."""
        document = composite_edits.move_nodes(document, self.node_positions(dx, dy))
        if dx or dy:
            frames, routes = self.moved_frames(dx, dy), self.moved_routes(dx, dy)
            if frames:
                document = replace(
                    document, frames={name: frames.get(name, frame) for name, frame in document.frames.items()}
                )
            if routes:
                document = replace(
                    document, routes={end: routes.get(end, points) for end, points in document.routes.items()}
                )
        return document


def moved_items(document: Document, names: Iterable[str], frames: Collection[str]) -> MovedItems:
    """The items that move with these nodes and frames."""
    chosen = dict.fromkeys(name for name in names if name in document.nodes)
    moved = {name: document.frames[name] for name in frames if name in document.frames}
    for outer in tuple(moved.values()):
        chosen.update(dict.fromkeys(nodes_in(document, outer)))
        moved.update({name: frame for name, frame in document.frames.items() if _is_inside(frame, outer)})
    nodes = {name: document.nodes[name].at for name in chosen}
    return MovedItems(nodes, moved, inner_routes(document, nodes))


def _is_inside(frame: Frame, outer: Frame) -> bool:
    box, around = box_of(frame), box_of(outer)
    return (
        around.left <= box.left and box.right <= around.right and around.top <= box.top and box.bottom <= around.bottom
    )


__all__ = ["MovedItems", "moved_items"]
