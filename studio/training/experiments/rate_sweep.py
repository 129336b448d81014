"""Does the learning rate suit the network?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat

from engine import fit
from studio.document import edits
from studio.document.model import Document
from studio.lowering.problems.problem import Fix, Problem
from studio.training.experiments.experiment import Curves, Experiment, Outcome, Results, Series, Step
from studio.training.experiments.overfit import final_share
from studio.training.experiments.project_copy import ProjectCopy

_LOW, _HIGH = 1e-6, 3.0
_SECONDS, _MIN_STEPS, _MAX_STEPS = 4.0, 32, 100
_BETTER = 0.6
"""Another rate is the remedy if it lowers the loss of a batch to less than this share of what the project's rate
reaches."""


def _run(copy: ProjectCopy, results: Results) -> Iterator[Step]:
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
    yield from _judged(copy, results, tried, found.rate, found.lowest)


def _judged(
    copy: ProjectCopy, results: Results, tried: list[fit.LearningRateTrial], suggested: float, lowest: float
) -> Iterator[Step]:
    rate, rates = float(f"{suggested:.1g}"), copy.rates
    picture = _picture(tried, rates, suggested)
    evidence = {"rates": rates, "suggested": rate, "lowest loss at": lowest}
    text = f"The loss falls fastest at {rate:g} and is lowest at {lowest:.1g}"
    given = ", ".join(f"{value:g} ({name})" for name, value in rates.items())
    share = _overfit_share(results)
    learned = "overfit" in results and results["overfit"].verdict == "passed"
    if not rates or copy.is_adversarial or share is None or learned:
        yield Outcome("passed", f"{text}. The project uses {given or 'no fixed rate'}.", "", evidence, picture)
        return
    name, current = next(iter(rates.items()))
    steps, best, best_share = int(results["overfit"].evidence["steps"]), rate, math.inf
    for tested in _candidates(current, rate):
        reached = final_share([loss for _, loss in copy.train(repeat(copy.batches[0]), steps, rate=tested)])
        yield 0.9, picture
        if reached < best_share:
            best, best_share = tested, reached
    evidence["share of the first loss"] = {
        f"{current:g}": share if math.isfinite(share) else None,
        f"{best:g}": best_share if math.isfinite(best_share) else None,
    }
    if not (best_share < _BETTER * share or (math.isnan(share) and best_share < _BETTER)):
        yield Outcome("passed", f"{text}. The project uses {given}; other rates do not help.", "", evidence, picture)
        return
    yield _problem(name, current, best, share, best_share, evidence, picture)


def _problem(
    name: str, current: float, best: float, share: float, reached: float, evidence: dict[str, object], picture: Curves
) -> Outcome:
    low = "low" if best > current else "high"
    before = "is NaN" if math.isnan(share) else f"is {share:.0%} of its first value"
    trial = f"after the same steps the loss of one batch {before} with {current:g} and {reached:.0%} with {best:g}"
    message = f"The learning rate of {name} is too {low}: {trial}. Set lr to {best:g}."

    def edit(document: Document) -> Document:
        return edits.set_param(document, name, "lr", best)

    reason = f"The loss of one batch fell to {reached:.0%} with it."
    fix = Fix(f"Set lr to {best:g}", edit, (f"{name}.lr={best:g}",), reason=reason)
    if best > current:
        problem = Problem("warning", "learning-rate-too-low", message, node=name, fix=fix, evidence=evidence)
    else:
        problem = Problem("warning", "learning-rate-too-high", message, node=name, fix=fix, evidence=evidence)
    return Outcome("problem", message, f"Set lr of {name} to {best:g}.", evidence, picture, (problem,))


def _candidates(current: float, suggested: float) -> list[float]:
    """Rates to try: the suggested one, and one a tenth of it if the project's is above that."""
    lower = float(f"{suggested / 10:.1g}")
    return [suggested, lower] if current > lower else [suggested]


def _overfit_share(results: Results) -> float | None:
    """How far the loss of one batch fell with the project's rate, as a share of the first loss; None if unknown."""
    found = results.get("overfit")
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


RATE_SWEEP = Experiment("rate", "Learning-rate sweep", "Does the learning rate suit the network?", _run)

__all__ = ["RATE_SWEEP"]
