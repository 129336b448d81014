"""The canvas widget: turns Qt's events into gestures, and keeps what lies on top of the graph in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import cast

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHelpEvent,
    QInputDevice,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QGraphicsView, QToolTip, QWidget

from studio.nodes.types import NodeType
from studio.ui.canvas import composite_edits
from studio.ui.canvas.camera import Camera
from studio.ui.canvas.canvas_actions import Actions
from studio.ui.canvas.canvas_context import Context
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.drop_handler import Dropping
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.pointer_controller import Pointing
from studio.ui.canvas.hit_testing import NOTHING, Hit
from studio.ui.canvas.layers.grid_background import paint_ground
from studio.ui.canvas.layout.auto_layout import Tidy
from studio.ui.canvas.layout.push_nodes import grow_into_room
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.canvas.overlays.canvas_overlays import OnTop
from studio.ui.canvas.overlays.canvas_tooltips import described, tip
from studio.ui.canvas.wires.pending_wire import Wiring
from studio.ui.project.project_store import Store
from studio.ui.theme.theme import Theme, ThemeManager

_NOTCH = 120.0
"""What a notch of a usual mouse wheel counts."""


class CanvasView(QGraphicsView):
    """One document as a graph. `canvas_commands` makes the commands and keys for it."""

    zoom_changed = Signal(float)
    """The new scale; 1.0 is 100%."""
    drop_refused = Signal(str)
    """Why dropped files are of no use, and what can be dropped."""
    template_requested = Signal()
    """The button of the empty canvas was pressed."""
    parameters_wanted = Signal()
    """Enter was pressed: the fields of what is selected are wanted."""

    def __init__(self, store: Store, themes: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self._themes = themes
        self.canvas = CanvasScene(store, themes.theme, self)
        self.setScene(self.canvas)
        self._set_up_widget()
        self.camera = Camera(self)
        self.tidy = Tidy(store, self.canvas, self)
        self.context = Context(store, self.canvas, self.camera, self, self._say, self._open_search, self._open_menu)
        self.do = Actions(self.context, self.tidy)
        """What commands do here."""
        self.top = OnTop(self.context, self.do, themes)
        self._dropping = Dropping(self.context, self.do, self.drop_refused.emit)
        self._pointing = Pointing(self.context)
        self._exposed = QRegion()
        self._has_panned = False
        """Since all of it was painted last."""
        self._shown = False
        self._connect(themes)
        self._take_document()

    def _set_up_widget(self) -> None:
        self.setAccessibleName("Canvas")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontSavePainterState)
        # The ground covers all of it; only then does Qt move pixels when the canvas is panned.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)

    def _connect(self, themes: ThemeManager) -> None:
        self.camera.changed.connect(self._take_zoom)
        self.top.hint.template_requested.connect(self.template_requested)
        self.tidy.finished.connect(self._take_places)
        self.canvas.moved.connect(self._paint_afresh)
        self._pointing.moved.connect(self._place_bar)
        self.store.document_changed.connect(self._take_document)
        self.store.report_changed.connect(self._take_report)
        self.store.selection_changed.connect(self._take_selection)
        themes.changed.connect(self._take_theme)

    # -- for the window

    def set_live(self, values: Mapping[str, str], progress: Mapping[str, float] | None = None) -> None:
        """Figures of the training that runs by node, and how far along it is; empty when it is over."""
        self.canvas.set_live(values, progress)

    def show_why_not_run(self) -> None:
        """Say in an empty canvas what a run needs."""
        self.top.show_why_not_run()

    def drop_files(self, paths: Iterable[Path], at: QPointF | None = None) -> None:
        """Add data nodes that read these files; say what can be dropped where there is none."""
        self._dropping.drop_files(paths, at or self.camera.visible.center())

    def reveal(self, name: str) -> None:
        """Select a node and bring it into view."""
        self.store.select([name])
        for box in self.canvas.boxes([name]).values():
            self.camera.reveal(QRectF(box.left, box.top, box.width, box.height))

    @property
    def find_action(self) -> Callable[[str], QAction | None]:
        """Where context menus get their commands from. Whoever makes the commands sets it."""
        return self.top.find_action

    @find_action.setter
    def find_action(self, find: Callable[[str], QAction | None]) -> None:
        self.top.find_action = find

    def add_at_center(self, kind: NodeType) -> None:
        """Add a node behind the selected one where it fits, else in the middle of the view."""
        if not self.top.add_behind_selected(kind):
            self.do.add_at(kind, self.camera.visible.center())

    def open_search(self) -> None:
        """Open the search palette at the pointer, or in the middle if it is elsewhere."""
        self.top.open_search(self._pointing.place or self.camera.visible.center())

    def paste(self, *, with_inputs: bool = False) -> None:
        """Paste at the pointer, or in the middle if it is elsewhere."""
        self.do.paste(self._pointing.place, with_inputs=with_inputs)

    def rename(self) -> None:
        """Rename the selected node in place."""
        if len(self.store.selection) == 1:
            self.top.open_editor(next(iter(self.store.selection)))

    def toggle_minimap(self) -> None:
        self.top.map_place.toggle()

    @property
    def gesture(self) -> Gesture | None:
        """What the pointer is doing."""
        return self._pointing.gesture

    def cancel(self) -> None:
        """Escape: leave what is under way, else the selection."""
        if self._pointing.cancel():
            return
        if self.tidy.is_busy:
            self.tidy.cancel()
        else:
            self.canvas.select_wires(())
            self.store.select(())

    def close_view(self) -> None:
        """End the threads. The view must not be used afterwards."""
        self.tidy.close()

    # -- the pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.camera.finish()
        self._say("")
        QToolTip.hideText()
        if not self._pointing.cancel():
            self._pointing.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pointing.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pointing.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            self.mousePressEvent(event)
            return
        pointer = self._pointing.pointer(event)
        hit = self.canvas.hit(pointer.scene)
        if hit == NOTHING:
            self.top.open_search(pointer.scene)
        elif hit.node is not None and hit.port is None:
            self.top.open_editor(hit.node)

    def wheelEvent(self, event: QWheelEvent) -> None:
        angle, modifiers = event.angleDelta(), event.modifiers()
        zooms = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        if _is_touchpad(event) and not zooms:
            way = event.pixelDelta() if not event.pixelDelta().isNull() else angle / 2
            self.camera.pan(way.x(), way.y())
        elif modifiers & Qt.KeyboardModifier.ShiftModifier and not zooms:
            self.camera.pan(angle.y() or angle.x(), 0)
        else:
            self.camera.zoom_by(angle.y() / _NOTCH, event.position(), animated=not _is_touchpad(event))
        event.accept()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._take_zoom()
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            hit = self.canvas.hit(self.camera.to_scene(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), tip(self.store, self.canvas, hit), self)
            return True
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self.camera.zoom_to(self.camera.scale * (1 + event.value()), event.position(), animated=False)
            return True
        if event.type() == QEvent.Type.Leave:
            self._pointing.leave()
        return super().viewportEvent(event)

    # -- the keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Space:
            if not event.isAutoRepeat():
                self._pointing.hold_space()
        elif key == Qt.Key.Key_Escape:
            self.cancel()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.parameters_wanted.emit()
        elif key == Qt.Key.Key_Menu or (
            key == Qt.Key.Key_F10 and event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            self.top.open_menu_of_selection()
        else:
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space or event.isAutoRepeat():
            event.ignore()
        elif self._pointing.let_go_of_space():
            self.open_search()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._pointing.forget_space()
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab opens the search palette here, and arrow keys go from node to node."""
        return False

    # -- dropping from the palette, and files

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._dropping.takes(event):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._dropping.hover(event)
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._dropping.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        if self._dropping.drop(event):
            event.acceptProposedAction()
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    # -- what others say

    def _take_document(self) -> None:
        self._pointing.cancel()
        self.top.show_hint()
        self._take_places()
        self._take_selection()

    def _take_report(self) -> None:
        """A caption or name that has grown pushes the neighbours, as part of the edit that made it grow."""
        self._paint_afresh()
        grown = self.canvas.take_grown()
        places = grow_into_room(self.canvas.boxes(), grown) if grown and self.gesture is None else {}
        if places:
            self.store.amend(lambda document: composite_edits.moved_together(document, places))
        self.top.minimap.refresh()

    def _take_places(self) -> None:
        self.top.minimap.refresh()
        self._place_bar()

    def _take_selection(self) -> None:
        self._place_bar()
        self.setAccessibleDescription(described(self.store, self.canvas))

    def _take_zoom(self) -> None:
        zoom = Zoom(self.camera.scale, self.devicePixelRatioF())
        if zoom != self.canvas.surface.zoom:
            self.canvas.set_zoom(zoom)
            self.zoom_changed.emit(zoom.scale)
        self._place_bar()

    def _take_theme(self, theme: Theme) -> None:
        self.canvas.set_theme(theme)
        self.top.minimap.refresh()
        self.viewport().update()

    def _place_bar(self) -> None:
        drags = self.gesture is not None and self.canvas.overlay.isVisible()
        self.top.place_bar(busy=drags or self.canvas.has_preview)
        self.top.map_place.update()

    def _say(self, text: str) -> None:
        self.top.say(text, self._pointing.at)

    def _open_search(self, at: QPointF, wiring: Wiring | None) -> None:
        self.top.open_search(at, wiring)

    def _open_menu(self, hit: Hit, place: QPoint) -> None:
        self.top.open_menu(hit, place)

    # -- painting and size

    def paintEvent(self, event: QPaintEvent) -> None:
        self._exposed = event.region()
        super().paintEvent(event)
        if self._exposed.contains(self.viewport().rect()) and self._exposed.rectCount() == 1:
            self._has_panned = False

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        self._has_panned = True

    def _paint_afresh(self) -> None:
        """After a pan Qt erases items from where they were painted before it, unless all of it is painted again."""
        if self._has_panned:
            self.viewport().update()

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Only where it is asked for: after a pan that is two strips, of which `rect` would be all."""
        for exposed in cast("Iterable[QRect]", self._exposed):
            corners = (
                self.camera.to_scene(exposed.topLeft()),
                self.camera.to_scene(exposed.bottomRight() + QPoint(1, 1)),
            )
            paint_ground(painter, QRectF(*corners), self.canvas.surface)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.top.hint.place(self.viewport().rect())
        self._place_bar()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._shown:
            self._shown = True
            self.do.open_at_readable_zoom()
            self._take_zoom()


def _is_touchpad(event: QWheelEvent) -> bool:
    """Two fingers pan; a wheel, which reports no phases, zooms."""
    device = event.device()
    return (
        device is not None and device.type() == QInputDevice.DeviceType.TouchPad
    ) or event.phase() != Qt.ScrollPhase.NoScrollPhase
