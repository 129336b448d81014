"""Positions of the steps of a run along the axes of its curves."""

from __future__ import annotations

import numpy as np

from studio.training.runs.curves import Axis
from studio.training.runs.run_history import Curve, Run


def position_of(run: Run, step: int, axis: Axis) -> float | None:
    """Where a step of a run is on an axis; None without curves. Between points, times are interpolated."""
    if axis == "step":
        return float(step)
    curve = _curve(run)
    if curve is None:
        return None
    if axis == "epoch":
        return step / curve.unit(axis)
    return float(np.interp(step, curve.positions("step"), curve.positions(axis)))


def step_at(run: Run, position: float, axis: Axis) -> int | None:
    """The step of a run at a position on an axis, from 0 to the last step; None without curves."""
    curve = _curve(run)
    if curve is None:
        return None
    steps = curve.positions("step")
    if axis == "seconds":
        found = float(np.interp(position, curve.positions(axis), steps))
    else:
        found = position * curve.unit(axis)
    return round(min(max(found, 0.0), max(float(steps[-1]), run.step)))


def _curve(run: Run) -> Curve | None:
    """The training curve with the most points."""
    curves = (run.curve(quantity, "train") for quantity in run.quantities)
    return max((curve for curve in curves if curve is not None and len(curve)), key=len, default=None)


__all__ = ["position_of", "step_at"]
