"""Line search with the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9


@dataclass(frozen=True, slots=True)
class LineSearchPoint:
    """A step along the search direction: its length, and the loss, gradient and directional derivative there."""

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
    """Search a point that meets the strong Wolfe conditions. Returns it and the number of evaluated points.

    Algorithms 3.5 and 3.6 of Nocedal and Wright, Numerical Optimization, with the cubic interpolation and constants of
    Schmidt's minFunc, as in PyTorch.

    Args:
        evaluate: function that returns the point at a step
        start: the point at step 0
        first: initial step
        length: largest component of the direction
        smallest: bracket width, times `length`, below which the search ends
        limit: maximum number of points
    """

    def violates_decrease(point: LineSearchPoint) -> bool:
        return point.loss > start.loss + SUFFICIENT_DECREASE * point.step * start.slope

    def meets_curvature(point: LineSearchPoint) -> bool:
        return abs(point.slope) <= -CURVATURE * start.slope

    previous, new, evaluations = start, evaluate(first), 0
    bracket: tuple[LineSearchPoint, LineSearchPoint] | None = None
    while evaluations < limit:
        if violates_decrease(new) or (evaluations > 1 and new.loss >= previous.loss):
            bracket = previous, new
            break
        if meets_curvature(new):
            return new, evaluations + 1
        if new.slope >= 0:
            bracket = previous, new
            break
        bounds = new.step + 0.01 * (new.step - previous.step), new.step * 10
        previous, new = new, evaluate(cubic_minimum(previous, new, bounds))
        evaluations += 1
    low, high = bracket or (start, new)
    position = 0  # index of the end with the lower loss; the order affects rounding in the interpolation
    if low.loss > high.loss:
        low, high, position = high, low, 1
    was_near_end = False
    while evaluations < limit and abs(high.step - low.step) * length >= smallest:
        ends = (low, high) if position == 0 else (high, low)
        step, was_near_end = _move_from_ends(cubic_minimum(*ends), low.step, high.step, was_near_end=was_near_end)
        new = evaluate(step)
        evaluations += 1
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
    return low, evaluations + 1


def cubic_minimum(a: LineSearchPoint, b: LineSearchPoint, bounds: tuple[float, float] | None = None) -> float:
    """Minimizer of the cubic through two points and their slopes, clamped to `bounds` (default: the two points)."""
    lower, upper = bounds or (min(a.step, b.step), max(a.step, b.step))
    left, right = (a, b) if a.step <= b.step else (b, a)
    if a.step == b.step:
        return (lower + upper) / 2
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
    square = bend**2 - a.slope * b.slope
    if not square >= 0:
        return (lower + upper) / 2
    root = math.sqrt(square)
    change = right.slope - left.slope + 2 * root
    if change == 0:
        return (lower + upper) / 2
    fraction = (right.slope + root - bend) / change
    return min(max(right.step - (right.step - left.step) * fraction, lower), upper)


def _move_from_ends(step: float, low: float, high: float, *, was_near_end: bool) -> tuple[float, bool]:
    """`step`, moved into the bracket on the second time close to an end; and whether it is close to an end now."""
    lower, upper = min(low, high), max(low, high)
    margin = 0.1 * (upper - lower)
    if min(upper - step, step - lower) >= margin:
        return step, False
    if not was_near_end and lower < step < upper:
        return step, True
    return (upper - margin if abs(step - upper) < abs(step - lower) else lower + margin), False
