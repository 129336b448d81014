"""Compares the project with another version of it, on the canvas and in a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent

from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import view
from studio.document.blocks.block_locations import Location, Step
from studio.document.graph_comparison import Change, Comparison, compare
from studio.document.model import Document, Node
from studio.lowering.analysis.block_types import known_type
from studio.nodes.types import NodeType
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.comparison.change_tooltip import change_tooltip
from studio.ui.canvas.comparison.comparison_layer import ComparisonLayer
from studio.ui.canvas.comparison.comparison_list import ComparisonList
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.hit_testing import Hit

_EDGE = 12


class CanvasComparison(QObject):
    """Shows what differs in the current project from an old version, and follows edits."""

    changed = Signal()
    """A comparison began or ended."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view)
        self._view, self._store = view, view.store
        scene = view.canvas_scene
        self.layer = ComparisonLayer(scene.paint_context, scene.nodes, scene.wires)
        scene.addItem(self.layer.wires)
        scene.addItem(self.layer)
        self.list = ComparisonList(self.end, view.viewport())
        self.list.chosen.connect(self._reveal)
        self._title = ""
        self._old: Callable[[], Document] | None = None
        self.comparison = Comparison()
        self._chosen: Change | None = None
        view.store.project.document_changed.connect(self._refresh)
        view.store.document_changed.connect(self._show)
        scene.moved.connect(self.layer.repaint)
        view.viewport().installEventFilter(self)
        view.installEventFilter(self)
        self.list.installEventFilter(self)
        view.tooltip_sources.append(self._tooltip)

    @property
    def is_active(self) -> bool:
        return self._old is not None

    def begin(self, title: str, old: Callable[[], Document]) -> None:
        """Compare with the version that `old` returns, now and after each edit, and show the first difference."""
        self._title, self._old, self._chosen = title, old, None
        self._refresh()
        self.list.show()
        self._place()
        self.list.show_first()
        self.list.list.setFocus()
        self.changed.emit()

    def end(self) -> None:
        """Remove the marks and the list."""
        if self._old is not None:
            self._old, self.comparison, self._chosen = None, Comparison(), None
            self.list.hide()
            self.layer.show_changes((), Document(), None)
            self._view.setFocus()
            self.changed.emit()

    def step(self, by: int) -> None:
        """Show the next or previous difference."""
        if self.is_active:
            self.list.step(by)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not self.is_active:
            return False
        is_scrolled = watched is self.list and event.type() == QEvent.Type.Move  # by a pan, with the canvas
        if is_scrolled or event.type() == QEvent.Type.Resize:
            self._place()
        if watched is self.list:
            return False
        is_escape = (
            isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Escape
        )
        if is_escape and self._view.gesture is None and not self._store.selection:
            self.end()
            return True
        return False

    def _refresh(self, *_: object) -> None:
        if self._old is None:
            return
        self.comparison = found = compare(self._old(), self._store.project.document)
        others = [f"Block {name}: added" for name in found.blocks_added]
        others += [f"Block {name}: removed" for name in found.blocks_removed]
        others += [f"Training: {value}" for value in found.training]
        count = len(found.changes) + len(others)
        self.list.show_changes(f"{self._title}: {count} difference{'' if count == 1 else 's'}", found.changes, others)
        self._place()
        self._show()

    def _show(self, *_: object) -> None:
        """Mark the changes of the shown graph."""
        if self._old is None:
            return
        old, block = self._old(), self._store.block
        graph = old if not block else old.blocks.get(block, Document())
        self.layer.show_changes(self.comparison.within(block), graph, self._chosen)

    def _reveal(self, change: Change) -> None:
        """Show the graph of a change, select its node, and bring it into view."""
        self._chosen = change
        if change.block != self._store.block:
            location = _first_location(self._store.project.document, change.block)
            if location is None:
                return
            self._store.go(location)
        self._store.select([change.new] if change.new is not None else [])
        self._show()
        box = self.layer.box(change)
        if box is None:
            return
        camera, rect = self._view.camera, QRectF(box.left, box.top, box.width, box.height)
        shown = QRectF(camera.to_view(rect.topLeft()), camera.to_view(rect.bottomRight()))
        if shown.intersects(QRectF(self.list.geometry())):
            camera.center_on(rect.center())
        else:
            camera.reveal(rect)

    def _tooltip(self, hit: Hit, at: QPointF) -> str:
        """The difference of the node or ghost at a position."""
        if self._old is None or hit.port is not None or hit.wire is not None:
            return ""
        for change in self.comparison.within(self._store.block):
            box = None if change.new is not None else self.layer.box(change)
            if (hit.node is not None and change.new == hit.node) or (box is not None and _contains(box, at)):
                document = self._store.project.document
                return change_tooltip(change, self._type(self._old(), change.old), self._type(document, change.new))
        return ""

    def _type(self, document: Document, name: str | None) -> NodeType | None:
        """The type of a node of the shown graph in a version of the project; None if it is unknown."""
        block = self._store.block
        graph = document if not block else view(document, block) if block in document.blocks else Document()
        return None if name not in graph.nodes else known_type(graph, self._store.catalogue, name)

    def _place(self) -> None:
        """Place the list in the upper right corner."""
        size, viewport = self.list.sizeHint(), self._view.viewport().size()
        width = min(size.width(), viewport.width() - 2 * _EDGE)
        height = min(size.height(), viewport.height() - 2 * _EDGE)
        self.list.setGeometry(viewport.width() - width - _EDGE, _EDGE, width, height)


def _contains(box: Box, at: QPointF) -> bool:
    return box.left <= at.x() <= box.right and box.top <= at.y() <= box.bottom


def _first_location(document: Document, block: str) -> Location | None:
    """The location of the first instance of a definition; empty for the canvas, None if there is no instance."""
    if not block:
        return ()
    waiting: list[tuple[Location, Mapping[str, Node]]] = [((), document.nodes)]
    for location, nodes in waiting:
        for name, node in nodes.items():
            used = block_nodes.name_of(node)
            if used == block:
                return (*location, Step(name))
            if used in document.blocks:
                waiting.append(((*location, Step(name)), document.blocks[used].nodes))
    return None


__all__ = ["CanvasComparison"]
