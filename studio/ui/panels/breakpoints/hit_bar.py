"""Bar on top of the canvas while a run is paused at a breakpoint."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.breakpoint_store import BreakpointStore
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.widgets import buttons
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label

_EDGE, _MAX_WIDTH = 12, 900


class HitBar(QFrame):
    """Says why the run is paused and where NaN arose."""

    node_requested = Signal(str)
    """Path of the node where NaN arose."""
    step_through_requested = Signal()
    """The step of the hit is to be recorded, and stepped through."""

    def __init__(self, view: CanvasView, breakpoints: BreakpointStore, runner: TrainingRunner) -> None:
        super().__init__(view.viewport())
        self._view, self._breakpoints, self._runner = view, breakpoints, runner
        self.setProperty("role", "notice")
        self.setAutoFillBackground(True)
        self.setAccessibleName("Paused at a breakpoint")
        self.message = label("", wrap=True)
        self.detail = label("", "dim", wrap=True)
        self.show_button = buttons.text_button("Show node", self._show_node)
        self.continue_button = buttons.text_button("Continue", runner.start, icon="run", kind="primary")
        self.stop_button = buttons.text_button("Stop", runner.stop, icon="stop")
        self.step_button = buttons.text_button("Step through", self.step_through_requested.emit, icon="step")
        self.folder_button = buttons.text_button("Open folder", self._open_folder, icon="folder")
        text = QHBoxLayout()
        text.setSpacing(8)
        text.addWidget(IconWidget("breakpoint", "error"))
        lines = QVBoxLayout()
        lines.setSpacing(2)
        lines.addWidget(self.message)
        lines.addWidget(self.detail)
        text.addLayout(lines, 1)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        for button in (
            self.show_button, self.step_button, self.folder_button, self.stop_button, self.continue_button
        ):  # fmt: skip
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 8)
        column.setSpacing(8)
        column.addLayout(text)
        column.addLayout(row)
        breakpoints.hit_changed.connect(self._refresh)
        view.viewport().installEventFilter(self)
        self.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_scrolled = watched is self and event.type() == QEvent.Type.Move  # by a pan, with the canvas
        if self.isVisible() and (is_scrolled or (watched is not self and event.type() == QEvent.Type.Resize)):
            self._place()
        return False

    def _refresh(self) -> None:
        hit = self._breakpoints.hit
        if hit is None:
            focused = self.window().focusWidget()
            if focused is not None and self.isAncestorOf(focused):
                self._view.setFocus()
            self.hide()
            return
        origin = hit.hits[0].origin
        self.message.setText(hit.message)
        self.detail.setText("" if origin is None else origin.detail)
        self.detail.setVisible(origin is not None)
        self.show_button.setVisible(origin is not None and origin.node is not None)
        self.folder_button.setVisible(hit.hits[0].folder is not None)
        self.show()
        self._place()
        self.raise_()
        announce(self, hit.message)

    def _place(self) -> None:
        viewport = self._view.viewport()
        breadcrumbs = self._view.overlays.breadcrumbs
        top = breadcrumbs.geometry().bottom() + 8 if breadcrumbs.isVisible() else _EDGE
        width = min(viewport.width() - 2 * _EDGE, _MAX_WIDTH)
        layout = self.layout()
        height = self.sizeHint().height() if layout is None else layout.totalHeightForWidth(width)
        self.setGeometry((viewport.width() - width) // 2, top, width, height)

    def _show_node(self) -> None:
        hit = self._breakpoints.hit
        if hit is not None and (origin := hit.hits[0].origin) is not None and origin.node is not None:
            self.node_requested.emit(origin.node)

    def _open_folder(self) -> None:
        hit = self._breakpoints.hit
        if hit is not None and hit.hits[0].folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(hit.hits[0].folder)))


__all__ = ["HitBar"]
