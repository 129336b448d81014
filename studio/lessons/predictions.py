"""Compare a prediction, which was stored before the run, with what was measured. A wrong one never blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from studio.document.model import Json
from studio.lessons.evaluation.run_checks import figure_of
from studio.lessons.evaluation.value_checks import measured_value
from studio.lessons.graph_view import GraphView
from studio.lessons.lesson import COURSES, Choice, Course, Curve, Number, Prediction
from studio.lessons.situation import Situation

_FLAT = 0.05
"""Relative change of a curve below which it stays flat."""
_TURN = 0.10
"""Relative rise after the minimum, of the whole fall, from which a curve falls, then rises."""
_SHARE_OF_TURNS = 0.6
"""Share of points at which an oscillating curve changes its direction."""
_NEAR = 0.15
"""Mean distance of a drawn curve from the measured one, as a share of its height, that counts as close."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A prediction beside the measurement."""

    agrees: bool | None
    """None if the measurement is missing, or if the lesson has no right answer."""
    predicted: str
    measured: str
    """Empty while nothing was measured."""
    is_given: bool = False
    """Whether the author gave the right answer, so that nothing was measured."""

    @property
    def text(self) -> str:
        """One or two sentences for the learner."""
        if not self.measured:
            return f"Your prediction: {self.predicted}."
        verdict = "" if self.agrees is None else "As you predicted. " if self.agrees else "Not as you predicted. "
        label = "Answer" if self.is_given else "Measured"
        return f"{verdict}Your prediction: {self.predicted}. {label}: {self.measured}."


def is_answer(prediction: Prediction, answer: Json) -> bool:
    """Whether a value is a valid answer."""
    match prediction:
        case Choice():
            return isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(prediction.options)
        case Number():
            return isinstance(answer, (int, float)) and not isinstance(answer, bool) and math.isfinite(answer)
        case Curve():
            return answer in COURSES or _is_drawing(answer)


def compare(prediction: Prediction, answer: Json, situation: Situation) -> Comparison:
    """Compare an answer with the situation after the run. `answer` must be valid."""
    match prediction:
        case Choice():
            return _choice(prediction, cast("int", answer))
        case Number():
            return _number(prediction, cast("float", answer), situation)
        case Curve():
            return _curve(prediction, answer, situation)


def course_of(values: Sequence[float]) -> Course | None:
    """The course of a curve; None for fewer than two values."""
    if any(not math.isfinite(value) for value in values):
        return "diverges"
    if len(values) < 2:
        return None
    first, last, low, high = values[0], values[-1], min(values), max(values)
    if high - low <= _FLAT * max(abs(high), abs(low)):
        return "stays flat"
    steps = [after - before for before, after in pairwise(values)]
    turns = sum(a * b < 0 for a, b in pairwise(steps))
    travelled = sum(map(abs, steps))
    if len(steps) > 3 and turns >= _SHARE_OF_TURNS * (len(steps) - 1) and travelled > 3 * abs(last - first):
        return "oscillates"
    if last >= 10 * max(first, 1e-12):
        return "diverges"
    if first - low > _FLAT * (high - low) and last - low > _TURN * max(first - low, 0.0) and last > low:
        return "falls, then rises"
    return "falls" if last < first else "rises"


def _choice(prediction: Choice, answer: int) -> Comparison:
    predicted = prediction.options[answer]
    if prediction.right is None:
        return Comparison(None, predicted, "")
    return Comparison(answer == prediction.right, predicted, prediction.options[prediction.right], is_given=True)


def _number(prediction: Number, answer: float, situation: Situation) -> Comparison:
    measured = _measured(prediction, situation)
    if measured is None:
        return Comparison(None, f"{answer:,.6g}", "")
    agrees = abs(answer - measured) <= prediction.tolerance + 1e-9 * abs(measured)
    is_given = prediction.right is not None
    return Comparison(agrees, f"{answer:,.6g}", f"{measured:,.6g}", is_given)


def _measured(prediction: Number, situation: Situation) -> float | None:
    if prediction.right is not None:
        return prediction.right
    if prediction.figure and situation.last_run is not None:
        return figure_of(situation.last_run, prediction.figure, prediction.which)
    if prediction.output is None:
        return None
    for end in GraphView(situation.report).ports(prediction.output):
        if (value := measured_value(situation, end, prediction.statistic)) is not None:
            return value
    return None


def _curve(prediction: Curve, answer: Json, situation: Situation) -> Comparison:
    run = situation.last_run
    values = () if run is None else run.figures.get(prediction.figure, ())
    course = course_of(values)
    if isinstance(answer, str):
        return Comparison(None if course is None else answer == course, answer, course or "")
    drawn = cast("list[Any]", answer)
    predicted = course_of(drawn) or "a drawn curve"
    if course is None:
        return Comparison(None, predicted, "")
    return Comparison(_distance(drawn, values) <= _NEAR, predicted, course)


def _is_drawing(answer: Json) -> bool:
    if not isinstance(answer, list) or not 2 <= len(answer) <= 1000:
        return False
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1 for value in answer)


def _distance(drawn: Sequence[float], values: Sequence[float]) -> float:
    """Mean distance of two curves, both scaled to heights from 0 to 1."""
    if any(not math.isfinite(value) for value in values):
        return 1.0
    a, b = _scaled(drawn), _scaled(values)
    count = 64
    return sum(abs(_at(a, i / (count - 1)) - _at(b, i / (count - 1))) for i in range(count)) / count


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


def _at(values: Sequence[float], x: float) -> float:
    """The value at a share of the length, interpolated."""
    place = x * (len(values) - 1)
    index = min(int(place), len(values) - 2) if len(values) > 1 else 0
    following = values[min(index + 1, len(values) - 1)]
    return values[index] + (following - values[index]) * (place - index)


__all__ = ["Comparison", "compare", "course_of", "is_answer"]
