"""View of an autograd graph: pan, zoom, fit, folding and selection."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsScene, QGraphicsView, QToolTip, QWidget

from studio.training.autograd.graph_arrangement import TITLE
from studio.training.autograd.graph_outline import Key
from studio.ui.canvas.camera import Camera
from studio.ui.panels.autograd.graph_layouter import ShownGraph
from studio.ui.panels.autograd.graph_painter import GraphPainter, Highlights, folds_at
from studio.ui.panels.autograd.node_details import tooltip
from studio.ui.panels.autograd.norm_scale import NormScale
from studio.ui.theme import theme

_NOTCH = 120.0
_FIRST_SCALE = 0.75
"""Initial scale; names are readable at it."""
_MARGIN = 24.0
_DRAG = 4.0
"""Minimum distance in pixels that makes a press a drag; below it, it is a click."""
_STEPS = {
    (Qt.Key.Key_PageDown, False): "next", (Qt.Key.Key_PageUp, False): "previous",
    (Qt.Key.Key_PageDown, True): "next layer", (Qt.Key.Key_PageUp, True): "previous layer",
}  # fmt: skip


class GraphView(QGraphicsView):
    chosen = Signal(object)
    """Key of the clicked item or frame; None for the background."""
    toggled = Signal(str)
    """Path of a group to fold or unfold."""
    step_requested = Signal(str)
    """"first", "previous", "next", "last", "previous layer" or "next layer"."""
    search_requested = Signal()
    left = Signal()
    """Escape was pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setScene(QGraphicsScene(self))
        self.scene().setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setAccessibleName("Autograd graph")
        self.setMinimumHeight(48)
        self.camera = Camera(self)
        self.painter = GraphPainter()
        self.scene().addItem(self.painter)
        self.shown: ShownGraph | None = None
        self._pressed: QPointF | None = None
        self._last = QPointF()
        self._is_untouched = True
        theme.manager().changed.connect(self._apply_theme)
        self._apply_theme()

    def show_graph(self, shown: ShownGraph, scale: NormScale, *, anchor: Key | None = None) -> None:
        """Show a graph. The item `anchor`, or the shown part, stays where it is; a new graph is shown from its end."""
        before = self.shown
        was_at = None if before is None or anchor is None else before.drawing.box_of(anchor)
        self.shown = shown
        self.painter.show_graph(shown, scale)
        now_at = None if anchor is None else shown.drawing.box_of(anchor)
        if before is None or not shown.continues:
            self._is_untouched = True
            self.show_initial()
        elif was_at is not None and now_at is not None and before.drawing is not shown.drawing:
            moved = QPointF(now_at[0] - was_at[0], now_at[1] - was_at[1])
            self.camera.center_on(self.camera.visible.center() + moved, animated=False)

    def highlight(self, highlights: Highlights) -> None:
        self.painter.highlight(highlights)

    def reveal(self, keys: list[Key]) -> None:
        """Scroll to items or frames that are shown, as far as they fit."""
        if self.shown is None:
            return
        boxes = [box for key in keys if (box := self.shown.drawing.box_of(key)) is not None]
        if not boxes:
            return
        area = QRectF()
        for left, top, right, bottom in boxes:
            area = area.united(QRectF(left, top, right - left, bottom - top))
        self._is_untouched = False
        if self.camera.scale < _FIRST_SCALE:
            self.camera.zoom_to(_FIRST_SCALE, animated=False)
        visible = self.camera.visible
        if area.width() > visible.width() or area.height() > visible.height():
            self.camera.center_on(QRectF(*_corner_size(boxes[0])).center())
        else:
            self.camera.reveal(area)

    def position_of(self, key: Key) -> QPointF:
        """Viewport position of an item's center, or of the title of a frame. Raises KeyError if it is not shown."""
        box = None if self.shown is None else self.shown.drawing.box_of(key)
        if box is None or self.shown is None:
            raise KeyError(key)
        is_item = key in self.shown.drawing.rows
        bottom = box[3] if is_item else box[1] + TITLE
        return self.camera.to_view(QPointF((box[0] + min(box[2], box[0] + 160)) / 2, (box[1] + bottom) / 2))

    def show_initial(self) -> None:
        """Show the whole graph if its text is readable, else the end at the loss."""
        self.fit()
        if self.camera.scale < _FIRST_SCALE:
            area = self.scene().itemsBoundingRect()
            half = self.viewport().width() / 2 - _MARGIN
            self.camera.zoom_to(_FIRST_SCALE, animated=False)
            x = max(area.right() - half / _FIRST_SCALE, area.center().x())
            end = (
                None
                if self.shown is None
                else self.shown.drawing.box_of(self.shown.outline.visible(0, self.shown.expanded))
            )
            y = area.center().y() if end is None or area.height() < self.camera.visible.height() else end[1]
            self.camera.center_on(QPointF(x, y), animated=False)

    def fit(self) -> None:
        """Fit the whole graph into the view."""
        self.camera.fit(self.scene().itemsBoundingRect(), animated=False)

    # -- events

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
            self._click(event.position())
        self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        key = self._key_at(event.position())
        if isinstance(key, str):
            self.toggled.emit(key)
        elif key is None:
            self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        middle = QPointF(self.viewport().rect().center())
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        key = Qt.Key(event.key())
        if (key, shift) in _STEPS:
            self.step_requested.emit(_STEPS[key, shift])
            return
        match key:
            case Qt.Key.Key_Home | Qt.Key.Key_End if control:
                self.step_requested.emit("first" if key == Qt.Key.Key_Home else "last")
                return
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space:
                self._toggle_selected()
                return
            case Qt.Key.Key_Slash:
                self.search_requested.emit()
                return
            case Qt.Key.Key_Escape if self.painter.highlights != Highlights():
                self.left.emit()
                return
            case Qt.Key.Key_Home | Qt.Key.Key_F:
                self.fit()
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.camera.zoom_by(1, middle)
            case Qt.Key.Key_Minus:
                self.camera.zoom_by(-1, middle)
            case Qt.Key.Key_Left | Qt.Key.Key_Right | Qt.Key.Key_Up | Qt.Key.Key_Down:
                dx = {Qt.Key.Key_Left: 40, Qt.Key.Key_Right: -40}.get(key, 0)
                dy = {Qt.Key.Key_Up: 40, Qt.Key.Key_Down: -40}.get(key, 0)
                self.camera.pan(dx, dy)
            case _:
                super().keyPressEvent(event)
                return
        self._is_untouched = False

    def viewportEvent(self, event: object) -> bool:
        if isinstance(event, QHelpEvent) and self.shown is not None:
            key = self._key_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), "" if key is None else tooltip(self.shown, key), self)
            return True
        return super().viewportEvent(event)  # pyright: ignore[reportArgumentType]

    def _toggle_selected(self) -> None:
        """Fold or unfold the selected group; fold the group around a selected node."""
        key, shown = self.painter.highlights.selected, self.shown
        if key is None or shown is None:
            return
        if isinstance(key, str):
            self.toggled.emit(key)
        elif len(chain := shown.outline.chain(key)) > 1:
            self.toggled.emit(chain[-1])

    def _click(self, at: QPointF) -> None:
        key = self._key_at(at)
        if isinstance(key, str) and self.shown is not None:
            box = self.shown.drawing.box_of(key)
            if box is not None and folds_at(self.camera.to_scene(at), box[0], box[1]):
                self.toggled.emit(key)
                return
        self.chosen.emit(key)

    def _key_at(self, at: QPointF) -> Key | None:
        """The item at a viewport point, or the group whose title is there."""
        if self.shown is None:
            return None
        point = self.camera.to_scene(at)
        key = self.shown.drawing.item_at(point.x(), point.y())
        return self.shown.drawing.title_at(point.x(), point.y()) if key is None else key

    def _is_click(self, position: QPointF) -> bool:
        return (
            self._pressed is not None
            and self._last == self._pressed
            and ((position - self._pressed).manhattanLength() < _DRAG)
        )

    def _apply_theme(self, *_: object) -> None:
        self.setBackgroundBrush(theme.current().color("background"))
        self.viewport().update()


def _corner_size(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    return box[0], box[1], box[2] - box[0], box[3] - box[1]
