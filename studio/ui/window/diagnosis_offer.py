"""Offers the diagnosis of the loss where a run ends flat or diverged."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from studio.training.runs.run_history import Run
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.window.notification_bar import NotificationBar

_MIN_EPOCHS = 3
"""Epochs after which a loss that did not fall is flat."""
_FLAT = 0.98
"""Lowest later loss of a flat curve, as a share of that of the first epoch."""
_PROBLEMS = {
    "diverged": "diverged",
    "learning-rate-too-high": "is unstable",
    "learning-rate-too-low": "hardly falls",
    "vanishing-gradients": "hardly falls",
    "exploding-gradients": "is unstable",
    "dead-relu": "hardly falls",
    "saturated-units": "hardly falls",
    "oscillating-loss": "oscillates",
    "underfitting": "stays high",
}
"""What the loss does, by the code of a problem of the run."""


class DiagnosisOffer(QObject):
    """Shows a notification after such a run.

    Args:
        show: shows a notification
        diagnose: opens the diagnosis
    """

    def __init__(
        self, runner: TrainingRunner, show: Callable[[NotificationBar], None], diagnose: Callable[[], None]
    ) -> None:
        super().__init__(runner)
        self._runner, self._show, self._diagnose = runner, show, diagnose
        runner.state_changed.connect(self._offer)

    def _offer(self, state: str) -> None:
        run = self._runner.run
        if state not in ("done", "stopped") or run is None:
            return
        codes = [problem["code"] for problem in run.metadata.get("problems", ())]
        does = next((_PROBLEMS[code] for code in codes if code in _PROBLEMS), "did not fall" if _is_flat(run) else "")
        if does:
            bar = NotificationBar(f"The loss of {run.name} {does}.", [("Diagnose the loss…", self._diagnose)])
            bar.close_when(self._runner.state_changed, lambda: self._runner.is_active)
            self._show(bar)


def _is_flat(run: Run) -> bool:
    losses = run.values("epochs").get("loss", ())
    return len(losses) >= _MIN_EPOCHS and 0 < _FLAT * losses[0] <= min(losses[1:])


__all__ = ["DiagnosisOffer"]
