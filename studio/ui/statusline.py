"""The line at the bottom: check state, size of the model, device, zoom."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QStatusBar, QToolButton, QWidget

from studio.lowering.report import Report
from studio.ui import figures, fonts, icons
from studio.ui.project import Project
from studio.ui.widgets.labels import label

_MESSAGE_MS = 6000


class StatusLine(QStatusBar):
    problems_wanted = Signal()
    """The check state was clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self._project: Project | None = None
        self.check = QToolButton()
        self.check.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.check.setIconSize(QSize(14, 14))
        self.check.setProperty("kind", "status")
        self.check.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.check.setToolTip("Show the problems")
        self.check.clicked.connect(self.problems_wanted)
        self.addWidget(self.check)
        self._said = label("", "dim")
        self.addWidget(self._said, 1)
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.timeout.connect(lambda: self._said.setText(""))
        self._parameters, self._macs, self._device, self._zoom = (self._figure() for _ in range(4))
        self._parameters.setToolTip("Numbers that training changes")
        self._macs.setToolTip("Multiply-adds of one sample's forward pass")
        self._device.setToolTip("Where the last run was trained")
        self._zoom.setToolTip("Zoom of the canvas")
        self.watch(None)

    def watch(self, project: Project | None) -> None:
        """Show this project from now on."""
        if self._project is not None:
            self._project.store.report_changed.disconnect(self.refresh)
            self._project.store.refused.disconnect(self.say)
            self._project.runner.refused.disconnect(self.say)
            self._project.runner.events.disconnect(self.refresh)
        self._project = project
        if project is not None:
            project.store.report_changed.connect(self.refresh)
            project.store.refused.connect(self.say)
            project.runner.refused.connect(self.say)
            project.runner.events.connect(self.refresh)
        for widget in (self.check, self._parameters, self._macs, self._device, self._zoom):
            widget.setVisible(project is not None)
        self.refresh()

    def say(self, text: str) -> None:
        """A remark that goes away by itself."""
        self._said.setText(text)
        self._quiet.start(_MESSAGE_MS)

    def show_zoom(self, scale: float) -> None:
        self._zoom.setText(f"{100 * scale:.0f}%")

    def refresh(self, *_: object) -> None:
        """Show what the check says now."""
        if self._project is None:
            return
        report = self._project.store.report
        self._show_check(report if self._project.store.document.nodes else None)
        self._parameters.setText(figures.count(report.parameters, "parameters"))
        self._macs.setText(figures.macs(report.macs))
        run = self._project.runner.run
        self._device.setText(run.device.upper() if run and run.device else "")

    def _show_check(self, report: Report | None) -> None:
        """What is wrong; None for a graph that has not been begun, of which nothing is."""
        if report is None:
            self.check.setText("Empty graph")
            self.check.setIcon(icons.themed("info", "text-dim"))
            return
        errors = len(report.errors)
        warnings = len(report.problems) - errors
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
