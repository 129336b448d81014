"""What the legend says about the steps whose figures color the canvas."""

from __future__ import annotations

from studio.training.statistics.canvas_figures import CanvasFigure
from studio.training.statistics.step_statistics import StepStatistics
from studio.ui.project.shown_moment import Moment

GRADIENTS = frozenset({"gradient", "parameter-gradient"})
"""Figures that are measured less often than the others."""


def has_same_gradients(moment: Moment, base: Moment) -> bool:
    """Whether two steps of a run show gradients that were measured at one and the same step."""
    steps = [each.statistics.gradient_step for each in (moment, base) if each.statistics is not None]
    return moment.run is base.run and moment.step != base.step and len(steps) == 2 and steps[0] == steps[1] is not None


def gradients_of(figure: CanvasFigure, statistics: StepStatistics | None) -> str:
    """The step of the gradients, which are measured less often than other figures."""
    if figure.key not in GRADIENTS or statistics is None or statistics.gradient_step in (None, statistics.step):
        return ""
    return f", gradients of step {statistics.gradient_step:,}"


def why_nothing(moment: Moment | None) -> str:
    """Why there are no statistics of a step."""
    if moment is None:
        return "Start a run to measure this"
    if moment.problem:
        return moment.problem
    if moment.run.is_live and not moment.step:
        return "Waiting for the first measured step"
    return f"{moment.title} was not measured"


__all__ = ["GRADIENTS", "gradients_of", "has_same_gradients", "why_nothing"]
