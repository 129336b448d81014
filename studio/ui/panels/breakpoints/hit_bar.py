"""Bar on top of the canvas while a run is paused at a breakpoint."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from studio.document.breakpoints.breakpoint_edits import breakpoint_paths
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.breakpoint_store import BreakpointStore
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.widgets import buttons
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label

_ICON_AND_MARGINS = 60
"""Width of all that is neither text nor button."""


class HitBar(QFrame):
    """Says why the run is paused and where NaN arose. The canvas makes room for it, so that no node is behind it."""

    node_requested = Signal(str)
    """Path of the node where NaN arose, or that the condition names."""
    step_through_requested = Signal()
    """The step of the hit is to be recorded, and stepped through."""

    def __init__(self, view: CanvasView, breakpoints: BreakpointStore, runner: TrainingRunner) -> None:
        super().__init__(view)
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
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(12, 8, 8, 8)
        self._box.setSpacing(8)
        self._box.addLayout(text, 1)
        self._box.addLayout(row)
        breakpoints.hit_changed.connect(self._refresh)
        view.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if self.isVisible() and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _refresh(self) -> None:
        hit = self._breakpoints.hit
        if hit is None:
            focused = self.window().focusWidget()
            if focused is not None and self.isAncestorOf(focused):
                self._view.setFocus()
            self.hide()
            self._view.setViewportMargins(0, 0, 0, 0)
            return
        origin = hit.hits[0].origin
        self.message.setText(hit.message)
        self.detail.setText("" if origin is None else origin.detail)
        self.detail.setVisible(origin is not None)
        self.show_button.setVisible(bool(self._node))
        self.folder_button.setVisible(hit.hits[0].folder is not None)
        self.show()
        self._place()
        self.raise_()
        announce(self, hit.message)

    @property
    def _node(self) -> str:
        """Path of the node where NaN arose, else of the first one that the condition names; may be empty."""
        hit = self._breakpoints.hit
        if hit is None:
            return ""
        first = hit.hits[0]
        named = breakpoint_paths(first.record.condition)
        return (first.origin and first.origin.node) or (named[0] if named else "")

    def _place(self) -> None:
        """Beside each other if there is room, else the buttons below the text."""
        width = self._view.width() - 2 * self._view.frameWidth()
        buttons_width = sum(
            button.sizeHint().width() + self._box.spacing()
            for button in self.findChildren(QPushButton)
            if not button.isHidden()
        )
        words = max(each.fontMetrics().horizontalAdvance(each.text()) for each in (self.message, self.detail))
        fits = words + buttons_width + _ICON_AND_MARGINS <= width
        self._box.setDirection(QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom)
        height = self._box.totalHeightForWidth(width)
        frame = self._view.frameWidth()
        self.setGeometry(frame, frame, width, height)
        if self._view.viewportMargins().top() != height:
            self._view.setViewportMargins(0, height, 0, 0)

    def _show_node(self) -> None:
        if node := self._node:
            self.node_requested.emit(node)

    def _open_folder(self) -> None:
        hit = self._breakpoints.hit
        if hit is not None and hit.hits[0].folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(hit.hits[0].folder)))


__all__ = ["HitBar"]
