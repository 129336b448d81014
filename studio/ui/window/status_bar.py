"""The status bar: check state, model size, device, zoom."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QStatusBar, QToolButton, QWidget

from studio.lowering.problems.problem_groups import grouped
from studio.lowering.report import Report
from studio.ui import number_format
from studio.ui.compile_status import CompileStatus, compile_status
from studio.ui.project.project import Project
from studio.ui.theme import fonts, icons
from studio.ui.widgets.compile_status_icon import compile_status_icon
from studio.ui.widgets.labels import ElidedLabel, label

_MESSAGE_MS = 6000


class StatusBar(QStatusBar):
    problems_wanted = Signal()
    """The check state was clicked."""
    compile_wanted = Signal()
    """The compile state was clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self._project: Project | None = None
        self._tier: CompileStatus | None = None
        self.check = _button(QSize(14, 14))
        self.check.setToolTip("Show problems")
        self.check.clicked.connect(self.problems_wanted)
        self.addWidget(self.check)
        self.tier = _button(QSize(16, 16))
        self.tier.setAccessibleName("How training steps run")
        self.tier.clicked.connect(self.compile_wanted)
        self._message = ElidedLabel()  # a long message must not widen the window
        self._message.setProperty("role", "dim")
        self._is_why_not = False
        """Whether the message refers to the current version of the graph."""
        self.addWidget(self._message, 1)
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.timeout.connect(lambda: self._message.setText(""))
        self.addPermanentWidget(self.tier)
        self._parameters, self._macs, self._device, self._zoom = (self._figure() for _ in range(4))
        self._parameters.setToolTip("Number of trainable parameters")
        self._macs.setToolTip("Multiply-accumulate operations (MACs) of one sample's forward pass")
        self._device.setToolTip("Device of the last run")
        self._zoom.setToolTip("Canvas zoom")
        self.watch(None)

    def watch(self, project: Project | None) -> None:
        """Show the state of `project`."""
        if self._project is not None:
            self._project.store.report_changed.disconnect(self.refresh)
            self._project.store.document_changed.disconnect(self._show_tier)
            self._project.runner.state_changed.disconnect(self._show_tier)
            self._project.store.refused.disconnect(self.say)
            self._project.runner.refused.disconnect(self._say_why_not)
            self._project.store.document_changed.disconnect(self._forget_why_not)
            self._project.runner.events.disconnect(self._show_run)
        self._project = project
        if project is not None:
            project.store.report_changed.connect(self.refresh)
            project.store.document_changed.connect(self._show_tier)
            project.runner.state_changed.connect(self._show_tier)
            project.store.refused.connect(self.say)
            project.runner.refused.connect(self._say_why_not)
            project.store.document_changed.connect(self._forget_why_not)
            project.runner.events.connect(self._show_run)
        for widget in (self.check, self._parameters, self._macs, self._device, self._zoom):
            widget.setVisible(project is not None)
        self.refresh()

    def say(self, text: str) -> None:
        """Show a message for a few seconds."""
        self._message.setText(text)
        self._is_why_not = False
        self._quiet.start(_MESSAGE_MS)

    def _say_why_not(self, text: str) -> None:
        """Show why a graph cannot run, until the graph changes."""
        self.say(text)
        self._is_why_not = True

    def _forget_why_not(self, *_: object) -> None:
        if self._is_why_not:
            self.say("")

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
        self._show_run()

    def _show_run(self, *_: object) -> None:
        run = self._project.runner.run if self._project else None
        self._device.setText(run.device.upper() if run and run.device else "")
        self._show_tier()

    def _show_tier(self, *_: object) -> None:
        """Show how training steps run."""
        project = self._project
        if project is None:
            self.tier.hide()
            return
        tier = compile_status(project.runner.run, compiles=project.store.document.training.compile)
        self.tier.setVisible(tier is not None)
        if tier is not None and tier != self._tier:
            self.tier.setText(f" {tier.title}")
            self.tier.setIcon(compile_status_icon(tier))
            self.tier.setToolTip(tier.tip)
        self._tier = tier

    def _show_check(self, report: Report | None) -> None:
        """The report of the check; None for an empty graph."""
        if report is None:
            self.check.setText("Empty graph")
            self.check.setIcon(icons.themed("info", "text-dim"))
            return
        problems = grouped(report.problems, report.nodes)
        errors = sum(problem.severity == "error" for problem in problems)
        warnings = len(problems) - errors
        words = [f"{errors} {'error' if errors == 1 else 'errors'}"] if errors else []
        words += [f"{warnings} {'warning' if warnings == 1 else 'warnings'}"] if warnings else []
        icon = "error" if errors else "warning" if warnings else "ok"
        self.check.setText(", ".join(words) or "No problems")
        self.check.setIcon(icons.themed(icon, icon))

    def _figure(self) -> QLabel:
        figure = label("", "dim")
        figure.setFont(fonts.interface(12))
        figure.setContentsMargins(8, 0, 8, 0)
        self.addPermanentWidget(figure)
        return figure


def _button(icon: QSize) -> QToolButton:
    """A status-bar item that can be clicked."""
    button = QToolButton()
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setIconSize(icon)
    button.setProperty("kind", "status")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
