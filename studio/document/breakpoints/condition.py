"""Conditions at which a training pauses, as a tree: parsed, and never run as Python.

loss is NaN
NaN anywhere
NaN in encoder.0.attention
grad_norm(fc1) / norm(fc1) > 0.1
conv1.output.std > 10 and loss > 2
loss > 10 * median(loss, 20)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

QUANTITIES = {
    "loss": "loss",
    "step": "step",
    "epoch": "epoch",
    "learning_rate": "learning rate",
    "grad_norm": "gradient norm",
}
"""Quantities of a step, with their names in messages."""
STATISTICS = {
    "grad_norm": "gradient norm",
    "norm": "norm",
    "update_norm": "update norm",
    "mean": "mean",
    "std": "standard deviation",
    "low": "lowest value",
    "high": "highest value",
    "zeros": "share of zeros",
    "dead": "share of dead units",
    "nan": "number of NaN values",
    "infinite": "number of infinite values",
}
"""Functions of a node, an output or a parameter, with their names in messages."""
FIGURES = {"gradient": "grad_norm", "update": "update_norm"}
"""Names of figures in the statistics that differ from those of the functions."""
NUMERIC = {"abs": 1, "min": 2, "max": 2}
"""Functions of numbers, and their number of arguments."""
MEDIAN = "median"
Test: TypeAlias = Literal["NaN", "infinite", "finite"]


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of the step, such as the loss."""

    name: str


@dataclass(frozen=True, slots=True)
class Statistic:
    """A figure of a node, an output or a parameter."""

    function: str
    path: str


@dataclass(frozen=True, slots=True)
class RecentMedian:
    """The median of the losses of the steps before."""

    steps: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function of numbers."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison:
    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class ValueTest:
    """`loss is NaN`, `grad_norm is not finite`."""

    value: Expression
    test: Test
    negated: bool = False


@dataclass(frozen=True, slots=True)
class NanOrigin:
    """`NaN anywhere`: a loss, gradient or weight is NaN or infinite; `NaN in fc1`: and it arose there."""

    node: str | None


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` of conditions, or `not` of one."""

    word: Literal["and", "or", "not"]
    parts: tuple[Condition, ...]


Expression: TypeAlias = Number | Quantity | Statistic | RecentMedian | Call | Arithmetic
Condition: TypeAlias = Comparison | ValueTest | NanOrigin | Logic
Part: TypeAlias = Expression | Condition


def parts_of(part: Part) -> Iterator[Part]:
    """A condition or expression, and all inside it."""
    yield part
    match part:
        case Call():
            inner: tuple[Part, ...] = part.arguments
        case Arithmetic() | Comparison():
            inner = (part.left, part.right)
        case ValueTest():
            inner = (part.value,)
        case Logic():
            inner = part.parts
        case _:
            inner = ()
    for each in inner:
        yield from parts_of(each)


def needs_statistics(condition: Condition) -> bool:
    """Whether statistics of the step must be measured."""
    return any(
        isinstance(part, Statistic) or (isinstance(part, Quantity) and part.name == "grad_norm")
        for part in parts_of(condition)
    )


def needs_nan_check(condition: Condition) -> bool:
    """Whether the weights must be searched for NaN after each step."""
    return any(isinstance(part, NanOrigin) for part in parts_of(condition))


def paths_in(condition: Condition) -> list[str]:
    """The nodes, outputs and parameters that a condition names."""
    found = [
        part.path if isinstance(part, Statistic) else part.node
        for part in parts_of(condition)
        if isinstance(part, Statistic | NanOrigin)
    ]
    return list(dict.fromkeys(path for path in found if path))
