"""Actions of the canvas for commands, menus and keys. Each change is one edit of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QGuiApplication

from engine.inspect.layout_folding import Window
from studio.document import edits, node_clipboard, weight_sharing
from studio.document.frames import frames_of, remove_frames
from studio.document.model import Document, Endpoint, Wire
from studio.document.wire_routes import inner_routes
from studio.lowering.analysis.block_types import known_type
from studio.nodes.types import NodeType
from studio.ui.canvas import composite_edits
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.composite_edits import NO_PARAMS, Params
from studio.ui.canvas.frames.frame_actions import described
from studio.ui.canvas.frames.frame_geometry import box_of
from studio.ui.canvas.geometry import Box, bounds, snap
from studio.ui.canvas.layout import align_nodes
from studio.ui.canvas.layout.auto_layout import AutoLayout
from studio.ui.canvas.layout.opening_view import opening_view
from studio.ui.canvas.layout.push_nodes import WIRE_LENGTH
from studio.ui.canvas.layout.room_below import shift_to_room
from studio.ui.canvas.level_of_detail import FULL_SCALE
from studio.ui.canvas.moved_items import MovedItems, moved_items
from studio.ui.canvas.nodes.node_layout import HEADER
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.canvas.wires.route_actions import without_points
from studio.ui.canvas.wires.wire_graph import Direction, nearest_in_direction
from studio.ui.project.freezing import can_freeze

_BREADCRUMBS = 40.0
"""Height of the breadcrumb bar of a block with its distance from the edge."""
_GRIP = QPointF(24.0, HEADER / 2)
"""Position of the pointer relative to the top left corner of a dropped node."""
_STEPS: dict[Direction, tuple[int, int]] = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


class CanvasActions:
    """Actions on the selection; some act on all nodes if none is selected."""

    def __init__(self, context: CanvasContext, auto_layout: AutoLayout) -> None:
        self._context = context
        self._store = context.store
        self._scene = context.scene
        self._camera = context.camera
        self._auto_layout = auto_layout

    # -- adding

    def add(
        self,
        kind: NodeType,
        at: QPointF,
        pending: PendingWire | None = None,
        params: Params = NO_PARAMS,
    ) -> str | None:
        """Add a node at a scene position, wired to the loose end of `pending`. Returns its name; None if refused."""
        position = (self._scene.options.snap(at.x()), self._scene.options.snap(at.y()))
        added: list[str] = []

        def change(document: Document) -> Document:
            if pending is None:
                document, name = composite_edits.add_node(document, kind, position, params)
            else:
                document, name = composite_edits.add_wired_node(document, kind, position, pending, params)
                if pending.loose_side == "input":
                    document = self._with_targets(document, kind, name, pending.fixed.node)
            added.append(name)
            return document

        return self._added(f"Add {kind.title}", change, added)

    def add_at(self, kind: NodeType, pointer: QPointF, params: Params = NO_PARAMS) -> str | None:
        """Add a node with its header at the pointer."""
        return self.add(kind, pointer - _GRIP, params=params)

    def add_near(self, kind: NodeType, pointer: QPointF, params: Params = NO_PARAMS) -> str | None:
        """Add a node with its header at the pointer, or below if it would overlap another one."""
        corner = pointer - _GRIP
        size = self._scene.new_box(edits.unique_name(self._store.document, kind.title), kind, (0, 0))
        return self.add(kind, QPointF(*self._free_position(corner.x(), corner.y(), size)), params=params)

    def add_after(self, kind: NodeType, name: str, params: Params = NO_PARAMS) -> str | None:
        """Add a node to the right of another and connect it. Returns None if no ports match.

        Nodes that the other one is connected to come after the new one, if it has an output for them.
        """
        wire = composite_edits.wire_to_follower(self._store.document, self._store.catalogue, name, kind)
        if wire is None:
            return None
        new = edits.unique_name(self._store.document, kind.title)
        before, after = composite_edits.onward_wires(self._store.document, wire, kind, new)
        box = self._scene.nodes[name].box
        new_box = self._scene.new_box(new, kind, (snap(box.right + WIRE_LENGTH), box.top))
        if before:
            positions = composite_edits.positions_after_insertion(
                self._store.document, self._scene.boxes(), new_box, new, before
            )
        else:
            positions = {new: self._free_position(new_box.left, new_box.top, new_box)}

        def change(document: Document) -> Document:
            document, _ = composite_edits.add_node(document, kind, positions[new], params, name=new)
            document = edits.disconnect(document, before)
            for each in (Wire(wire.source, Endpoint(new, wire.target.port)), *after):
                document = edits.connect(document, each)
            document = self._with_targets(document, kind, new, name)
            return composite_edits.move_nodes(document, positions)

        return self._added(f"Add {kind.title} after {name}", change, [new])

    def _with_targets(self, document: Document, kind: NodeType, new: str, before: str) -> Document:
        """Connect the targets of a new loss or metric, if they are clear."""
        store, target = self._store, Endpoint(new, "target")
        source = composite_edits.target_source(document, store.catalogue, store.report, kind, before)
        if source is None or any(wire.target == target for wire in document.wires):
            return document
        return edits.connect(document, Wire(source, target))

    def add_into(self, kind: NodeType, wire: Wire, pointer: QPointF) -> str | None:
        """Insert a new node into a wire, with its header at the pointer, and push overlapping nodes to the right.

        Returns None if no ports match.
        """
        at, to_grid = pointer - _GRIP, self._scene.options.snap
        document, catalogue = self._store.document, self._store.catalogue
        name = edits.unique_name(document, kind.title)
        pair = composite_edits.insertion_wires_for_type(document, catalogue, kind, name, wire)
        if pair is None:
            return None

        box = self._scene.new_box(name, kind, (to_grid(at.x()), to_grid(at.y())))
        positions = composite_edits.positions_after_insertion(document, self._scene.boxes(), box, name, [wire])

        def change(document: Document) -> Document:
            document, _ = composite_edits.add_node(document, kind, (box.left, box.top), name=name)
            return composite_edits.move_nodes(composite_edits.insert_into_wire(document, wire, pair), positions)

        return self._added(f"Insert {kind.title} into a wire", change, [name])

    def fits_into(self, kind: NodeType, wire: Wire) -> bool:
        return (
            composite_edits.insertion_wires_for_type(self._store.document, self._store.catalogue, kind, "", wire)
            is not None
        )

    def _added(self, title: str, change: Callable[[Document], Document], added: list[str]) -> str | None:
        if not self._store.edit(title, change):
            return None
        self._scene.selection.select(())
        self._store.select(added[-1:])
        return added[-1]

    def _free_position(self, x: float, y: float, size: Box) -> tuple[float, float]:
        """The position, or the first one below it where a node of this size overlaps no other node."""
        to_grid, gap = self._scene.options.snap, 2 * self._scene.options.grid
        x, y = to_grid(x), to_grid(y)
        for _ in range(64):
            covering = self._scene.nodes_in(Box(x, y, x + size.width, y + size.height))
            lowest = max(
                (node.box.bottom for node in covering if node.box.right > x and node.box.bottom > y), default=None
            )
            if lowest is None:
                break
            y = to_grid(lowest + gap)
        return x, y

    # -- removing

    def delete(self) -> None:
        """Delete the selected nodes, wires, frames and reroute points."""
        names, wires, frames = self._store.selection, self._scene.selection.wires, self._scene.frames.selected
        points = self._scene.selection.points

        def change(document: Document) -> Document:
            document = edits.disconnect(without_points(document, points), wires)
            return remove_frames(edits.remove(document, names), frames)

        if names or wires or frames:
            self._store.edit(f"Delete {self._described(names, wires, frames)}", change)
        elif points:
            wire, _ = next(iter(points))
            what = f"{len(points)} reroute points" if len(points) > 1 else f"reroute point of {wire.target}"
            self._store.edit(f"Delete {what}", change)

    def delete_and_reconnect(self) -> None:
        """Delete the selected nodes and connect their inputs to their outputs."""
        names, catalogue = self._in_order(self._store.selection), self._store.catalogue
        if names:
            self._store.edit(
                f"Delete {_described(names)} and reconnect",
                lambda document: composite_edits.remove_and_reconnect(document, catalogue, names),
            )

    # -- the clipboard

    def copy(self) -> bool:
        names, frames = self._store.selection, self._scene.frames.selected
        if not names and not frames:
            return False
        QGuiApplication.clipboard().setText(node_clipboard.copy(self._store.document, names, frames))
        return True

    def cut(self) -> None:
        names, frames = self._store.selection, self._scene.frames.selected
        if self.copy():
            title = f"Cut {self._described(names, frames=frames)}"
            self._store.edit(title, lambda document: remove_frames(edits.remove(document, names), frames))

    def paste(self, at: QPointF | None = None, *, with_inputs: bool = False) -> None:
        """Paste nodes at a scene position. The store rejects other clipboard text."""
        text = QGuiApplication.clipboard().text()
        at = at if at is not None else self._camera.visible.center()
        to_grid = self._scene.options.snap
        nodes, frames = node_clipboard.copied_names(text)
        count = f"{len(frames)} frames" if len(frames) > 1 else "a frame" if frames else ""
        what = " and ".join(filter(None, (_described(nodes), count if len(nodes) != 1 else "")))
        self._paste(f"Paste {what}".strip(), text, (to_grid(at.x()), to_grid(at.y())), with_inputs)

    def duplicate(self) -> None:
        """Copy the selected nodes with the wires between them, and the selected frames, to the room below them."""
        names, frames = self._store.selection, self._scene.frames.selected
        copied = frames | frames_of(self._store.document, names).keys()
        frame = bounds((*self._scene.boxes(names).values(), *self._scene.frames.boxes(copied).values()))
        if frame is None:
            return
        text = node_clipboard.copy(self._store.document, names, frames)
        title = f"Duplicate {self._described(names, frames=frames)}"
        self._paste(title, text, (frame.left, frame.top), with_inputs=False)

    def _paste(self, title: str, text: str, at: tuple[float, float], with_inputs: bool) -> None:
        added: list[str] = []

        def change(document: Document) -> Document:
            old_frames = document.frames.keys()
            document, names = node_clipboard.paste(document, text, at, with_inputs)
            added.extend(names)
            frames = {name: frame for name, frame in document.frames.items() if name not in old_frames}
            items = MovedItems({name: document.nodes[name].at for name in names}, frames, inner_routes(document, names))
            return items.apply(document, 0.0, self._shift_to_room(document, items))

        frames = self._store.document.frames.keys()
        if self._store.edit(f"{title} with inputs" if with_inputs else title, change):
            self._scene.selection.select((), frames=self._store.document.frames.keys() - frames)
            self._store.select(added)
            if (box := bounds(self._scene.boxes(added).values())) is not None:
                self._camera.reveal(_rect(box))

    def _shift_to_room(self, document: Document, new: MovedItems) -> float:
        """The distance to move new items down until they cover no others."""
        catalogue, scene = self._store.catalogue, self._scene
        kinds = ((at, known_type(document, catalogue, name)) for name, at in new.nodes.items())
        nodes = [scene.new_box("", kind, at) for at, kind in kinds if kind is not None]
        frames = [box_of(frame) for frame in new.frames.values()]
        old_nodes = list(scene.boxes().values())
        old_frames = [box_of(frame) for name, frame in document.frames.items() if name not in new.frames]
        return max(shift_to_room(nodes, old_nodes), shift_to_room(frames, [*old_nodes, *old_frames]))

    # -- the selection

    def select_all(self) -> None:
        self._store.select(self._store.document.nodes)
        self._scene.selection.select((), frames=self._store.document.frames)

    def select_linked(self) -> None:
        """Select everything upstream and downstream of the selection."""
        graph = self._scene.graph
        found: set[str] = set()
        for name in self._store.selection:
            found |= graph.upstream(name)[0] | graph.downstream(name)[0]
        self._store.select(found)

    def select_in_direction(self, direction: Direction) -> None:
        """Select the next node in a direction, or the node nearest to the center of the view."""
        boxes = self._scene.boxes()
        if not boxes:
            return
        chosen = [name for name in boxes if name in self._store.selection]
        if not chosen:
            middle = self._camera.visible.center()
            goal = min(boxes, key=lambda name: (QPointF(*boxes[name].center) - middle).manhattanLength())
        else:
            frames = {name: boxes[name] for name in chosen}
            start = max(chosen, key=lambda name: _extent(frames[name], direction))
            goal = nearest_in_direction(boxes, start, direction) or start
        self._scene.selection.select(())
        self._store.select([goal])
        self._camera.reveal(_rect(boxes[goal]))

    def nudge(self, direction: Direction, steps: int = 1) -> None:
        dx, dy = (self._scene.options.grid * steps * unit for unit in _STEPS[direction])
        names, frames = self._store.selection, self._scene.frames.selected
        items = moved_items(self._store.document, names, frames)
        if items.nodes or items.frames:
            self._store.edit(
                f"Move {self._described(names, frames=frames)}",
                lambda document: items.apply(document, dx, dy),
                merge=f"nudge {' '.join(sorted((*items.nodes, *items.frames)))}",
            )

    # -- flags

    def mute(self) -> None:
        self._toggle("muted", "Mute", "Unmute")

    def freeze(self) -> None:
        self._toggle("frozen", "Freeze", "Unfreeze", self.freezable)

    @property
    def freezable(self) -> frozenset[str]:
        """The selected nodes with parameters."""
        return frozenset(name for name in self._store.selection if can_freeze(self._store, name))

    def recompute(self) -> None:
        self._toggle("recomputed", "Recompute", "Stop recomputing")

    def share_weights(self) -> None:
        """Let the selected nodes use the weights of the first one, or separate weights if they do so already."""
        document, names = self._store.document, self._store.selection
        chosen = [name for name in document.nodes if name in names]
        shared = [name for name in chosen if document.nodes[name].shares]
        if shared and len({weight_sharing.owner_of(document.nodes, name) for name in chosen}) == 1:
            self._store.edit(
                f"Use separate weights for {_described(shared)}",
                lambda document: weight_sharing.unshare(document, shared),
            )
        elif len(chosen) > 1:
            owner, *others = chosen
            self._store.edit(
                f"Share weights of {_described(chosen)}",
                lambda document: weight_sharing.share(document, others, owner),
            )

    def select_sharing(self) -> None:
        """Also select the nodes that share weights with the selected ones."""
        nodes = self._store.document.nodes
        found = [user for name in self._store.selection for user in weight_sharing.users_of(nodes, name)]
        self._store.select(list(dict.fromkeys([*self._store.selection, *found])))

    def collapse(self) -> None:
        self._toggle("collapsed", "Collapse", "Expand")

    def _toggle(self, flag: str, does: str, undoes: str, names: frozenset[str] | None = None) -> None:
        """Set a flag of the selected nodes or of these, or clear it if all of them have it."""
        names = self._store.selection if names is None else names
        if names:
            nodes = self._store.document.nodes
            verb = undoes if all(getattr(nodes[name], flag) for name in names) else does
            self._store.edit(
                f"{verb} {_described(names)}", lambda document: composite_edits.toggle_flag(document, names, flag)
            )

    # -- positions

    def lay_out(self) -> None:
        """Lay out the selected nodes, or all of them if fewer than two are selected, and bring them into view."""
        selection = self._store.selection
        names = selection if len(selection) > 1 else self._store.document.nodes
        self._auto_layout.lay_out(names, self._window)

    def lay_out_if_unplaced(self) -> None:
        """Lay out a graph whose nodes are all at the same position, as in a file without positions."""
        nodes = self._store.document.nodes
        if len(nodes) > 1 and len({node.at for node in nodes.values()}) == 1:
            self._auto_layout.lay_out(nodes, self._window, is_first=True)

    @property
    def _window(self) -> Window:
        return Window(*self._camera.room, FULL_SCALE)

    def show_laid_out(self, names: Iterable[str]) -> None:
        """Fit nodes into the view after their layout, unless all of them are in view."""
        frame = bounds(self._auto_layout.goals(names))
        if frame is not None and not self._camera.visible.contains(_rect(frame)):
            self._camera.fit(_rect(frame))

    def align(self, edge: align_nodes.Edge) -> None:
        boxes = self._scene.boxes(self._store.selection)
        if len(boxes) > 1:
            positions = align_nodes.aligned_positions(boxes, edge, self._scene.options.snap)
            self._auto_layout.move_to(f"Align {len(boxes)} nodes", positions)

    def distribute(self, axis: align_nodes.Axis) -> None:
        boxes = self._scene.boxes(self._store.selection)
        if len(boxes) > 2:
            positions = align_nodes.distributed_positions(boxes, axis, self._scene.options.snap)
            self._auto_layout.move_to(f"Distribute {len(boxes)} nodes", positions)

    # -- view

    def reveal(self, path: str) -> None:
        """Select a node, also one inside a block, and bring it into view."""
        name = self._store.reveal(path)
        for box in self._scene.boxes([name] if name else []).values():
            self._camera.reveal(_rect(box))

    def fit_selection(self) -> None:
        """Fit the selected nodes and frames into the view, or all if none is selected."""
        names, frames = self._store.selection, self._scene.frames.selected
        if names or frames:
            self._fit((*self._scene.boxes(names).values(), *self._scene.frames.boxes(frames).values()))
        else:
            self.fit_all()

    def fit_all(self, *, animated: bool = True) -> None:
        scene = self._scene
        self._fit((*scene.boxes().values(), *scene.frames.boxes().values(), *scene.cards.values()), animated=animated)

    def open_at_readable_zoom(self) -> None:
        """Show all nodes if their names stay readable, else the start of the graph."""
        size = self._context.view.viewport().size()
        view = opening_view(
            self._scene.boxes().values(),
            self._scene.frames.boxes().values(),
            size.width(),
            size.height(),
            _BREADCRUMBS if self._store.location else 0.0,
        )
        if view is None:
            self._fit(())
        else:
            self._camera.show(view.scale, QPointF(*view.center))

    def _fit(self, boxes: Iterable[Box], *, animated: bool = True) -> None:
        frame = bounds(boxes)
        if frame is None:
            self._camera.fit(QRectF(-1, -1, 2, 2), animated=animated)
        else:
            self._camera.fit(_rect(frame), animated=animated)

    def zoom(self, notches: float) -> None:
        self._camera.zoom_by(notches, QPointF(self._context.view.viewport().rect().center()))

    def zoom_to(self, scale: float) -> None:
        self._camera.zoom_to(scale)

    def _described(self, names: Iterable[str], wires: Iterable[Wire] = (), frames: Iterable[str] = ()) -> str:
        """Names or numbers of nodes, wires and frames, for the title of an edit."""
        frames = list(frames)
        parts = (_described(names, wires), described(self._store.document, frames) if frames else "")
        return " and ".join(part for part in parts if part)

    def _in_order(self, names: Iterable[str]) -> list[str]:
        chosen = set(names)
        return [name for name in self._store.document.nodes if name in chosen]


def _described(names: Iterable[str], wires: Iterable[Wire] = ()) -> str:
    """Names or numbers of nodes and wires, for the title of an edit."""
    names, wires = list(names), list(wires)
    nodes = names[0] if len(names) == 1 else f"{len(names)} nodes" if names else ""
    links = str(wires[0]) if len(wires) == 1 else f"{len(wires)} wires" if wires else ""
    return " and ".join(part for part in (nodes, links) if part)


def _extent(box: Box, direction: Direction) -> float:
    return {"left": -box.left, "right": box.right, "up": -box.top, "down": box.bottom}[direction]


def _rect(box: Box) -> QRectF:
    return QRectF(box.left, box.top, box.width, box.height)
