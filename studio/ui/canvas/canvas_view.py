"""The canvas widget: turns Qt events into gestures and positions the overlay widgets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QGraphicsView, QToolTip, QWidget

from studio.nodes.palette_search import SearchMatch
from studio.ui import dialogs
from studio.ui.canvas import composite_edits, module_import
from studio.ui.canvas.accessibility.canvas_events import CanvasEvents
from studio.ui.canvas.block_actions import BlockActions
from studio.ui.canvas.camera import Camera, is_touchpad
from studio.ui.canvas.canvas_actions import CanvasActions
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.canvas_options import CanvasOptions
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.drop_handler import DropHandler
from studio.ui.canvas.frames.frame_actions import FrameActions
from studio.ui.canvas.frames.frame_editor import Field
from studio.ui.canvas.gestures.gesture import Gesture
from studio.ui.canvas.gestures.pointer_controller import PointerController
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.layers.grid_background import paint_grid
from studio.ui.canvas.layout.auto_layout import AutoLayout
from studio.ui.canvas.layout.push_nodes import Positions, push_for_wider_nodes
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.canvas.overlays.canvas_overlays import CanvasOverlays
from studio.ui.canvas.overlays.canvas_tooltips import TooltipSource, selection_description, tooltip
from studio.ui.canvas.scope_cameras import ScopeCameras
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.canvas.wires.route_actions import RouteActions
from studio.ui.palette.palette_offers import PaletteOffers
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import Theme, ThemeManager
from studio.ui.widgets.focus_ring import BY_KEY, RINGED
from studio.ui.widgets.plain_keys import claim_plain_key

_NOTCH = 120.0
"""Angle delta of one notch of a mouse wheel."""


class ProbeCommands(Protocol):
    """What commands need of the probes of a project."""

    @property
    def has_probes(self) -> bool: ...

    def probe_selection(self, *, is_gradient: bool = False) -> None:
        """Add probes of the selected wires or nodes."""

    def verify(self) -> None:
        """Check the shown values by recomputation."""

    def close_all(self) -> None: ...


class BreakpointCommands(Protocol):
    """What commands need of the breakpoints of a project."""

    def toggle(self, paths: Collection[str]) -> None:
        """Set a breakpoint on NaN at nodes, or remove it."""


class CanvasView(QGraphicsView):
    """The view of one document. `canvas_commands` creates its commands and keys."""

    breakpoint_requested = Signal()
    """A breakpoint of the selection is wanted."""
    zoom_changed = Signal(float)
    """The new scale; 1.0 is 100%."""
    import_requested = Signal(object, QPointF)
    """Paths of dropped data files, and the scene position of the drop."""
    template_requested = Signal()
    """The button on the empty canvas was clicked."""
    values_requested = Signal(object)
    """The statistics of a Wire were asked for with a key."""
    parameters_requested = Signal()
    """Enter was pressed: focus the fields of the selected node."""

    def __init__(
        self,
        store: ScopeStore,
        themes: ThemeManager,
        offers: PaletteOffers | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.store = store
        self._themes = themes
        self.canvas_scene = CanvasScene(store, themes.theme, self)
        self.setScene(self.canvas_scene)
        self._set_up_widget()
        self.camera = Camera(self)
        self.auto_layout = AutoLayout(store, self.canvas_scene, self)
        self.context = CanvasContext(
            store, self.canvas_scene, self.camera, self, self._show_message, self._open_search, self._open_menu
        )
        self.canvas_actions = CanvasActions(self.context, self.auto_layout)
        """Actions of commands and menus."""
        self.block_actions = BlockActions(self.context)
        self.frame_actions = FrameActions(self.context)
        self.route_actions = RouteActions(self.context)
        self.offers = offers or PaletteOffers(store)
        self.overlays = CanvasOverlays(self.context, self.canvas_actions, themes, self.offers)
        self._cameras = ScopeCameras(store, self.camera, self.canvas_actions.open_at_readable_zoom)
        self._drop_handler = DropHandler(self.context, self.canvas_actions, self.offers.find, self.import_files)
        self._pointer_controller = PointerController(self.context)
        self.tooltip_sources: list[TooltipSource] = []
        """Functions that add a paragraph to the tooltip."""
        self.delete_hooks: list[Callable[[], bool]] = []
        """Functions that Delete calls first. One that returns True has deleted what was selected."""
        self.breakpoints: BreakpointCommands | None = None
        """The breakpoints of the project. The window sets them."""
        self.probes: ProbeCommands | None = None
        """The probes of the project. The window sets them."""
        self._has_panned = False
        """Whether the canvas was panned since the last full repaint."""
        self._shown = False
        self._events = CanvasEvents(store, self)
        self._connect(themes)
        self._on_document_changed()

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
        # The background is opaque, which lets Qt scroll pixels when the canvas is panned.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)

    def _connect(self, themes: ThemeManager) -> None:
        self.camera.changed.connect(self._on_zoom_changed)
        self.overlays.hint.template_requested.connect(self.template_requested)
        self.overlays.bar.group_requested.connect(self.group)
        self.auto_layout.finished.connect(self._on_nodes_moved)
        self.auto_layout.progress.connect(self._show_message)
        self.auto_layout.graph_placed.connect(self.canvas_actions.open_at_readable_zoom)
        self.auto_layout.nodes_placed.connect(self.canvas_actions.show_laid_out)
        self.canvas_scene.moved.connect(self._repaint_all)
        self.canvas_scene.selection.changed.connect(self._describe_selection)
        self._pointer_controller.moved.connect(self._update_overlays)
        self.store.document_changed.connect(self._on_document_changed)
        self.store.report_changed.connect(self._on_report_changed)
        self.store.selection_changed.connect(self._on_selection_changed)
        self.store.location_changed.connect(self._on_location_changed)
        self.store.project.refused.connect(self._on_edit_refused)
        themes.changed.connect(self._on_theme_changed)

    # -- for the window

    def set_live(self, values: Mapping[str, str], progress: Mapping[str, float] | None = None) -> None:
        """Show live values and progress of a running training by node; empty mappings remove them."""
        self.canvas_scene.marks.set_live(values, progress)

    def set_options(self, options: CanvasOptions) -> None:
        """Take over the user's choices for grid, snapping and wheel."""
        self.canvas_scene.options = options
        self.camera.set_zoom_speed(options.zoom_speed)
        self.viewport().update()

    def show_run_requirements(self) -> None:
        """Show the requirements of a run on an empty canvas."""
        self.overlays.show_run_requirements()

    def import_files(self, paths: Sequence[Path], at: QPointF | None = None) -> None:
        """Import Python files as blocks, and request the import of data files; by default in the center of the view.

        Data belongs on the canvas of the project, because a block cannot contain it.
        """
        place = at or self.camera.visible.center()
        modules = [path for path in paths if path.suffix == module_import.SUFFIX]
        corner = (round(place.x() / 8) * 8.0, round(place.y() / 8) * 8.0)
        ask = partial(dialogs.class_to_import, self), partial(dialogs.confirm_python_nodes, self)
        module_import.import_modules(self.store, modules, corner, *ask)
        data = [path for path in paths if path not in modules]
        if data and self.store.location:
            self.store.go(())
            place = self.camera.visible.center()
        if data:
            self.import_requested.emit(data, place)

    def reveal(self, path: str) -> None:
        """Select a node, also one inside a block, and bring it into view."""
        self.canvas_actions.reveal(path)

    @property
    def find_action(self) -> Callable[[str], QAction | None]:
        """Function that returns the action of a command id, for context menus. The window sets it."""
        return self.overlays.find_action

    @find_action.setter
    def find_action(self, find: Callable[[str], QAction | None]) -> None:
        self.overlays.find_action = find

    def add_at_center(self, match: SearchMatch) -> None:
        """Add a node after the selected one if its ports match, else at the center of the view."""
        self.overlays.add_at(match, self.camera.visible.center())

    def open_search(self) -> None:
        """Open the search palette at the pointer, or at the center of the view."""
        self.overlays.open_search(self._pointer_position)

    def toggle_breakpoint(self) -> None:
        """Set a breakpoint on NaN at the selected nodes, and at those where selected wires begin; or remove it."""
        names = set(self.store.selection) | {wire.source.node for wire in self.canvas_scene.selection.wires}
        if names and self.breakpoints is not None:
            self.breakpoints.toggle([self.store.prefix + name for name in names])

    def delete(self) -> None:
        """Delete what is selected."""
        if not any(hook() for hook in self.delete_hooks):
            self.canvas_actions.delete()

    def paste(self, *, with_inputs: bool = False) -> None:
        """Paste at the pointer, or at the center of the view."""
        self.canvas_actions.paste(self._pointer_controller.scene_position, with_inputs=with_inputs)

    def rename(self) -> None:
        """Open the name editor of the selected node."""
        if len(self.store.selection) == 1:
            self.overlays.open_editor(next(iter(self.store.selection)))
        elif not self.store.selection:
            self.edit_frame()

    def edit_frame(self, field: Field | None = None) -> None:
        """Open the editor of the selected frame: for the title, or the text of a comment."""
        if len(self.canvas_scene.frames.selected) == 1:
            [name] = self.canvas_scene.frames.selected
            self.overlays.open_frame_editor(
                name, field or ("title" if self.store.document.frames[name].title else "text")
            )

    def frame_selection(self) -> None:
        """Add a frame around the selected nodes, and open the editor of its title."""
        if self.frame_actions.add_around_selection(self._pointer_position) is not None:
            self.edit_frame()

    def add_reroute_point(self) -> None:
        """Add a reroute point to the selected wire, near the pointer."""
        if len(self.canvas_scene.selection.wires) == 1:
            self.route_actions.add_point(self.canvas_scene.selection.wires[0], self._pointer_position)

    def add_comment(self) -> None:
        """Add a comment at the pointer, or at the center of the view, and open its editor."""
        if self.frame_actions.add_comment(self._pointer_position) is not None:
            self.edit_frame()

    def group(self) -> None:
        """Turn the selected nodes into a block, and open the name editor of its instance."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        if (name := self.block_actions.group()) is not None:
            self.overlays.open_editor(name, self.block_actions.name_block)

    def find_next(self, step: int) -> None:
        """Go to the next (1) or previous (-1) match of the find bar, or open it."""
        if self.overlays.find_bar.isHidden():
            self.overlays.find_bar.open()
        else:
            self.overlays.find_bar.go(step)

    def toggle_minimap(self) -> None:
        self.overlays.minimap_placement.toggle()

    @property
    def _pointer_position(self) -> QPointF:
        """Scene position of the pointer, or the center of the view."""
        return self._pointer_controller.scene_position or self.camera.visible.center()

    @property
    def gesture(self) -> Gesture | None:
        """The gesture in progress, if any."""
        return self._pointer_controller.gesture

    def cancel(self) -> None:
        """Cancel the gesture or layout in progress, else clear the selection, else leave the block."""
        if self._pointer_controller.cancel():
            return
        if self.auto_layout.is_busy:
            self.auto_layout.cancel()
        elif self.store.selection or self.canvas_scene.selection.wires:
            self.canvas_scene.selection.select(())
            self.store.select(())
        else:
            self.block_actions.leave()

    def close_view(self) -> None:
        """Stop the worker thread. The view must not be used afterwards."""
        self.auto_layout.close()

    # -- the pointer

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.camera.finish()
        self._show_message("")
        QToolTip.hideText()
        if not self._pointer_controller.cancel():
            self._pointer_controller.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pointer_controller.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pointer_controller.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            self.mousePressEvent(event)
            return
        pointer = self._pointer_controller.pointer(event)
        hit = self.canvas_scene.hit(pointer.scene)
        if hit == NO_HIT:
            self.overlays.open_search(pointer.scene)
        elif hit.node is not None and hit.port is None and not self.store.enter(hit.node):
            self.overlays.open_editor(hit.node)
        elif hit.wire is not None and hit.point is None:
            self.route_actions.add_point(hit.wire, pointer.scene)
        elif hit.frame is not None:
            self.canvas_scene.selection.select((), frames=[hit.frame])
            self.edit_frame()

    def wheelEvent(self, event: QWheelEvent) -> None:
        angle, modifiers = event.angleDelta(), event.modifiers()
        zooms = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        if is_touchpad(event) and not zooms:
            delta = event.pixelDelta() if not event.pixelDelta().isNull() else angle / 2
            self.camera.pan(delta.x(), delta.y())
        elif modifiers & Qt.KeyboardModifier.ShiftModifier and not zooms:
            self.camera.pan(angle.y() or angle.x(), 0)
        elif not (zooms or self.canvas_scene.options.wheel_zooms):
            self.camera.pan(angle.x(), angle.y())
        else:
            self.camera.zoom_by(angle.y() / _NOTCH, event.position(), animated=not is_touchpad(event))
        event.accept()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._on_zoom_changed()
        if not self.hasFocus() and claim_plain_key(event):  # the focus is in a widget on top of the canvas
            return True
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            self.show_tooltip(event.globalPos())
            return True
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self.camera.zoom_to(self.camera.scale * (1 + event.value()), event.position(), animated=False)
            return True
        if event.type() == QEvent.Type.Leave:
            self._pointer_controller.leave()
        return super().viewportEvent(event)

    def show_tooltip(self, position: QPoint, hit: Hit | None = None) -> None:
        """Show what is at a position of the screen, or what is given."""
        at = self.camera.to_scene(self.viewport().mapFromGlobal(position))
        hit = hit or self.canvas_scene.hit(at)
        parts = [tooltip(self.store, self.canvas_scene, hit), *(source(hit, at) for source in self.tooltip_sources)]
        QToolTip.showText(position, "<hr>".join(part for part in parts if part), self)

    # -- the keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Space:
            if not event.isAutoRepeat():
                self._pointer_controller.hold_space()
        elif key == Qt.Key.Key_Escape:
            self.cancel()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.parameters_requested.emit()
        elif key == Qt.Key.Key_Menu or (
            key == Qt.Key.Key_F10 and event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            self.overlays.open_menu_of_selection()
        else:
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space or event.isAutoRepeat():
            event.ignore()
        elif self._pointer_controller.release_space():
            self.open_search()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.setProperty(RINGED, event.reason() in BY_KEY)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._pointer_controller.reset_space()
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        """Keep the focus on the canvas at Tab, which opens the search palette. Shift+Tab leaves."""
        return not (next and self.hasFocus()) and super().focusNextPrevChild(next)

    # -- dropping from the palette, and files

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._drop_handler.accepts(event):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._drop_handler.hover(event)
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._drop_handler.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        if self._drop_handler.drop(event):
            event.acceptProposedAction()
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    # -- changes of store, zoom and theme

    def _on_document_changed(self) -> None:
        self._pointer_controller.cancel()
        self.overlays.show_hint()
        self._on_nodes_moved()
        self._on_selection_changed()

    def _on_report_changed(self) -> None:
        """Push the neighbors of nodes that became wider, as part of the edit that changed them."""
        self._repaint_all()
        grown = self.canvas_scene.take_widened_nodes()
        positions = self._pushed_by(grown) if grown and self.gesture is None else {}
        if positions:
            self.store.extend_last_edit(lambda document: composite_edits.move_nodes(document, positions))
        self.overlays.minimap.refresh()

    def _pushed_by(self, grown: Mapping[str, float]) -> Positions:
        wires = composite_edits.node_pairs(self.store.document)
        return push_for_wider_nodes(self.canvas_scene.boxes(), grown, wires)

    def _on_nodes_moved(self) -> None:
        self.overlays.minimap.refresh()
        self._update_overlays()

    def _on_selection_changed(self) -> None:
        self._update_overlays()
        self._describe_selection()

    def _describe_selection(self) -> None:
        self.setAccessibleDescription(selection_description(self.store, self.canvas_scene))

    def _on_location_changed(self) -> None:
        self.canvas_scene.selection.select(())
        self._on_nodes_moved()

    def _on_edit_refused(self, reason: str) -> None:
        """Show the reason where the user looks; the status bar shows those of edits in panels."""
        if self.hasFocus():
            self.overlays.show_refusal(reason)

    def _on_zoom_changed(self) -> None:
        zoom = Zoom(self.camera.scale, self.devicePixelRatioF())
        if zoom != self.canvas_scene.paint_context.zoom:
            self.canvas_scene.set_zoom(zoom)
            self.zoom_changed.emit(zoom.scale)
        self._update_overlays()

    def _on_theme_changed(self, theme: Theme) -> None:
        self.canvas_scene.set_theme(theme)
        self.overlays.minimap.refresh()
        self.viewport().update()

    def _update_overlays(self) -> None:
        is_dragging = self.gesture is not None and self.canvas_scene.gesture_overlay.isVisible()
        self.overlays.update_bar(busy=is_dragging or self.canvas_scene.has_preview)
        self.overlays.minimap_placement.update()
        self.overlays.place_bars()

    def _show_message(self, text: str) -> None:
        self.overlays.show_message(text, self._pointer_controller.viewport_position)

    def _open_search(self, at: QPointF, pending: PendingWire | None) -> None:
        self.overlays.open_search(at, pending)

    def _open_menu(self, hit: Hit, position: QPoint) -> None:
        self.overlays.open_menu(hit, position)

    # -- painting and size

    def minimumSizeHint(self) -> QSize:
        return QSize(64, 32)

    def paintEvent(self, event: QPaintEvent) -> None:
        region, paint_context = event.region(), self.canvas_scene.paint_context
        paint_context.exposed = tuple(self._scene_rect(rect) for rect in cast("Iterable[QRect]", region))
        super().paintEvent(event)
        paint_context.exposed = ()
        if region.contains(self.viewport().rect()) and region.rectCount() == 1:
            self._has_panned = False

    def _scene_rect(self, rect: QRect) -> QRectF:
        return QRectF(self.camera.to_scene(rect.topLeft()), self.camera.to_scene(rect.bottomRight() + QPoint(1, 1)))

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        self._has_panned = True

    def _repaint_all(self) -> None:
        """Repaint everything: after a pan Qt erases moved items at outdated positions."""
        if self._has_panned:
            self.viewport().update()

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Paint only the exposed region: after a pan it is two strips, and `rect` is their bounding box."""
        paint_context = self.canvas_scene.paint_context
        for exposed in paint_context.exposed or (QRectF(rect),):
            paint_grid(painter, exposed, paint_context, self.canvas_scene.options.grid)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.overlays.hint.center_in(self.viewport().rect())
        self.overlays.place_bars()
        self._update_overlays()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._shown:
            self._shown = True
            self.canvas_actions.open_at_readable_zoom()
            self._on_zoom_changed()
