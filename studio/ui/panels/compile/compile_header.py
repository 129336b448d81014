"""Header of the Compile panel: compilation state, figures of the compiled step, and commands."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from engine.compiler import Explanation
from studio.training.runs.run_history import Run
from studio.training.staged_explanation import Stage
from studio.ui import number_format
from studio.ui.compile_status import CompileStatus, compile_status
from studio.ui.panels.compile.row_detail import speed
from studio.ui.widgets import buttons
from studio.ui.widgets.compile_status_icon import compile_status_icon
from studio.ui.widgets.labels import ElidedLabel, label

_TITLES = {
    "One step": "",
    "Breaks": "Graph breaks per step. At each one the step waits for Python, which costs time.",
    "Kernels": "Generated kernels. Each computes several ops in one pass over the data.",
    "Regions": "Parts of the step between graph breaks (segments). Each is compiled as a whole.",
    "Recompiles": "Steps that were compiled again, as their ops or shapes were new, such as a smaller last batch",
    "Intermediate values": "",
}
"""Titles of the figures and their tooltips, in order of importance: the last ones are hidden in a narrow panel."""
STAGES = {
    "preparing": "Reading the data",
    "recording": "Recording a step on a copy of the model",
    "compiling": "Compiling kernels",
    "timing": "Timing steps with and without compilation",
}


class CompileHeader(QWidget):
    def __init__(
        self,
        *,
        explain: Callable[[], object],
        cancel: Callable[[], object],
        switch: Callable[[bool], object],
        overlay: Callable[[bool], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(16)
        self.badge = QToolButton()
        self.badge.setProperty("kind", "status")
        self.badge.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.badge.setIconSize(QSize(18, 18))
        self.badge.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.badge.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)
        row.addWidget(self.badge)
        self.figures = {title: _LabeledFigure(title, tip) for title, tip in _TITLES.items()}
        for figure in self.figures.values():
            row.addWidget(figure)
        self._stage = ElidedLabel()
        self._stage.setProperty("role", "dim")
        row.addWidget(self._stage, 1)
        row.addStretch()
        self.switch = QCheckBox("Compile")
        self.switch.setToolTip("Compile the training step into fused kernels")
        self.switch.clicked.connect(switch)
        row.addWidget(self.switch)
        tools = QHBoxLayout()
        tools.setSpacing(2)
        self.overlay = buttons.icon_button("regions", "Show compiled regions on the canvas")
        self.overlay.setCheckable(True)
        self.overlay.clicked.connect(overlay)
        self.explain = buttons.icon_button("reset", "Explain again", explain)
        self.cancel = buttons.icon_button("close", "Cancel", cancel)
        for button in (self.overlay, self.explain, self.cancel):
            tools.addWidget(button)
        row.addLayout(tools)

    def show_status(self, run: Run | None, *, compiles: bool) -> None:
        """Show the compilation state of a run."""
        status = compile_status(run, compiles=compiles) or CompileStatus(
            "Not run yet", "Start a run to see how its steps are executed.", "text-dim", 0.0
        )
        self.badge.setText(f" {status.title}")
        self.badge.setIcon(compile_status_icon(status))
        self.badge.setToolTip(status.tip)
        self.switch.setChecked(compiles)
        self._fit()

    def show_explanation(self, explanation: Explanation | None, run: Run | None) -> None:
        """Show the figures; recompiles are the run's if it counted more than the explanation."""
        if explanation is None:
            for figure in self.figures.values():
                figure.show_value("")
            self._fit()
            return
        kernels = [kernel for segment in explanation.segments for kernel in segment.kernels if kernel.kind == "kernel"]
        waiting = sum(bool(kernel.note) for kernel in kernels)
        breaks = sum(graph_break.count for graph_break in explanation.breaks)
        state = run.compile_state if run is not None else None
        recompiles = max(len(explanation.recompiles), state.recompiles if state is not None else 0)
        eager_memory = sum(segment.held for segment in explanation.segments)
        step = number_format.milliseconds(explanation.compiled_seconds)
        eager = number_format.milliseconds(explanation.eager_seconds)
        beside = f"uncompiled {eager}" if explanation.eager_seconds else ""
        self.figures["One step"].show_value(step, beside, speed(explanation))
        lost = number_format.milliseconds(sum(graph_break.seconds for graph_break in explanation.breaks))
        self.figures["Breaks"].show_value(
            str(breaks), f"{lost} lost" if breaks else "", token="warning" if breaks else ""
        )
        ready = f"of {len(kernels)} ready" if waiting else "ready"
        self.figures["Kernels"].show_value(str(len(kernels) - waiting), ready if kernels else "")
        self.figures["Regions"].show_value(str(len(explanation.segments)))
        self.figures["Recompiles"].show_value(str(recompiles))
        self.figures["Intermediate values"].show_value(
            number_format.size(explanation.memory),
            "",
            f"Memory for intermediate values of one step; without compilation {number_format.size(eager_memory)}.",
        )
        self._fit()

    def show_stage(self, stage: Stage | None) -> None:
        """Show the stage of a running explanation; None if there is none."""
        text = "" if stage is None else STAGES[stage.what]
        if stage is not None and stage.what == "compiling":
            text = f"{text}, {stage.ready} of {stage.kernels}"
        self._stage.setText(f"{text}…" if text else "")
        self._stage.setVisible(bool(text))
        self.cancel.setVisible(stage is not None)
        self.explain.setVisible(stage is None)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Hide figures that do not fit."""
        fixed = [self.badge, self.switch, self.overlay, self.explain if self.cancel.isHidden() else self.cancel]
        room = self.width() - sum(widget.sizeHint().width() for widget in fixed) - 20 - 5 * 16
        if not self._stage.isHidden():
            room -= self._stage.sizeHint().width() + 16
        for figure in self.figures.values():
            room -= figure.sizeHint().width() + 16
            figure.setVisible(figure.has_value and room >= 0)


class _LabeledFigure(QWidget):
    """A title, its value, and a dimmed value to compare with."""

    def __init__(self, title: str, tip: str) -> None:
        super().__init__()
        self.setToolTip(tip)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(label(title, "small"))
        line = QHBoxLayout()
        line.setSpacing(6)
        self._value, self._beside = label("", "mono"), label("", "mono-dim")
        line.addWidget(self._value)
        line.addWidget(self._beside)
        line.addStretch(1)
        column.addLayout(line)

    @property
    def has_value(self) -> bool:
        return bool(self._value.text())

    @property
    def text(self) -> str:
        return f"{self._value.text()} {self._beside.text()}".strip()

    def show_value(self, value: str, beside: str = "", tip: str = "", *, token: str = "") -> None:
        self._value.setText(value)
        # Never narrower again, so that figures that change often do not move each other.
        self._value.setMinimumWidth(max(self._value.minimumWidth(), self._value.sizeHint().width()) if value else 0)
        self._beside.setText(beside)
        self._beside.setVisible(bool(beside))
        if tip:
            self.setToolTip(tip)
        role = "mono-warning" if token == "warning" else "mono"
        if self._value.property("role") != role:
            self._value.setProperty("role", role)
            self._value.style().unpolish(self._value)
            self._value.style().polish(self._value)


__all__ = ["CompileHeader"]
