"""Short trainings of a project with and without a fix, from the same seed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from engine import fit
from studio.document.model import Document
from studio.lowering.problems.diagnoses import AREAS
from studio.lowering.problems.problem import Problem
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.nodes.types import Role

LENGTHS = (200, 100, 50)
"""Batches that the trials of a problem train; fewer ones for slow networks. What momentum or a high learning rate does
shows only after some time: of the planted mistakes, 50 batches judge 5 in the wrong way, 200 batches none."""
SECONDS = 10.0
"""Time that the batches of one trial take at most."""
_LIMIT = 20.0
"""Time limit of one trial with its validation; a longer one measures nothing."""
_TIMED = 10
"""Batches after which the time of a trial is estimated."""
TIE = 0.02
"""Relative difference of figures up to which they count as equal."""
_NOISE = 0.05
"""Difference of losses, as a share of the first one, up to which none is worse."""
MEASURED = frozenset(each.code for each in AREAS["scores"]) | {
    "accumulates-epoch",
    "ascent",
    "averages",
    "clips-to-nothing",
    "dead-relu",
    "diverged",
    "epsilon",
    "exploding-gradients",
    "float16-overflow",
    "learning-rate-high",
    "learning-rate-too-high",
    "learning-rate-too-low",
    "learning-rate-zero",
    "misfit-normalization",
    "momentum",
    "narrow",
    "oscillating-loss",
    "saturated-units",
    "schedule-grows",
    "schedule-zero",
    "summed-loss",
    "underfitting",
    "unscaled-inputs",
    "vanishing-gradients",
    "weight-decay",
}
"""Codes of problems whose fix claims better training from the first steps on."""


_CHANGES_LOSS = frozenset({"no-log-probabilities"})
"""Codes of problems with a loss that is meaningless, and not comparable with that of the fixed project."""


class TrialCancelledError(Exception):
    """A trial was cancelled."""


@dataclass(frozen=True, slots=True)
class TrialFigure:
    """What a trial reached."""

    name: str
    """Such as "val_loss"."""
    value: float
    is_higher_better: bool
    steps: int
    first: float = 0.0
    """For losses: that of the first batch."""

    @property
    def rank(self) -> float:
        """Lower is better; infinite for NaN."""
        if not math.isfinite(self.value):
            return math.inf
        return -self.value if self.is_higher_better else self.value

    def is_worse_than(self, other: TrialFigure) -> bool:
        """Whether the figure is worse by more than a tie. Losses that are both close to 0 are equal."""
        noise = _NOISE * abs(other.first) if math.isfinite(other.first) else 0.0
        return not self.rank <= other.rank + max(TIE * abs(other.rank), noise)


def is_measured(problem: Problem) -> bool:
    """Whether the fixes of a problem claim better training."""
    return problem.code in MEASURED and problem.severity != "error"


def run_first_trial(
    report: Report, *, by_loss: bool = True, advance: Callable[[float], None] | None = None
) -> TrialFigure | None:
    """Train a checked project for as many steps as the time allows; see `run_trial`."""
    for steps in LENGTHS:
        try:
            return run_trial(report, steps, by_loss=by_loss, advance=advance, is_timed=steps > LENGTHS[-1])
        except _TooSlowError:
            continue
    return None


class _TooSlowError(Exception):
    """A trial would exceed the time limit."""


def run_trial(
    report: Report,
    steps: int,
    *,
    by_loss: bool = True,
    advance: Callable[[float], None] | None = None,
    is_timed: bool = False,
) -> TrialFigure | None:
    """Train a checked project; None if it cannot be trained, or not within the time limit.

    Args:
        steps: number of batches
        by_loss: measure the loss; else the first metric
        is_timed: raise an error if the first batches show that the time limit would be exceeded
        advance: called with the completed share after each batch; it cancels by raising TrialCancelledError
    """
    if report.errors:
        return None
    begun = first = 0.0
    deadline = time.monotonic() + _LIMIT
    try:
        task = lower(report).build(device="cpu", seed=report.document.training.seed)
        # Eager steps take the same values and compile no kernels, which would take longer than the trial.
        step = 0
        for event in fit.fit(task, epochs=None, steps=steps, follow="train_loss", compile=False):
            if isinstance(event, fit.Step):
                step, begun = event.step, begun or time.monotonic()
                first = event.loss if step == 1 else first
                if is_timed and step == _TIMED and _estimate(begun, step, steps) > SECONDS:
                    raise _TooSlowError
            if advance is not None:
                advance(step / steps)
            if time.monotonic() > deadline:
                return None
            if isinstance(event, fit.Epoch) and event.step >= steps:
                name = "loss" if by_loss else next(iter(event.train_metrics), None)
                metric = None if name is None else task.metrics.get(name)
                is_higher_better = metric is not None and metric.higher_is_better
                found = None if name is None else _figure(event, name, is_higher_better=is_higher_better)
                return replace(found, first=first) if found is not None and by_loss else found
    except (TrialCancelledError, _TooSlowError):
        raise
    except Exception:  # noqa: BLE001 - a project that cannot be trained has no figure
        return None
    return None


def _estimate(begun: float, step: int, steps: int) -> float:
    """Seconds of a trial whose first step ended at a time."""
    return (time.monotonic() - begun) / (step - 1) * steps


def _figure(event: fit.Epoch, name: str, *, is_higher_better: bool) -> TrialFigure | None:
    val, train = {"loss": event.val_loss, **event.val_metrics}, {"loss": event.train_loss, **event.train_metrics}
    part = "train" if val.get(name) is None else "val"
    value = (train if part == "train" else val).get(name)
    return None if value is None else TrialFigure(f"{part}_{name}", value, is_higher_better, event.step)


def have_comparable_losses(problem: Problem, before: Report, after: Report) -> bool:
    """Whether the losses of two versions of a project measure the same."""
    return problem.code not in _CHANGES_LOSS and _loss_nodes(before) == _loss_nodes(after)


def _loss_nodes(report: Report) -> object:
    """All that the value of the loss depends on besides the network: loss nodes and transforms of targets."""
    document: Document = report.document
    kept: dict[str, object] = {}
    for name, node_type in report.checked.graph.types.items():
        params = report.checked.document.nodes[name].params
        if node_type.role in (Role.LOSS, Role.LOSS_SUM) or params.get("on") == "targets":
            kept[name] = (node_type.key, params)
    return kept, document.training.validate_epochs == 0


def comparison(before: TrialFigure | None, after: TrialFigure | None) -> str:
    """What two trials measured, as a phrase; empty if one of them measured nothing."""
    if before is None or after is None or before.name != after.name:
        return ""
    return f"{after.steps} batches: {before.name} {_number(before.value)} → {_number(after.value)}"


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.3g}"


__all__ = [
    "LENGTHS",
    "MEASURED",
    "SECONDS",
    "TIE",
    "TrialCancelledError",
    "TrialFigure",
    "comparison",
    "have_comparable_losses",
    "is_measured",
    "run_first_trial",
    "run_trial",
]
