"""What a recording is made of: calls of ops on numbered arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.backend import Device
from engine.compiler.break_reasons import BreakReason
from engine.graph import Place
from engine.modes import MODES
from engine.ops.record import Op
from engine.random.philox import State
from engine.tensors.deferred import Form


class Slot(NamedTuple):
    """An input that is an array of the recording."""

    number: int


class Scalar(NamedTuple):
    """A number that may be another one each time: a float, or where a generator is."""

    number: int
    """Where it stands among the scalars of a recording."""


class Constant(NamedTuple):
    """An input that is part of the recording: a whole number, a bool, or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Instruction:
    """One recorded call of an op."""

    op: Op
    inputs: tuple[Slot | Scalar | Constant, ...]
    statics: Any
    """The static arguments, with `Scalar` in the place of numbers that may change."""
    outputs: tuple[int, ...]
    """Slots of the results; for a write in place, the slot written to."""
    forms: tuple[Form, ...]
    views: bool
    """The result shares memory with the first input."""
    in_place: bool
    mixed: bool
    """The inputs must be brought to one dtype, or are not plain floats."""
    device: Device
    where: Place
    """The line that called it; in a backward pass, the line whose gradient it is about."""
    backward: bool = False
    again: int = field(default_factory=lambda: MODES.again)
    """The number of the second run of a checkpointed function that it is part of; 0 if of none."""

    def __str__(self) -> str:
        inputs = ", ".join(_text(one) for one in self.inputs)
        extra = "".join(f", {name}={value!r}" for name, value in (self.statics or {}).items())
        outs = ", ".join(f"%{slot}" for slot in self.outputs)
        return f"{outs} {'<-' if self.in_place else '='} {self.op.name}({inputs}{extra})"


def _text(one: Slot | Scalar | Constant) -> str:
    if isinstance(one, Slot):
        return f"%{one.number}"
    return f"${one.number}" if isinstance(one, Scalar) else repr(one.value)


@dataclass(frozen=True, slots=True)
class ExternalInput:
    """An array that the recording found outside: its form, and with which earlier one it shares memory."""

    slot: int
    form: Form
    device: Device
    shares_with: int | None = None


class UnhashableArgument(Exception):  # noqa: N818 - not an error but a finding
    """An argument by which a recording cannot be found again."""


FLOAT, STATE = "float", "state"
"""What stands in a key for a number that may change."""


def freeze(value: Any, scalars: list[Any]) -> Any:
    """`value` as part of a key; numbers that may change go to `scalars`. Raises Unhashable."""
    kind = type(value)
    if kind is float:
        scalars.append(value)
        return FLOAT
    if kind is State:
        scalars.append(value)
        return STATE
    if kind is tuple or kind is list:
        return (kind, *[freeze(item, scalars) for item in value])
    if kind is slice:
        return slice, value.start, value.stop, value.step
    if kind is dict:
        return (dict, *[(name, freeze(item, scalars)) for name, item in value.items()])
    if kind is bool or kind is int:
        return kind, value
    try:
        hash(value)
    except TypeError:
        raise UnhashableArgument(kind.__name__) from None
    return value


def exact_key(value: Any) -> Any:
    """`value` as a part of a key by which only equal values are found. Raises Unhashable."""
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind, *map(exact_key, value))
    if kind is slice:
        return slice, exact_key((value.start, value.stop, value.step))
    if kind is dict:
        return (dict, *[(name, exact_key(item)) for name, item in value.items()])
    if kind is float:  # 0.0 and -0.0 are equal, NaN is not
        return kind, value.hex()
    try:
        hash(value)
    except TypeError:
        raise UnhashableArgument(kind.__name__) from None
    return kind, value


def make_template(value: Any, counter: list[int]) -> Any:
    """`value` with `Scalar` where `frozen` took a number out; `counter[0]` counts them in the same order."""
    kind = type(value)
    if kind is float or kind is State:
        counter[0] += 1
        return Scalar(counter[0] - 1)
    if kind is tuple or kind is list:
        return kind(make_template(item, counter) for item in value)
    if kind is dict:
        return {name: make_template(item, counter) for name, item in value.items()}
    return value


def resolve_operand(one: Any, arrays: Mapping[Any, Any], scalars: Any) -> Any:
    """What an input of a call stands for in this run. `arrays` are by the numbers of slots, or by values of a graph."""
    kind = type(one)
    if kind is Scalar:
        return scalars[one.number]
    if kind is Constant:
        return one.value
    return arrays[one.number if kind is Slot else one]


def fill_template(value: Any, scalars: Any) -> Any:
    """What `template` was made of, with these scalars."""
    kind = type(value)
    if kind is Scalar:
        return scalars[value.number]
    if kind is tuple or kind is list:
        return kind(fill_template(item, scalars) for item in value)
    if kind is dict:
        return {name: fill_template(item, scalars) for name, item in value.items()}
    return value


def has_scalars(value: Any) -> bool:
    kind = type(value)
    if kind is Scalar:
        return True
    if kind is dict:
        return any(map(has_scalars, value.values()))
    return kind in (tuple, list) and any(map(has_scalars, value))


class TraceNode:
    """A place among the known recordings: the one instruction that leads here, and what may follow."""

    __slots__ = ("children", "depth", "externals", "instruction", "outs", "parent", "plans", "runs", "single")

    def __init__(
        self, parent: TraceNode | None, instruction: Instruction | None, externals: tuple[ExternalInput, ...]
    ) -> None:
        self.parent = parent
        self.instruction = instruction
        self.externals = externals
        """What the instruction found outside for the first time."""
        self.children: dict[Any, TraceNode | BreakReason] = {}
        """What may follow, by its key; or why that cannot be recorded."""
        self.plans: dict[tuple[int, ...], Any] = {}
        """Slots that are wanted at the end → how to compute them."""
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.runs = 0
        """How often a recording ended here."""
        self.outs: tuple[tuple[int, Form], ...] = ()
        if instruction is not None and not instruction.in_place:
            self.outs = tuple(zip(instruction.outputs, instruction.forms, strict=True))
        self.single: tuple[int, Form, Device] | None = None
        """Slot, form and device of the result, if there is one alone, in memory of its own."""
        if instruction is not None and len(self.outs) == 1 and not instruction.views:
            self.single = (*self.outs[0], instruction.device)

    @property
    def call(self) -> Instruction:
        """The instruction that leads here, of any place but the first."""
        if self.instruction is None:
            raise LookupError("no instruction leads to the root")
        return self.instruction

    def path(self) -> list[TraceNode]:
        """The places from the first instruction to here."""
        found, node = [], self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


__all__ = [
    "FLOAT",
    "Constant",
    "ExternalInput",
    "Instruction",
    "Scalar",
    "Slot",
    "TraceNode",
    "UnhashableArgument",
    "exact_key",
    "fill_template",
    "freeze",
    "has_scalars",
    "make_template",
    "resolve_operand",
]
