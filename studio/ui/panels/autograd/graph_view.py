"""View of the autograd graph: pan, zoom, fit, and selection by click."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsScene, QGraphicsView, QWidget

from engine.inspect.layered_layout import Layout
from studio.document.blocks.block_nodes import path_and_outer
from studio.training.autograd_snapshot import AutogradSnapshot
from studio.ui.canvas.camera import Camera
from studio.ui.panels.autograd.graph_items import EdgeItem, OpItem
from studio.ui.panels.autograd.norm_scale import NormScale
from studio.ui.theme import theme

_NOTCH = 120.0
_FIRST_SCALE = 0.75
"""Initial scale; names are readable at it."""
_MARGIN = 24.0
_DRAG = 4.0
"""Minimum distance in pixels that makes a press a drag; below it, it is a click."""


class GraphView(QGraphicsView):
    chosen = Signal(str)
    """Canvas node of the clicked item; empty for none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setScene(QGraphicsScene(self))
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setAccessibleName("Autograd graph")
        self.camera = Camera(self)
        self.items_by_id: dict[int, OpItem] = {}
        self._edges: list[EdgeItem] = []
        self._pressed: QPointF | None = None
        self._last = QPointF()
        self._is_untouched = True
        theme.manager().changed.connect(self._apply_theme)
        self._apply_theme()

    def show_graph(self, snapshot: AutogradSnapshot, layout: Layout[int], scale: NormScale) -> None:
        """Show a graph."""
        self.scene().clear()
        self._edges = [
            EdgeItem(layout.positions[behind], route, layout.positions[before])
            for (behind, before), route in layout.routes.items()
        ]
        self.items_by_id = {node.id: OpItem(node, snapshot.nodes.get(node.id), scale) for node in snapshot.graph.nodes}
        for edge in self._edges:
            self.scene().addItem(edge)
        for number, item in self.items_by_id.items():
            item.setPos(*layout.positions[number])
            self.scene().addItem(item)
        self.show_initial()

    def mark(self, owners: Iterable[str], *, reveal: bool) -> None:
        """Highlight the graph nodes of these canvas nodes and scroll to them."""
        wanted = frozenset(owners)
        area = QRectF()
        for item in self.items_by_id.values():
            item.set_marked(not wanted.isdisjoint(path_and_outer(item.owner or "")))
            if item.is_marked:
                area = area.united(item.sceneBoundingRect())
        if reveal and not area.isEmpty():
            self.camera.reveal(area)

    def show_initial(self) -> None:
        """Show the whole graph if its text is readable, else the end at the loss."""
        self.fit()
        if self.camera.scale < _FIRST_SCALE:
            area = self.scene().itemsBoundingRect()
            half = self.viewport().width() / 2 - _MARGIN
            self.camera.zoom_to(_FIRST_SCALE, animated=False)
            x = max(area.right() - half / _FIRST_SCALE, area.center().x())
            self.camera.center_on(QPointF(x, area.center().y()), animated=False)

    def fit(self) -> None:
        """Fit the whole graph into the view."""
        self.camera.fit(self.scene().itemsBoundingRect(), animated=False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_untouched:
            self.show_initial()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._is_untouched = False
        self.camera.zoom_by(event.angleDelta().y() / _NOTCH, event.position())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self._last = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            super().mouseMoveEvent(event)
            return
        moved = event.position() - self._last
        if self._is_click(event.position()):
            return
        self._last = event.position()
        self._is_untouched = False
        self.camera.pan(moved.x(), moved.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None and self._is_click(event.position()):
            item = self.itemAt(event.position().toPoint())
            self.chosen.emit((item.owner or "") if isinstance(item, OpItem) else "")
        self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        middle = QPointF(self.viewport().rect().center())
        match event.key():
            case Qt.Key.Key_Home | Qt.Key.Key_F:
                self.fit()
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.camera.zoom_by(1, middle)
            case Qt.Key.Key_Minus:
                self.camera.zoom_by(-1, middle)
            case Qt.Key.Key_Left | Qt.Key.Key_Right | Qt.Key.Key_Up | Qt.Key.Key_Down:
                dx = {Qt.Key.Key_Left: 40, Qt.Key.Key_Right: -40}.get(Qt.Key(event.key()), 0)
                dy = {Qt.Key.Key_Up: 40, Qt.Key.Key_Down: -40}.get(Qt.Key(event.key()), 0)
                self.camera.pan(dx, dy)
            case _:
                super().keyPressEvent(event)
                return
        self._is_untouched = False

    def _is_click(self, position: QPointF) -> bool:
        return (
            self._pressed is not None
            and self._last == self._pressed
            and ((position - self._pressed).manhattanLength() < _DRAG)
        )

    def _apply_theme(self, *_: object) -> None:
        self.setBackgroundBrush(theme.current().color("background"))
        for edge in self._edges:
            edge.apply_theme()
        self.viewport().update()
