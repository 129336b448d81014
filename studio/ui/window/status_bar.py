"""The status bar: problems, messages, model size, device, zoom and compilation status."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QStatusBar, QToolButton, QWidget

from engine.data.file_access import format_bytes
from studio.lowering.problems.diagnosis import SEVERITIES
from studio.lowering.problems.problem_groups import grouped
from studio.lowering.report import Report
from studio.ui import number_format
from studio.ui.compile_status import CompileStatus, compile_status
from studio.ui.project.project import Project
from studio.ui.theme import fonts, icons
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.compile_status_icon import compile_status_icon
from studio.ui.widgets.labels import ElidedLabel, label

_MESSAGE_MS = 6000
_MIN_WIDTH, _NARROW, _MIN_MESSAGE, _SPACING = 320, 620, 40, 8
"""In pixels: minimum width, width below which the bar is terse, minimum width of a message, distance of items."""


class StatusBar(QStatusBar):
    problems_requested = Signal()
    """The number of problems was clicked."""
    compile_panel_requested = Signal()
    """The compilation status was clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self._project: Project | None = None
        self._compile_status: CompileStatus | None = None
        self.check = _button(QSize(14, 14))
        self.check.setToolTip("Show problems")
        self.check.clicked.connect(self.problems_requested)
        self.addWidget(self.check)
        self.compile_button = _button(QSize(16, 16))
        self.compile_button.setAccessibleName("Compilation status")
        self.compile_button.clicked.connect(self.compile_panel_requested)
        self._message = ElidedLabel()  # a long message must not widen the window
        self._message.setProperty("role", "dim")
        self._shows_refusal = False
        """Whether the message says why the current graph cannot run."""
        self.addWidget(self._message, 1)
        self._clear_timer = QTimer(self)
        self._clear_timer.setSingleShot(True)
        self._clear_timer.timeout.connect(lambda: self._set_message(""))
        self.addPermanentWidget(self.compile_button)
        self._parameters, self._macs, self._memory, self._device, self._zoom = (self._value_label() for _ in range(5))
        self._parameters.setToolTip("Number of trainable parameters")
        self._macs.setToolTip("Multiply-accumulate operations (MACs) of one sample's forward pass")
        self._memory.setToolTip("Activation memory: size of the outputs of all nodes for one sample")
        self._device.setToolTip("Device of the last run")
        self._zoom.setToolTip("Canvas zoom")
        self.watch(None)

    def minimumSizeHint(self) -> QSize:
        """The width without figures, which hide from the right where there is no room."""
        return QSize(_MIN_WIDTH, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_figures()

    def watch(self, project: Project | None) -> None:
        """Show the state of `project`."""
        if self._project is not None:
            self._project.store.report_changed.disconnect(self.refresh)
            self._project.store.document_changed.disconnect(self._show_compile_status)
            self._project.runner.state_changed.disconnect(self._show_compile_status)
            self._project.store.refused.disconnect(self.show_status)
            self._project.runner.refused.disconnect(self._show_refusal)
            self._project.store.document_changed.disconnect(self._clear_refusal)
            self._project.runner.events.disconnect(self._show_run)
            self._project.runner.state_changed.disconnect(self._announce_run)
        self._project = project
        if project is not None:
            project.store.report_changed.connect(self.refresh)
            project.store.document_changed.connect(self._show_compile_status)
            project.runner.state_changed.connect(self._show_compile_status)
            project.store.refused.connect(self.show_status)
            project.runner.refused.connect(self._show_refusal)
            project.store.document_changed.connect(self._clear_refusal)
            project.runner.events.connect(self._show_run)
            project.runner.state_changed.connect(self._announce_run)
        self.check.setVisible(project is not None)
        self._show_figures()
        self.refresh()

    def _show_figures(self) -> None:
        """Show the figures of the project, the most important first, as far as a message leaves room."""
        self.compile_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        message = max(self._message.sizeHint().width(), _MIN_MESSAGE)
        room = self.width() - self.check.sizeHint().width() - message - 3 * _SPACING
        needed = self.compile_button.sizeHint().width()
        if self.width() < _NARROW or (needed > room and self._message.text()):
            self.compile_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            needed = self.compile_button.sizeHint().width()
        self.compile_button.setMinimumWidth(needed)
        room -= needed
        for value in (self._zoom, self._parameters, self._device, self._memory, self._macs):
            room -= value.sizeHint().width() + _SPACING
            value.setVisible(self._project is not None and room >= 0)

    def show_status(self, text: str) -> None:
        """Show a message for a few seconds."""
        self._set_message(text)
        announce(self, text)
        self._shows_refusal = False
        self._clear_timer.start(_MESSAGE_MS)

    def _set_message(self, text: str) -> None:
        self._message.setText(text)
        self._show_figures()

    def _show_refusal(self, text: str) -> None:
        """Show why a graph cannot run, until the graph changes."""
        self.show_status(text)
        self._shows_refusal = True

    def _clear_refusal(self, *_: object) -> None:
        if self._shows_refusal:
            self.show_status("")

    def show_zoom(self, scale: float) -> None:
        self._zoom.setText(f"{100 * scale:.0f}%")

    def refresh(self, *_: object) -> None:
        """Show the result of the check."""
        if self._project is None:
            return
        report = self._project.store.report
        self._show_check(report if self._project.store.document.nodes else None)
        self._parameters.setText(number_format.count(report.parameters, "parameters"))
        self._macs.setText(number_format.macs(report.macs))
        self._memory.setText(format_bytes(report.memory))
        self._show_figures()
        self._show_run()

    def _show_run(self, *_: object) -> None:
        run = self._project.runner.run if self._project else None
        self._device.setText(run.device.upper() if run and run.device else "")
        self._show_figures()
        self._show_compile_status()

    def _announce_run(self, state: str) -> None:
        """Let screen readers say that a run started, paused or ended, and how."""
        run = self._project.runner.run if self._project else None
        if run is None:
            return
        progress = run.progress
        loss = "" if progress.loss is None else f"loss {number_format.measured(progress.loss)}"
        epoch = f"epoch {progress.epoch}" if progress.step else ""
        announce(self, ", ".join(filter(None, (f"{run.name} {state}", epoch, loss))))

    def _show_compile_status(self, *_: object) -> None:
        """Show whether training steps run eagerly, are being compiled, or run compiled."""
        project = self._project
        if project is None:
            self.compile_button.hide()
            return
        status = compile_status(project.runner.run, compiles=project.store.document.training.compile)
        self.compile_button.setVisible(status is not None)
        if status is not None and status != self._compile_status:
            self.compile_button.setText(f" {status.title}")
            self.compile_button.setAccessibleName(f"Compilation status: {status.title}")
            self.compile_button.setIcon(compile_status_icon(status))
            self.compile_button.setToolTip(status.tip)
        if status != self._compile_status:
            self._compile_status = status
            self._show_figures()

    def _show_check(self, report: Report | None) -> None:
        """Show the number of problems in `report`; None for an empty graph."""
        if report is None:
            self.check.setText("Empty graph")
            self.check.setIcon(icons.themed("info", "text-dim"))
            return
        problems = grouped(report.problems, report.nodes)
        counts = Counter[str](problem.severity for problem in problems)
        parts = [f"{counts[each]} {each if counts[each] == 1 else f'{each}s'}" for each in SEVERITIES if counts[each]]
        icon = "error" if counts["error"] else "warning" if counts["warning"] else "ok"
        text = ", ".join(parts) or "No problems"
        if text != self.check.text():
            announce(self, text)
        self.check.setText(text)
        self.check.setIcon(icons.themed(icon, icon))

    def _value_label(self) -> QLabel:
        value = label("", "dim")
        value.setFont(fonts.interface(12))
        value.setContentsMargins(8, 0, 8, 0)
        self.addPermanentWidget(value)
        return value


def _button(icon: QSize) -> QToolButton:
    """A status-bar item that can be clicked."""
    button = QToolButton()
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setIconSize(icon)
    button.setProperty("kind", "status")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
