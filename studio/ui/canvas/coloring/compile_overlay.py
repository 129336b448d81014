"""Overlay of compiled regions on a canvas: layers, legend and clicks on markers of graph breaks."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QToolTip

from studio.training.regions import RegionBreak
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.coloring.region_layer import Choice, RegionLayer
from studio.ui.canvas.coloring.region_legend import RegionLegend
from studio.ui.canvas.layers.graph_break_layer import GraphBreakLayer, marker_tooltip
from studio.ui.project.compile_explainer import CompileExplainer

_EDGE = 12
_WORKING = "Running steps on a copy of the model…"
_STALE = "The graph was edited"
_EMPTY = "No explanation yet"


class CompileOverlay(QObject):
    """Overlay of compiled regions; while shown, it follows the explainer."""

    toggled = Signal(bool)
    break_chosen = Signal(int)
    """Index of the graph break whose marker was clicked."""
    break_menu_requested = Signal(int, object)
    """Index of the graph break whose marker was clicked with the right button, and the position on the screen."""

    def __init__(self, view: CanvasView, explainer: CompileExplainer) -> None:
        super().__init__(view)
        self._view, self._explainer = view, explainer
        scene = view.canvas_scene
        self.regions = RegionLayer(scene.paint_context, scene.nodes, scene.wires)
        self.break_layer = GraphBreakLayer(scene.paint_context, scene.nodes, scene.wires)
        scene.addItem(self.regions)
        scene.addItem(self.break_layer)
        self.legend = RegionLegend(lambda: self.show_overlay(False), explainer.explain, view.viewport())
        self.legend.hide()
        self._is_on = False
        self._legend_text = ("", "")
        explainer.changed.connect(self._refresh)
        scene.moved.connect(self._follow)
        view.camera.changed.connect(self._follow_camera)

    @property
    def is_on(self) -> bool:
        return self._is_on

    def show_overlay(self, on: bool) -> None:
        if on == self._is_on:
            return
        self._is_on = on
        self._explainer.watch("overlay", on)
        if on:
            self._view.viewport().installEventFilter(self)
        else:
            self._view.viewport().removeEventFilter(self)
        self._refresh()
        self.regions.show_layer(on)
        self.break_layer.show_layer(on)
        self.legend.setVisible(on)
        self._update_legend()
        self.toggled.emit(on)

    def choose(self, chosen: Choice | None, *, break_index: int | None = None) -> None:
        """Highlight a kernel or a segment, and the marker of a graph break."""
        self.regions.choose(chosen)
        self.break_layer.choose(break_index)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle pointer events on markers before the canvas does."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            graph_break = self._break_under(QPointF(event.pos()))
            if graph_break is not None:
                QToolTip.showText(event.globalPos(), marker_tooltip(graph_break), self._view)
                return True
        elif isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
            graph_break = self._break_under(event.position())
            if graph_break is not None and event.button() == Qt.MouseButton.LeftButton:
                self.break_chosen.emit(graph_break.index)
                return True
            if graph_break is not None and event.button() == Qt.MouseButton.RightButton:
                self.break_menu_requested.emit(graph_break.index, event.globalPosition().toPoint())
                return True
        elif isinstance(event, QContextMenuEvent):
            return self._break_under(QPointF(event.pos())) is not None
        elif isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            if not event.buttons() and self._break_under(event.position()) is not None:
                self._view.viewport().setCursor(Qt.CursorShape.PointingHandCursor)
                return True
        elif event.type() == QEvent.Type.Resize:
            self._update_legend()
        return False

    def _break_under(self, position: QPointF) -> RegionBreak | None:
        return self.break_layer.marker_at(self._view.camera.to_scene(position))

    def _refresh(self) -> None:
        if not self._is_on:
            return
        explainer = self._explainer
        self.regions.show_map(explainer.map_of(self._view.store), faded=explainer.is_stale)
        self.break_layer.show_map(explainer.map_of(self._view.store))
        message, action = "", ""
        if explainer.state == "working":
            message = _WORKING
        elif explainer.is_stale:
            message, action = _STALE, "Explain again"
        elif explainer.state == "failed":
            message, action = explainer.problem, "Try again"
        elif explainer.explanation is None:
            message, action = _EMPTY, "Explain the training step"
        self._legend_text = message, action
        self._update_legend()
        QTimer.singleShot(0, self._update_legend)  # again when new rows have their size

    def _follow(self) -> None:
        if self._is_on:
            if self._explainer.explanation is not None:
                self.regions.show_map(self._explainer.map_of(self._view.store), faded=self._explainer.is_stale)
                self.break_layer.show_map(self._explainer.map_of(self._view.store))
            self.regions.refresh()
            self.break_layer.refresh()

    def _follow_camera(self) -> None:
        if self._is_on:
            self.break_layer.refresh()
            self._update_legend()

    def _update_legend(self) -> None:
        """Keep the legend in the lower left corner, and the minimap away from it."""
        viewport = self._view.viewport().size()
        self.legend.show_map(self._explainer.map_of(self._view.store), *self._legend_text, viewport.width())
        size = self.legend.sizeHint()
        self.legend.resize(size)
        self.legend.move(_EDGE, viewport.height() - size.height() - _EDGE)
        self._view.overlays.minimap_placement.set_reserved_area(self.legend.geometry() if self._is_on else QRect())


__all__ = ["CompileOverlay"]
