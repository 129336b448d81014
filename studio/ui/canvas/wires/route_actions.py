"""Actions on reroute points of wires. Each change is one edit of the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from PySide6.QtCore import QPointF

from studio.document.model import Document, Wire
from studio.document.wire_routes import set_route
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.geometry import snap


class RouteActions:
    """Adds and removes reroute points."""

    def __init__(self, context: CanvasContext) -> None:
        self._store = context.store
        self._scene = context.scene

    def add_point(self, wire: Wire, at: QPointF) -> None:
        """Add a reroute point at the place of the wire that is nearest to a position, and select it."""
        index, nearest = self._scene.wires[wire].curve.nearest((at.x(), at.y()))
        points = list(self._store.document.routes.get(wire.target, ()))
        index = min(index, len(points)) if points else 0
        points.insert(index, (snap(nearest.x), snap(nearest.y)))
        title = f"Add reroute point to {wire.target}"
        if self._store.edit(title, lambda document: set_route(document, wire.target, points)):
            self._scene.selection.select((), points=[(wire, index)])

    @property
    def rerouted(self) -> list[Wire]:
        """The selected wires with reroute points, and those of selected points."""
        chosen = dict.fromkeys((*self._scene.selection.wires, *(wire for wire, _ in self._scene.selection.points)))
        return [wire for wire in chosen if wire.target in self._store.document.routes]

    def straighten(self) -> None:
        """Remove all reroute points of the selected wires."""
        wires = self.rerouted

        def change(document: Document) -> Document:
            for wire in wires:
                document = set_route(document, wire.target, ())
            return document

        if wires:
            self._store.edit(f"Remove reroute points of {described(wires)}", change)


def without_points(document: Document, points: Iterable[tuple[Wire, int]]) -> Document:
    """The document without these reroute points."""
    removed: defaultdict[Wire, set[int]] = defaultdict(set)
    for wire, index in points:
        removed[wire].add(index)
    for wire, indices in removed.items():
        if any(wire == other for other in document.wires):
            route = document.routes.get(wire.target, ())
            document = set_route(
                document, wire.target, [point for index, point in enumerate(route) if index not in indices]
            )
    return document


def described(wires: Iterable[Wire]) -> str:
    """The input of a wire, or the number of wires, for the title of an edit."""
    targets = [str(wire.target) for wire in wires]
    return targets[0] if len(targets) == 1 else f"{len(targets)} wires"
