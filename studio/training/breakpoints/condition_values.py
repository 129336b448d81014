"""Evaluates conditions with the values of a step, and says in words what they found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from studio.document.breakpoints.condition import (
    QUANTITIES,
    STATISTICS,
    Arithmetic,
    Call,
    Comparison,
    Condition,
    Expression,
    Logic,
    NanOrigin,
    Number,
    Quantity,
    RecentMedian,
    Statistic,
    ValueTest,
)

_FIGURE_OF = {"grad_norm": "gradient", "update_norm": "update"}
_NORMS = ("norm", "grad_norm", "update_norm")
_WORDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least", "==": "equal to", "!=": "not"}
_TESTS = {
    "NaN": math.isnan,
    "infinite": math.isinf,
    "finite": math.isfinite,
}


class NotMeasured(Exception):  # noqa: N818 - not an error: the condition has no value at this step
    """A value that this step does not have."""


class Statistics(Protocol):
    """Figures of one measured step, by path."""

    @property
    def outputs(self) -> Mapping[str, Mapping[str, float]]: ...

    @property
    def parameters(self) -> Mapping[str, Mapping[str, float]]: ...


@dataclass(frozen=True, slots=True)
class ConditionValues:
    """The values of one step.

    Args:
        quantities: loss, step, epoch and learning_rate
        losses: of the steps before, oldest first
        statistics: of this step; None if it is not measured
        nan: whether a loss, gradient or weight is NaN or infinite; None if not searched
        nan_node: the node where that arose; None if it is not known
    """

    quantities: Mapping[str, float]
    losses: Sequence[float] = ()
    statistics: Statistics | None = None
    nan: bool | None = None
    nan_node: str | None = None

    def holds(self, condition: Condition) -> bool:
        """Whether a condition holds. Raises NotMeasured for a value that this step does not have."""
        match condition:
            case Comparison():
                return _compare(condition.sign, self.number(condition.left), self.number(condition.right))
            case ValueTest():
                return _TESTS[condition.test](self.number(condition.value)) is not condition.negated
            case NanOrigin():
                if self.nan is None:
                    raise NotMeasured
                return self.nan and (condition.node is None or _is_inside(self.nan_node, condition.node))
            case Logic("not"):
                return not self.holds(condition.parts[0])
            case Logic("and"):
                return all(map(self.holds, condition.parts))
            case Logic():
                return any(map(self.holds, condition.parts))

    def number(self, expression: Expression) -> float:
        """The value of an expression. Raises NotMeasured for a value that this step does not have."""
        match expression:
            case Number():
                return expression.value
            case Quantity("grad_norm"):
                return self._total_gradient()
            case Quantity():
                return self.quantities[expression.name]
            case Statistic():
                return self._statistic(expression)
            case RecentMedian():
                recent = self.losses[-expression.steps :]
                if len(recent) < expression.steps:
                    raise NotMeasured
                return median(recent)
            case Call():
                values = [self.number(each) for each in expression.arguments]
                return (
                    abs(values[0])
                    if expression.function == "abs"
                    else (min if expression.function == "min" else max)(values)
                )
            case Arithmetic():
                return _calculate(expression.sign, self.number(expression.left), self.number(expression.right))

    def reason(self, condition: Condition) -> str:
        """Why a condition holds: "gradient norm of fc1 is 1.2e+04, above 1000"."""
        match condition:
            case Comparison():
                left, word = self.number(condition.left), _WORDS[condition.sign]
                limit = format_number(self.number(condition.right))
                if not isinstance(condition.right, Number):
                    limit = f"{describe(condition.right)} ({limit})"
                return f"{describe(condition.left)} is {format_number(left)}, {word} {limit}"
            case ValueTest():
                return f"{describe(condition.value)} is {format_number(self.number(condition.value))}"
            case NanOrigin():
                return (
                    "NaN or infinity arose" if condition.node is None else f"NaN or infinity arose in {condition.node}"
                )
            case Logic("not"):
                return f"not: {self._value_text(condition.parts[0])}"
            case Logic():
                parts = (
                    condition.parts
                    if condition.word == "and"
                    else [each for each in condition.parts if self._known(each)]
                )
                return f" {condition.word} ".join(map(self.reason, parts))

    def _known(self, condition: Condition) -> bool:
        try:
            return self.holds(condition)
        except NotMeasured:
            return False

    def _value_text(self, condition: Condition) -> str:
        match condition:
            case Comparison():
                return f"{describe(condition.left)} is {format_number(self.number(condition.left))}"
            case ValueTest():
                return f"{describe(condition.value)} is {format_number(self.number(condition.value))}"
            case Logic():
                return ", ".join(map(self._value_text, condition.parts))
            case NanOrigin():
                return "all values are finite"

    def _measured(self) -> Statistics:
        if self.statistics is None:
            raise NotMeasured
        return self.statistics

    def _total_gradient(self) -> float:
        found = [each["gradient"] for each in self._measured().parameters.values() if "gradient" in each]
        return _joined_norm(found)

    def _statistic(self, statistic: Statistic) -> float:
        """A figure of a parameter or output, or of all those of a node: norms are joined, others are the largest."""
        measured, figure = self._measured(), _FIGURE_OF.get(statistic.function, statistic.function)
        of_parameters = _selected(measured.parameters, statistic.path, figure)
        found = of_parameters or _selected(measured.outputs, statistic.path, figure)
        if not found:
            raise NotMeasured
        if len(found) > 1 and statistic.function in _NORMS:
            return _joined_norm(found)
        return min(found) if statistic.function == "low" else max(found, key=lambda value: (math.isnan(value), value))


def describe(expression: Expression) -> str:
    """An expression in words, as the start of a sentence: "gradient norm of fc1"."""
    match expression:
        case Number():
            return format_number(expression.value)
        case Quantity():
            return QUANTITIES[expression.name]
        case Statistic():
            return f"{STATISTICS[expression.function]} of {expression.path}"
        case RecentMedian():
            return f"the median loss of {expression.steps} steps"
        case Call():
            return f"{expression.function}({', '.join(map(describe, expression.arguments))})"
        case Arithmetic():
            return f"{_operand(expression.left)} {expression.sign} {_operand(expression.right)}"


def format_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("infinite" if value > 0 else "negatively infinite") if math.isinf(value) else f"{value:.4g}"


def _operand(expression: Expression) -> str:
    return f"({describe(expression)})" if isinstance(expression, Arithmetic) else describe(expression)


def _selected(figures: Mapping[str, Mapping[str, float]], path: str, figure: str) -> list[float]:
    """A figure of the tensor at a path, or of all below it."""
    if path in figures:
        return [figures[path][figure]] if figure in figures[path] else []
    inside = f"{path}."
    return [each[figure] for key, each in figures.items() if key.startswith(inside) and figure in each]


def _joined_norm(norms: Sequence[float]) -> float:
    if not norms:
        raise NotMeasured
    return (
        math.hypot(*norms) if all(map(math.isfinite, norms)) else math.nan if any(map(math.isnan, norms)) else math.inf
    )


def _compare(sign: str, left: float, right: float) -> bool:
    match sign:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "==":
            return left == right
        case _:
            return left != right


def _calculate(sign: str, left: float, right: float) -> float:
    try:
        match sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case _:
                return (
                    left / right
                    if right
                    else math.copysign(math.inf, left * right)
                    if left and left == left
                    else math.nan
                )
    except OverflowError:
        return math.inf


def _is_inside(path: str | None, node: str) -> bool:
    """Whether a path is a node or inside an instance."""
    return path is not None and (path == node or path.startswith(f"{node}."))


__all__ = ["ConditionValues", "NotMeasured", "Statistics", "describe", "format_number"]
