"""Short trainings of a project with and without a fix, from the same seed."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from engine import fit
from studio.document.model import Document
from studio.lowering.problems.diagnoses import AREAS
from studio.lowering.problems.problem import Problem
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.nodes.types import Role

STEPS = 50
"""Batches that each trial trains."""
_SECONDS = 10.0
"""Time limit of one trial; a longer one measures nothing."""
MEASURED = frozenset(each.code for each in AREAS["scores"]) | {
    "accumulates-epoch",
    "ascent",
    "averages",
    "clips-to-nothing",
    "epsilon",
    "learning-rate-too-high",
    "learning-rate-too-low",
    "learning-rate-zero",
    "misfit-normalization",
    "momentum",
    "narrow",
    "no-activation",
    "schedule-grows",
    "schedule-zero",
    "summed-loss",
    "unscaled-inputs",
    "weight-decay",
}
"""Codes of problems whose fix claims better training from the first steps on."""


@dataclass(frozen=True, slots=True)
class TrialFigure:
    """What a trial reached."""

    name: str
    """Such as "val_loss"."""
    value: float
    is_higher_better: bool
    steps: int

    @property
    def rank(self) -> float:
        """Lower is better; infinite for NaN."""
        if not math.isfinite(self.value):
            return math.inf
        return -self.value if self.is_higher_better else self.value


def is_measured(problem: Problem) -> bool:
    """Whether the fixes of a problem claim better training."""
    return problem.code in MEASURED and problem.severity != "error"


def run_trial(report: Report, *, by_loss: bool = True) -> TrialFigure | None:
    """Train a checked project for some steps; None if it cannot be trained, or not within the time limit.

    Args:
        by_loss: measure the loss; else the first metric
    """
    if report.errors:
        return None
    deadline = time.monotonic() + _SECONDS
    try:
        task = lower(report).build(device="cpu", seed=report.document.training.seed)
        for event in fit.fit(task, epochs=None, steps=STEPS, follow="train_loss"):
            if time.monotonic() > deadline:
                return None
            if isinstance(event, fit.Epoch) and event.step >= STEPS:
                name = "loss" if by_loss else next(iter(event.train_metrics), None)
                metric = None if name is None else task.metrics.get(name)
                is_higher_better = metric is not None and metric.higher_is_better
                return None if name is None else _figure(event, name, is_higher_better=is_higher_better)
    except Exception:  # noqa: BLE001 - a project that cannot be trained has no figure
        return None
    return None


def _figure(event: fit.Epoch, name: str, *, is_higher_better: bool) -> TrialFigure | None:
    val, train = {"loss": event.val_loss, **event.val_metrics}, {"loss": event.train_loss, **event.train_metrics}
    part = "train" if val.get(name) is None else "val"
    value = (train if part == "train" else val).get(name)
    return None if value is None else TrialFigure(f"{part}_{name}", value, is_higher_better, event.step)


def have_comparable_losses(before: Report, after: Report) -> bool:
    """Whether the losses of two versions of a project measure the same."""
    return _loss_nodes(before) == _loss_nodes(after)


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
    return f"{before.name} after {after.steps} steps {_number(before.value)} → {_number(after.value)}"


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.3g}"


__all__ = ["MEASURED", "STEPS", "TrialFigure", "comparison", "have_comparable_losses", "is_measured", "run_trial"]
