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
    position = 0  # index of the end with the lower loss; the order affects rounding in the interpolation
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
    """Minimizer of the cubic through two points and their slopes, clamped to `bounds` (default: the two points)."""
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
    """`step`, moved into the bracket on the second time close to an end; and whether it is close to an end now."""
    least, most = min(low, high), max(low, high)
    margin = 0.1 * (most - least)
    if min(most - step, step - least) >= margin:
        return step, False
    if not stuck and least < step < most:
        return step, True
    return (most - margin if abs(step - most) < abs(step - least) else least + margin), False
