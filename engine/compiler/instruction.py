"""Traces: ops with numbered arrays, stored in a trie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.backend import Device
from engine.compiler.break_reasons import BreakReason
from engine.graph import SourceLocation
from engine.modes import MODES
from engine.ops.record import Op
from engine.random.philox import State
from engine.tensors.deferred import Form


class Slot(NamedTuple):
    """An operand that is an array of the trace."""

    number: int


class Scalar(NamedTuple):
    """An operand that varies between calls: a float or a random state."""

    number: int
    """Index among the scalars of a trace."""


class Constant(NamedTuple):
    """An operand that is part of the trace: an integer, a bool or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Instruction:
    """One traced op."""

    op: Op
    inputs: tuple[Slot | Scalar | Constant, ...]
    statics: Any
    """Static arguments, with `Scalar` for numbers that vary between calls."""
    outputs: tuple[int, ...]
    """Slots of the results; for an in-place write, the slot that is written."""
    forms: tuple[Form, ...]
    views: bool
    """Whether the result shares memory with the first input."""
    in_place: bool
    mixed: bool
    """Whether inputs need dtype promotion, or are not native floats."""
    device: Device
    where: SourceLocation
    """The line that called it; in a backward pass, the line of the forward op."""
    backward: bool = False
    recomputation: int = field(default_factory=lambda: MODES.recomputation)
    """Number of the checkpoint recomputation that it belongs to; 0 for none."""

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
    """An input array of the trace: its layout, and the earlier input that it shares memory with."""

    slot: int
    form: Form
    device: Device
    shares_with: int | None = None


class UnhashableArgument(Exception):  # noqa: N818 - not an error: the op runs eagerly instead
    """An argument cannot be part of a key, because it is not hashable."""


FLOAT, STATE = "float", "state"
"""Placeholders in keys for numbers that vary between calls."""


def freeze(value: Any, scalars: list[Any]) -> Any:
    """The part of a key for `value`; numbers that vary between calls go to `scalars`. Raises UnhashableArgument."""
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
    """A key that is equal only for equal values. Raises UnhashableArgument."""
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
    """`value` with `Scalar` in place of numbers that `freeze` removed; `counter[0]` numbers them in the same order."""
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
    """The value of an operand in this run. `arrays` are indexed by slot number, or by value of a graph."""
    kind = type(one)
    if kind is Scalar:
        return scalars[one.number]
    if kind is Constant:
        return one.value
    return arrays[one.number if kind is Slot else one]


def fill_template(value: Any, scalars: Any) -> Any:
    """A template of `make_template` with the scalars of this run."""
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
    """A node in the trie of traces: the op that leads to it, and the ops that may follow."""

    __slots__ = ("children", "depth", "externals", "instruction", "outs", "parent", "plans", "runs", "single")

    def __init__(
        self, parent: TraceNode | None, instruction: Instruction | None, externals: tuple[ExternalInput, ...]
    ) -> None:
        self.parent = parent
        self.instruction = instruction
        self.externals = externals
        """Arrays that this op uses as new inputs."""
        self.children: dict[Any, TraceNode | BreakReason] = {}
        """Following nodes by key, or the reason why an op cannot be traced."""
        self.plans: dict[tuple[int, ...], Any] = {}
        """Requested slots at the end → executor."""
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.runs = 0
        """Number of traces that ended here."""
        self.outs: tuple[tuple[int, Form], ...] = ()
        if instruction is not None and not instruction.in_place:
            self.outs = tuple(zip(instruction.outputs, instruction.forms, strict=True))
        self.single: tuple[int, Form, Device] | None = None
        """Slot, layout and device of the result, if it is the only one and not a view."""
        if instruction is not None and len(self.outs) == 1 and not instruction.views:
            self.single = (*self.outs[0], instruction.device)

    @property
    def call(self) -> Instruction:
        """The op that leads here; not for the root."""
        if self.instruction is None:
            raise LookupError("no instruction leads to the root")
        return self.instruction

    def path(self) -> list[TraceNode]:
        """The nodes from the first op to this one."""
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
