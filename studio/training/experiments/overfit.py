"""Can the network memorize one batch?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat
from statistics import fmean

from studio.lowering.problems.problem import Problem
from studio.training.experiments.experiment import Curves, Experiment, Outcome, Outcomes, Series, Step
from studio.training.experiments.project_copy import ProjectCopy

_SECONDS, _MIN_STEPS, _MAX_STEPS = 4.0, 24, 200
LEARNED = 0.1
"""A batch is memorized if the loss falls below this fraction of the first one."""
_FALLS = 0.5
"""The loss falls if it gets below this fraction, even if the batch is not memorized in the time."""
_FALLS_SHORT = 0.92
"""The same after few steps."""
_SHORT = 100
_NAMED = 5
"""Maximum number of nodes in a hint."""
_FLAT = 0.85
"""The loss does not fall if it stays above this fraction after many steps."""


def final_share(losses: list[float]) -> float:
    """The mean of the last losses as a fraction of the first one; NaN if one of them is not finite."""
    last = fmean(losses[-5:])
    if not losses[0]:
        return 0.0
    return last / losses[0] if math.isfinite(last) and math.isfinite(losses[0]) else math.nan


def overfit_curve(losses: list[float], name: str = "loss") -> Series:
    return Series(name, tuple(float(number) for number in range(1, len(losses) + 1)), tuple(losses))


def _run(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    steps, losses = copy.steps(_SECONDS, _MIN_STEPS, _MAX_STEPS), list[float]()
    for number, loss in copy.train(repeat(copy.batches[0]), steps):
        losses.append(loss)
        if number % 4 == 0:
            yield number / steps, _picture(losses)
        if loss < LEARNED / 10 * losses[0] or not math.isfinite(loss):
            break
    share, picture = final_share(losses), _picture(losses)
    evidence = {"steps": len(losses), "first loss": losses[0], "share": share if math.isfinite(share) else None}
    fell = f"After {len(losses)} steps on one batch, the loss is {share:.0%} of its first value"
    if math.isnan(share):
        summary = f"After {len(losses)} steps on one batch, the loss is NaN or infinite."
        yield _problem(copy, summary, evidence, picture)
    elif share <= LEARNED:
        yield Outcome("passed", f"{fell}, so the network can learn.", "", evidence, picture)
    elif share < _FALLS or (len(losses) < _SHORT and share < _FALLS_SHORT):
        yield Outcome("passed", f"{fell} and falls, so the network learns.", "", evidence, picture)
    elif copy.is_adversarial:
        summary = f"{fell}. Several optimizers train against each other, so their losses do not fall together."
        yield Outcome("inconclusive", summary, "", evidence, picture)
    elif share > _FLAT:
        yield _problem(copy, f"{fell}, so the network does not learn.", evidence, picture)
    else:
        yield Outcome("inconclusive", f"{fell}. It falls slowly.", "", evidence, picture)


def _problem(copy: ProjectCopy, summary: str, evidence: dict[str, object], picture: Curves) -> Outcome:
    node = next(iter(copy.graph.optimized), None)
    step = " ".join(_next_steps(copy))
    problem = Problem("warning", "not-learning", f"{summary} {step}", node=node, evidence=evidence)
    return Outcome("problem", summary, step, evidence, picture, (problem,))


def _next_steps(copy: ProjectCopy) -> Iterator[str]:
    nodes = copy.report.document.nodes
    if frozen := [name for name, node in nodes.items() if node.frozen]:
        yield f"Frozen layers are not trained: {', '.join(frozen[:_NAMED])}."
    if dropouts := [name for name, node in nodes.items() if "Dropout" in node.type and not node.muted]:
        yield f"Dropout prevents memorizing: mute {', '.join(dropouts[:_NAMED])} and try again."
    rates = ", ".join(f"{rate:g} ({name})" for name, rate in copy.rates.items())
    given = f" {rates}" if rates else ""
    yield f"Check the learning rate{given}, the wires from each layer to the loss, and that the loss fits its targets."


def _picture(losses: list[float]) -> Curves:
    return Curves("Training steps on one batch", "Loss", (overfit_curve(losses),))


OVERFIT = Experiment("overfit", "Overfit one batch", "Can the network memorize one batch?", _run)

__all__ = ["LEARNED", "OVERFIT", "final_share", "overfit_curve"]
