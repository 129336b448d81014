"""Does the learning rate suit the network?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any

from engine import fit
from studio.lowering.analysis.node_facts import NodeInfo
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.problems.quick_fixes import assign_all
from studio.nodes.types import Role
from studio.training.experiments.experiment import Curves, Experiment, Outcome, Outcomes, Series, Step
from studio.training.experiments.overfit import final_share
from studio.training.experiments.project_copy import ProjectCopy

_LOW, _HIGH = 1e-6, 3.0
_SECONDS, _MIN_STEPS, _MAX_STEPS = 4.0, 32, 100
_BETTER = 0.6
"""Another rate is the remedy if it lowers the loss of a batch to less than this share of what the project's rate
reaches."""


def _run(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    steps = copy.steps(_SECONDS, _MIN_STEPS, _MAX_STEPS)
    tried: list[fit.LearningRateTrial] = []
    found: fit.LearningRateSuggestion | None = None
    for event in fit.find_rate(copy.task, low=_LOW, high=_HIGH, steps=steps, compile=False, batches=copy.cycle()):
        if isinstance(event, fit.LearningRateSuggestion):
            found = event
            continue
        tried.append(event)
        if len(tried) % 4 == 0:
            yield 0.8 * len(tried) / steps, _picture(tried, copy.rates)
    if found is None or found.rate is None or found.lowest is None:
        text = f"No learning rate lowers the loss within {len(tried)} steps."
        yield Outcome("inconclusive", text, "", {"rates": copy.rates}, _picture(tried, copy.rates))
        return
    yield from _judged(copy, outcomes, tried, found.rate, found.lowest)


def _judged(
    copy: ProjectCopy, outcomes: Outcomes, tried: list[fit.LearningRateTrial], suggested: float, lowest: float
) -> Iterator[Step]:
    rate, rates = float(f"{suggested:.1g}"), copy.rates
    picture = _picture(tried, rates, suggested)
    evidence: dict[str, Any] = {"rates": rates, "suggested": rate, "lowest loss at": lowest}
    text = f"The loss falls fastest at {rate:g} and is lowest at {lowest:.1g}"
    given = ", ".join(f"{value:g} ({name})" for name, value in rates.items())
    share = _overfit_share(outcomes)
    if not rates or copy.is_adversarial or share is None:
        yield Outcome("passed", f"{text}. The project uses {given or 'no fixed rate'}.", "", evidence, picture)
        return
    name, current = next(iter(rates.items()))
    learned = outcomes["overfit"].verdict == "passed"
    best, reached = rate, math.inf
    for tested in [rate] if learned else _candidates(current, rate):
        steps = int(outcomes["overfit"].evidence["steps"])
        found = final_share([loss for _, loss in copy.train(repeat(copy.batches[0]), steps, rate=tested)])
        yield 0.9, picture
        if found < reached:
            best, reached = tested, found
    evidence["share of the first loss"] = {
        f"{current:g}": share if math.isfinite(share) else None,
        f"{best:g}": reached if math.isfinite(reached) else None,
    }
    fix = _fix(copy, best, f"The loss of one batch fell to {reached:.0%} with it.")
    if not learned and (reached < _BETTER * share or (math.isnan(share) and reached < _BETTER)):
        yield _problem(name, current, best, share, reached, evidence, picture, fix)
    elif reached < share and best != current:
        text = f"{text}. The project uses {given}, which suits the network, too."
        yield Outcome("passed", text, "", evidence, picture, suggestion=fix)
    else:
        text = f"{text}. The project uses {given}; other rates do not help."
        yield Outcome("passed", text, "", evidence, picture)


def _problem(
    name: str,
    current: float,
    best: float,
    share: float,
    reached: float,
    evidence: dict[str, Any],
    picture: Curves,
    fix: Fix,
) -> Outcome:
    low = "low" if best > current else "high"
    before = "is NaN" if math.isnan(share) else f"is {share:.0%} of its first value"
    trial = f"after the same steps the loss of one batch {before} with {current:g} and {reached:.0%} with {best:g}"
    message = f"The learning rate of {name} is too {low}: {trial}. Set lr to {best:g}."
    if best > current:
        problem = Problem("warning", "learning-rate-too-low", message, node=name, fix=fix, evidence=evidence)
    else:
        problem = Problem("warning", "learning-rate-too-high", message, node=name, fix=fix, evidence=evidence)
    return Outcome("problem", message, f"Set lr of {name} to {best:g}.", evidence, picture, (problem,))


def _fix(copy: ProjectCopy, rate: float, reason: str) -> Fix:
    """Set the learning rate of the optimizer, and the maximum of schedulers that set the rate themselves."""
    nodes = copy.report.nodes
    changes = {name: {"lr": rate} for name in copy.rates}
    changes |= {name: {"max_lr": rate} for name in copy.graph.with_role(Role.SCHEDULER) if _sets_rate(nodes.get(name))}
    fix = assign_all(changes, f"Set lr to {rate:g}")
    return replace(fix, reason=reason)


def _sets_rate(info: NodeInfo | None) -> bool:
    return info is not None and "max_lr" in info.arguments


def _candidates(current: float, suggested: float) -> list[float]:
    """Rates to try: the suggested one, and one a tenth of it if the project's is above that."""
    lower = float(f"{suggested / 10:.1g}")
    return [suggested, lower] if current > lower else [suggested]


def _overfit_share(outcomes: Outcomes) -> float | None:
    """How far the loss of one batch fell with the project's rate, as a share of the first loss; None if unknown."""
    found = outcomes.get("overfit")
    if found is None or "share" not in found.evidence:
        return None
    share = found.evidence["share"]
    return math.nan if share is None else float(share)


def _picture(tried: list[fit.LearningRateTrial], rates: dict[str, float], suggested: float | None = None) -> Curves:
    x = tuple(trial.rate for trial in tried)
    marks = [(rate, name) for name, rate in rates.items() if _LOW <= rate <= _HIGH]
    marks += [] if suggested is None else [(suggested, "suggested")]
    series = (Series("loss", x, tuple(t.loss for t in tried)), Series("mean", x, tuple(t.smoothed for t in tried)))
    return Curves("Learning rate", "Loss", series, log_x=True, marks=tuple(marks))


RATE_SWEEP = Experiment(
    "rate", "Learning-rate sweep", "Does the learning rate suit the network?", _run, needs=("overfit",)
)

__all__ = ["RATE_SWEEP"]
