"""Learning rates that are too high or too low, seen from losses and from the size of updates."""

from __future__ import annotations

from itertools import pairwise

from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.diagnosis.run_facts import RunFacts, rounded_rate
from studio.training.diagnosis.training_curves import WINDOWS, TrainingCurves, Window, update_ratio

HEALTHY_UPDATE = 1e-3
"""Usual ratio of an update to the weights (Karpathy, "A Recipe for Training Neural Networks"; CS231n)."""
LARGE_UPDATE = 0.03
"""Updates that change weights by 3 % at each step, thirty times the usual, can explain a loss that does not settle."""
HUGE_UPDATE = 0.5
"""A first update of half the weights discards their initialization. Healthy templates stay below 0.15."""
SMALL_UPDATE = 3e-4
"""A flat curve with updates below a third of the usual ratio is explained by them."""
TINY_UPDATE = 1.5e-4
"""Updates so small that a slowly falling loss is explained by them."""
STEADY_UPDATE = 7e-4
"""Updates below the usual ratio with a loss that still falls as fast at the end as at the beginning."""
_STEADY = 0.8
"""Ratio of what the later half of a run gains to what the first half gains."""
_UNFINISHED = 0.3
"""Ratio of the loss to that of the untrained network above which training has not come far."""
SPIKE = 2.0
"""The loss rises to this multiple of that of the untrained network."""
_SPIKE_STEPS = 30
"""Steps before a loss near that of the untrained network counts as failed."""
_SLOW_STEPS, _FEW_SLOW_STEPS = 100, 30
"""Steps before a rate is called too low, and how many suffice at the end of a shorter run."""
_SLOW_STARTERS, _LONG_START = frozenset({"optim.RAdam"}), 1000
"""Optimizers that begin with a fraction of their step size, and the steps after which it is nearly whole."""
_FEW_EPOCHS = 4
"""Epochs whose losses show how a rate works, where batches of a short run vary too much."""
_SLOW_IMPROVEMENT = 0.1
"""Share of the loss that a slow run gains at most."""
_BOUNCE = 0.1
"""Rise from a lower mean loss, as a share of what training has gained, that is an oscillation if it happens twice."""
_HIGH_LEVEL = 0.2
"""Share of the first loss below which oscillations are those of a trained network."""
_SIGNIFICANT = 2.5
"""Standard errors between two means that differ."""
_RISE = 1.5
"""Ratio of the last mean loss to the lowest one at which a steady rise is a divergence."""
_RISING_WINDOWS = 4
_COLLAPSED, _LOST = 0.97, 0.05
"""Share of the first loss that the last windows reach, and share that training had gained before."""


def find_high_rate(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A rate at which the loss jumps up and does not come back, or whose first update replaces the weights."""
    if curves.steps < _SPIKE_STEPS or not curves.observations or curves.first <= 0:
        return None
    largest = max(map(update_ratio, curves.observations))
    spike = curves.highest / curves.first
    failed = spike >= SPIKE and curves.recent() >= 0.9 * curves.first and largest >= LARGE_UPDATE
    replaced = update_ratio(curves.observations[0]) >= HUGE_UPDATE and spike >= 1.25
    if not failed and not replaced:
        return None
    what = (
        f"the loss jumped from {curves.first:.3g} to {curves.highest:.3g} and is {curves.recent():.3g} "
        f"after {curves.steps:,} steps"
    )
    return _high(facts, what, largest, curves, has_recovered=not failed and curves.recent() < curves.first)


def find_oscillation(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A loss that rises and falls again and again while the rate stays the same."""
    windows = curves.windows()
    if len(windows) < WINDOWS or curves.first <= 0 or _rate_rises(windows):
        return None
    lowest = min(each.mean for each in windows)
    gained = curves.first - lowest
    ratio = max(map(update_ratio, curves.later_half), default=0.0)
    if gained <= 0 or ratio < LARGE_UPDATE or curves.recent() < _HIGH_LEVEL * curves.first:
        return None
    rises = sum(_is_rise(one, other, _BOUNCE * gained) for one, other in pairwise(windows[1:]))
    if rises < 2:
        return None
    text = (
        f"the loss rises and falls between {lowest:.3g} and {max(each.mean for each in windows[1:]):.3g} "
        f"in {curves.steps:,} steps"
    )
    return _high(facts, text, ratio, curves, code="oscillating-loss")


def find_collapse(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A loss that fell, and is that of the untrained network again: large steps have destroyed the weights."""
    windows = curves.windows()
    if len(windows) < WINDOWS or curves.first <= 0 or _rate_rises(windows):
        return None
    best = min(windows, key=lambda each: each.mean)
    largest = max(map(update_ratio, curves.observations), default=0.0)
    is_back = all(each.mean >= _COLLAPSED * curves.first for each in windows[-_RISING_WINDOWS:])
    if not is_back or largest < LARGE_UPDATE or not _is_rise(best, windows[-1], _LOST * curves.first):
        return None
    what = f"the loss fell to {best.mean:.3g}, but is {curves.recent():.3g} again, that of the untrained network"
    return _high(facts, what, largest, curves)


def find_rising_loss(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A loss that rises steadily, without being NaN."""
    windows = curves.windows()
    if len(windows) < WINDOWS or _rate_rises(windows):
        return None
    best = min(windows, key=lambda each: each.mean)
    last = windows[-_RISING_WINDOWS:]
    scale = abs(best.mean) * (_RISE - 1)
    if not all(later.mean > earlier.mean for earlier, later in pairwise(last)) or not _is_rise(best, last[-1], scale):
        return None
    if last[-1].mean < _HIGH_LEVEL * curves.first:
        return None
    rate = facts.rate()
    hint, fix = _lower(facts, None if rate is None else rounded_rate(rate / 10))
    message = (
        f"Training diverges: the mean loss rose from {best.mean:.3g} to {last[-1].mean:.3g} "
        f"by step {curves.steps:,}. {hint}"
    )
    evidence = {"lowest_loss": best.mean, "loss": last[-1].mean, "step": curves.steps}
    return Problem("warning", "diverged", message, node=facts.optimizer, fix=fix, evidence=evidence)


def find_low_rate(curves: TrainingCurves, facts: RunFacts, *, is_flat: bool) -> Problem | None:
    """A rate at which the loss falls so slowly that training would take many times as long."""
    ratio = curves.update_ratio(curves.later_half)
    if facts.is_fine_tuning or ratio is None or ratio <= 0 or not _is_long(curves, facts) or curves.first <= 0:
        return None
    gained = 1 - curves.recent() / curves.first
    is_slow = ratio < TINY_UPDATE and gained < _SLOW_IMPROVEMENT and curves.is_late(1 / 3)
    windows = curves.windows()
    falls_steadily = _falls_steadily(windows, curves.first) or _falls_by_epoch(curves)
    is_steady = ratio < STEADY_UPDATE and curves.is_late(0.9) and falls_steadily
    if not is_slow and not is_steady and not (is_flat and ratio < SMALL_UPDATE):
        return None
    if _rate_rises(windows) or (not windows and max(curves.rates) > 1.05 * curves.rates[0]):  # a warm-up
        return None
    rate = facts.rate()
    higher = None if rate is None else rounded_rate(rate * HEALTHY_UPDATE * 5 / ratio)
    if higher is not None and higher > _HIGHEST and (weak := _too_weak(facts, ratio, curves)) is not None:
        return weak
    title = "Raise its learning rate."
    fix = None
    if rate is not None and higher is not None:
        title, fix = f"Raise lr from {rate:g} to {higher:g}.", facts.rate_fix(higher)
    message = (
        f"The learning rate of {facts.optimizer} is too low: a step changes the weights by {_percent(ratio)}, "
        f"where {_percent(HEALTHY_UPDATE)} is usual, and the loss fell by {max(gained, 0):.1%} in "
        f"{curves.steps:,} steps. {title}"
    )
    evidence = {"update_to_weight": ratio, "first_loss": curves.first, "loss": curves.recent(), "step": curves.steps}
    return Problem("warning", "learning-rate-too-low", message, node=facts.optimizer, fix=fix, evidence=evidence)


def find_deadly_rate(curves: TrainingCurves, facts: RunFacts, dead: Problem) -> Problem | None:
    """A rate whose updates have shifted the inputs of ReLUs below 0.

    Args:
        dead: the problem of the units
    """
    largest = max(map(update_ratio, curves.observations))
    if largest < LARGE_UPDATE:
        return None
    share = dead.evidence["dead_share"]
    return _high(facts, f"{share:.0%} of the units of {dead.node} died, so they get no gradient", largest, curves)


def _is_long(curves: TrainingCurves, facts: RunFacts) -> bool:
    """Whether there are enough steps for a statement about the rate, measured beyond the first one."""
    if facts.optimizer is not None and facts.types[facts.optimizer].key in _SLOW_STARTERS:
        return curves.steps >= _LONG_START
    is_short_run = curves.steps >= _FEW_SLOW_STEPS and curves.is_late(0.9) and len(curves.observations) > 1
    return curves.steps >= _SLOW_STEPS or is_short_run


def _falls_steadily(windows: list[Window], first: float) -> bool:
    """Whether the loss still falls about as fast as at the beginning, and is high."""
    if len(windows) < WINDOWS or windows[-1].mean < _UNFINISHED * first:
        return False
    middle = windows[WINDOWS // 2].mean
    before, after = windows[0].mean - middle, middle - windows[-1].mean
    return before > 0 and after >= _STEADY * before


def _falls_by_epoch(curves: TrainingCurves) -> bool:
    """Whether each epoch gains as much as the first ones, and all of them little: batches vary more than that."""
    losses = [each.train_loss for each in curves.epochs]
    if len(losses) < _FEW_EPOCHS or losses[-1] < (1 - _SLOW_IMPROVEMENT) * curves.first:
        return False
    gains = [earlier - later for earlier, later in pairwise(losses)]
    return min(gains) > 0 and gains[-1] >= _STEADY * gains[0]


def _too_weak(facts: RunFacts, ratio: float, curves: TrainingCurves) -> Problem | None:
    """Steps that are small although the rate is not: a factor in the graph makes outputs, and so gradients, tiny."""
    factor = next(
        (
            name
            for name, kind in facts.types.items()
            if kind.key in _FACTORS
            and 0 < _FACTORS[kind.key](facts.document.nodes[name].params.get("y")) <= _TINY_FACTOR
        ),
        None,
    )
    if factor is None:
        return None
    message = (
        f"The outputs are too small: {factor} multiplies them by a small number, so a step changes the weights by "
        f"{_percent(ratio)}, where {_percent(HEALTHY_UPDATE)} is usual, and the loss stays at {curves.recent():.3g}. "
        f"Remove {factor}."
    )
    evidence = {"update_to_weight": ratio, "loss": curves.recent(), "step": curves.steps}
    fix = quick_fixes.bypass(factor, "x")
    return Problem("warning", "vanishing-gradients", message, node=factor, fix=fix, evidence=evidence)


def _factor(value: object) -> float:
    return abs(value) if isinstance(value, (int, float)) else 0.0


def _divisor(value: object) -> float:
    return 1 / abs(value) if isinstance(value, (int, float)) and value else 0.0


_FACTORS = {"ops.mul": _factor, "ops.div": _divisor}
"""Operations with a number, and the factor that it is."""
_TINY_FACTOR = 0.01
_HIGHEST = 10.0
"""Learning rate that is never suggested."""


def _high(
    facts: RunFacts,
    what: str,
    ratio: float,
    curves: TrainingCurves,
    code: str = "learning-rate-too-high",
    *,
    has_recovered: bool = False,
) -> Problem:
    """A rate that is too high.

    Args:
        what: what the loss did
        has_recovered: whether the loss fell below that of the untrained network in spite of it
    """
    rate = facts.rate()
    is_extreme = ratio >= HUGE_UPDATE * 2 and not has_recovered
    hint, fix = _lower(facts, None if rate is None else rounded_rate(rate / (100 if is_extreme else 10)))
    higher = facts.rate_fix(rounded_rate(rate / 20)) if rate is not None and is_extreme else None
    message = (
        f"The learning rate of {facts.optimizer} is too high: a step changed the weights by {_percent(ratio)}, "
        f"and {what}. {hint}"
    )
    evidence = {
        "update_to_weight": ratio,
        "first_loss": curves.first,
        "highest_loss": curves.highest,
        "loss": curves.recent(),
        "step": curves.steps,
    }
    if fix is None or higher is None:
        return Problem("warning", code, message, node=facts.optimizer, fix=fix, evidence=evidence)
    fix = fix.because("It is the safer one of two rates; a trial shows which trains better.")
    return Problem("warning", code, message, node=facts.optimizer, fix=fix, others=(higher,), evidence=evidence)


def _lower(facts: RunFacts, rate: float | None) -> tuple[str, Fix | None]:
    now = facts.rate()
    if rate is None or now is None:
        return "Lower its learning rate.", None
    return f"Lower lr from {now:g} to {rate:g}.", facts.rate_fix(rate)


def _is_rise(one: Window, other: Window, least: float) -> bool:
    error = (one.error**2 + other.error**2) ** 0.5
    return other.mean - one.mean > max(least, _SIGNIFICANT * error)


def _rate_rises(windows: list[Window]) -> bool:
    """Whether a schedule raises the rate, as in a warm-up or a restart."""
    return any(later.rate > 1.05 * earlier.rate for earlier, later in pairwise(windows))


def _percent(ratio: float) -> str:
    return f"{ratio:.0%}" if ratio >= 0.01 else f"{100 * ratio:.2g}%"


__all__ = [
    "HEALTHY_UPDATE",
    "LARGE_UPDATE",
    "find_collapse",
    "find_deadly_rate",
    "find_high_rate",
    "find_low_rate",
    "find_oscillation",
    "find_rising_loss",
]
