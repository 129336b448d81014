"""Opens the popup of a graph break from its marker, by mouse and keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMenu

from studio.training.regions import RegionBreak
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.coloring.compile_overlay import CompileOverlay
from studio.ui.canvas.overlays.graph_break_popup import GraphBreakPopup
from studio.ui.project.compile_explainer import CompileExplainer
from studio.ui.project.graph_break_mender import GraphBreakMender
from studio.ui.project.project_store import ProjectStore


class GraphBreakMending(QObject):
    details_requested = Signal(int)
    """The Compile panel should show the break with an index."""
    status_message = Signal(str)

    def __init__(
        self,
        view: CanvasView,
        overlay: CompileOverlay,
        explainer: CompileExplainer,
        mender: GraphBreakMender,
        store: ProjectStore,
    ) -> None:
        super().__init__(view)
        self._view, self._overlay, self._explainer, self._store = view, overlay, explainer, store
        self._opens_when_explained = False
        self.popup = GraphBreakPopup(mender, view.camera.to_view, view.viewport())
        self.popup.details_requested.connect(self.details_requested)
        self.popup.closed.connect(view.setFocus)
        overlay.break_chosen.connect(self.open)
        overlay.break_menu_requested.connect(self._show_menu)
        overlay.toggled.connect(lambda on: None if on else self.popup.close_popup())
        explainer.changed.connect(self._on_explained)
        store.document_changed.connect(self._follow_document)
        view.camera.changed.connect(self.popup.place)
        view.store.location_changed.connect(self.popup.close_popup)
        view.installEventFilter(self)
        view.viewport().installEventFilter(self)

    def open(self, index: int) -> None:
        """Open the popup of a graph break."""
        explanation = self._explainer.explanation
        if explanation is None or index >= len(explanation.breaks):
            return
        graph_break = explanation.breaks[index]
        path = graph_break.line.node.partition(", ")[0] if graph_break.line and graph_break.line.node else ""
        self._overlay.choose(None, break_index=index)
        self.popup.open(index, graph_break, path, self._anchor(index))

    def open_next(self) -> None:
        """Open the next graph break; at first that of the selected node. Explains the step if necessary."""
        self._overlay.show_overlay(True)
        explainer = self._explainer
        if explainer.state == "working":
            self._opens_when_explained = True
        elif explainer.explanation is None or explainer.is_stale:
            self._opens_when_explained = True
            self.status_message.emit("Looking for graph breaks…")
            explainer.explain()
        else:
            self._open_among(explainer.map_of(self._view.store).breaks)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A click on the canvas and Escape close the popup; the overlay handles clicks on markers before."""
        if watched is self._view:
            is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
            if is_escape and event.type() == QEvent.Type.KeyPress and self.popup.isVisible():
                self.popup.close_popup()
                return True
            return False
        if event.type() == QEvent.Type.MouseButtonPress and self.popup.isVisible():
            self.popup.close_popup()
        elif event.type() == QEvent.Type.Resize:
            self.popup.place()
        return False

    def _open_among(self, breaks: tuple[RegionBreak, ...]) -> None:
        if not breaks:
            self.status_message.emit("The compiled step has no graph break.")
            return
        if self.popup.isVisible():
            indices = [each.index for each in breaks]
            later = [index for index in indices if index > self.popup.index]
            chosen = later[0] if later else indices[0]
        else:
            selected = self._store.selection
            of_selected = [each for each in breaks if each.node in selected]
            chosen = (of_selected or list(breaks))[0].index
        node = next((each.node for each in breaks if each.index == chosen), None)
        if node is not None:
            self._view.reveal(f"{self._view.store.prefix}{node}")
        self.open(chosen)

    def _on_explained(self) -> None:
        explainer = self._explainer
        if not self._opens_when_explained or explainer.state == "working":
            return
        self._opens_when_explained = False
        if explainer.state == "failed":
            self.status_message.emit(explainer.problem)
        else:
            self._open_among(explainer.map_of(self._view.store).breaks)

    def _follow_document(self, *_: object) -> None:
        if self.popup.is_open and self.popup.path and self.popup.is_gone:
            self.popup.close_popup()
        else:
            self.popup.refresh()

    def _anchor(self, index: int) -> QPointF:
        """The lower middle of the marker; without one, the middle of the canvas."""
        for graph_break, marker in self._overlay.break_layer.markers():
            if graph_break.index == index:
                return QPointF(marker.center().x(), marker.bottom())
        return self._view.camera.to_scene(QPointF(self._view.viewport().rect().center()))

    def _show_menu(self, index: int, at: QPoint) -> None:
        menu = QMenu(self._view)
        menu.addAction("Mend graph break…", lambda: self.open(index))
        menu.addAction("Show in Compile panel", lambda: self.details_requested.emit(index))
        menu.popup(at)


__all__ = ["GraphBreakMending"]
