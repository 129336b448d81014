"""What trials of a problem's fixes measured, or how far they are, with a button to cancel or repeat them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.lowering.problems.problem import Problem
from studio.ui.project.fix_trial_runner import FixTrialRunner, FixTrials, text_of
from studio.ui.widgets.buttons import icon_button
from studio.ui.widgets.labels import label

_WIDEST, _NARROWEST = 264, 150
"""Widths at which the text wraps, in a wide and in a narrow row."""
_SHARE = 0.25
"""Share of a row that the text may take."""
_ABOUT = "The fix is tried on a copy: both versions train from the same seed."


class FixTrialStatus(QWidget):
    """Hidden if the fixes of the problem claim no better training."""

    def __init__(self, problem: Problem, trials: FixTrialRunner, parent: QWidget) -> None:
        super().__init__(parent)
        self._problem, self._trials = problem, trials
        self._widest = _WIDEST
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self.text = label("", "dim", wrap=True)
        self.text.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.text.setToolTip(_ABOUT)
        self.cancel = icon_button("close", "Cancel the trial", partial(trials.cancel, problem), token="text-dim")
        self.retry = icon_button("reset", "Try the fix", partial(trials.retry, problem), token="text-dim")
        row.addWidget(self.text, 1)
        row.addWidget(self.cancel)
        row.addWidget(self.retry)
        self.refresh()

    def refresh(self) -> None:
        """Show the current state."""
        found = self._trials.trials(self._problem)
        self.setVisible(found is not None)
        if found is None:
            return
        text = self._describe(found)
        self.text.setText(text)
        width = max(self.text.fontMetrics().horizontalAdvance(line) for line in text.splitlines()) + 4
        self.text.setFixedWidth(min(width, self._widest))
        self.cancel.setVisible(found.state == "trying")
        self.retry.setVisible(found.state == "cancelled")

    def fit(self, row_width: int) -> None:
        """Leave room for the message of a row with this width."""
        widest = min(max(round(_SHARE * row_width), _NARROWEST), _WIDEST)
        if widest != self._widest:
            self._widest = widest
            self.refresh()

    def _describe(self, found: FixTrials) -> str:
        if found.state == "trying":
            return f"Trying the fix: {found.share:.0%}"
        if found.state == "cancelled":
            return "Trial cancelled"
        if found.state == "waiting":
            return "Will be tried after the run" if self._trials.waits_for_run else "Will be tried"
        if found.measured is None:
            return "The trial failed"
        if found.measured.recommended is None:
            worse = next(iter(found.measured.fixes), None)
            return found.measured.refusal if worse is None else f"Worse with {worse.fix.title}\n{worse.text}"
        best = found.measured.recommended
        return text_of(found.measured, best.fix) or "Not measured: the trial takes too long"


__all__ = ["FixTrialStatus"]
