"""A line search: how far to go along a direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9


@dataclass(frozen=True, slots=True)
class LineSearchPoint:
    """A step along the direction: how long, the loss there, the gradient, and the loss's slope along the direction."""

    step: float
    loss: float
    gradient: Any
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], LineSearchPoint],
    start: LineSearchPoint,
    first: float,
    length: float,
    *,
    smallest: float = 1e-9,
    limit: int = 25,
) -> tuple[LineSearchPoint, int]:
    """A point that meets the strong Wolfe conditions, and how many points were evaluated.

    The algorithm of Nocedal and Wright, Numerical Optimization, 3.5 and 3.6, with cubic interpolation as in Schmidt's
    minFunc, whose constants are PyTorch's too.

    Args:
        evaluate: gives the point at a step
        start: the point at step 0
        first: the step to try first
        length: the direction's largest component
        smallest: a bracket narrower than this, times `length`, ends the search
        limit: the most points to try
    """

    def violates_decrease(point: LineSearchPoint) -> bool:
        return point.loss > start.loss + SUFFICIENT_DECREASE * point.step * start.slope

    def meets_curvature(point: LineSearchPoint) -> bool:
        return abs(point.slope) <= -CURVATURE * start.slope

    previous, new, tried = start, evaluate(first), 0
    bracket: tuple[LineSearchPoint, LineSearchPoint] | None = None
    while tried < limit:
        if violates_decrease(new) or (tried > 1 and new.loss >= previous.loss):
            bracket = previous, new
            break
        if meets_curvature(new):
            return new, tried + 1
        if new.slope >= 0:
            bracket = previous, new
            break
        bounds = new.step + 0.01 * (new.step - previous.step), new.step * 10
        previous, new = new, evaluate(cubic_minimum(previous, new, bounds))
        tried += 1
    low, high = bracket or (start, new)
    position = 0  # of the lower end, which matters to the interpolation's rounding
    if low.loss > high.loss:
        low, high, position = high, low, 1
    stuck = False
    while tried < limit and abs(high.step - low.step) * length >= smallest:
        ends = (low, high) if position == 0 else (high, low)
        step, stuck = _away_from_ends(cubic_minimum(*ends), low.step, high.step, stuck=stuck)
        new = evaluate(step)
        tried += 1
        if violates_decrease(new) or new.loss >= low.loss:
            high = new
            if high.loss < low.loss:
                low, high, position = high, low, 1 - position
            continue
        if meets_curvature(new):
            low = new
            break
        if new.slope * (high.step - low.step) >= 0:
            high = low
        low = new
    return low, tried + 1


def cubic_minimum(a: LineSearchPoint, b: LineSearchPoint, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is least, held within `bounds`, else between the points."""
    least, most = bounds or (min(a.step, b.step), max(a.step, b.step))
    left, right = (a, b) if a.step <= b.step else (b, a)
    if a.step == b.step:
        return (least + most) / 2
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = bend**2 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2
    root = math.sqrt(square)
    change = right.slope - left.slope + 2 * root
    if change == 0:
        return (least + most) / 2
    share = (right.slope + root - bend) / change
    return min(max(right.step - (right.step - left.step) * share, least), most)


def _away_from_ends(step: float, low: float, high: float, *, stuck: bool) -> tuple[float, bool]:
    """`step`, moved into the bracket if it came close to an end twice, and whether it is close to one now."""
    least, most = min(low, high), max(low, high)
    margin = 0.1 * (most - least)
    if min(most - step, step - least) >= margin:
        return step, False
    if not stuck and least < step < most:
        return step, True
    return (most - margin if abs(step - most) < abs(step - least) else least + margin), False
