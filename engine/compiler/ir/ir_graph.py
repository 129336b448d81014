"""Nodes and values of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from engine.backend import Device
from engine.compiler.instruction import Constant, Scalar
from engine.graph import Place
from engine.ops.record import Op
from engine.tensors.deferred import Form


class PlanUnsupported(Exception):  # noqa: N818 - not an error: the recording runs call by call instead
    """A recording that cannot become a graph, and why."""


@dataclass(eq=False, slots=True)
class IRValue:
    """An array that is computed once and never changes."""

    shape: tuple[int, ...]
    dtype: Any
    device: Device
    producer: IRNode | None = None
    """None for what comes from outside."""
    index: int = 0
    """Which result of its producer it is, or the slot outside."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def is_view(self) -> bool:
        """Whether it is another look at a value."""
        return self.producer is not None and self.producer.op.view

    @property
    def base(self) -> IRValue:
        """What it is a look at, in the end; another value itself."""
        value = self
        while value.producer is not None and value.producer.op.view:
            value = value.producer.values[0]
        return value

    def __str__(self) -> str:
        return f"{self.dtype}[{'×'.join(map(str, self.shape))}]"


IROperand: TypeAlias = IRValue | Scalar | Constant
"""What a node computes with."""


@dataclass(eq=False, slots=True)
class IRNode:
    """One call of an op, without side effects."""

    op: Op
    inputs: list[IROperand]
    statics: Any
    """With `Scalar` in the place of numbers that may change."""
    mixed: bool
    """The inputs must be brought to one dtype, or are not plain floats."""
    where: tuple[Place, ...] = ()
    """The lines that it comes from."""
    again: int = 0
    """What is computed again for a checkpoint is not computed together with the first time, which would keep it."""
    outputs: list[IRValue] = field(default_factory=list)

    @property
    def values(self) -> list[IRValue]:
        """Its inputs that are arrays."""
        return [one for one in self.inputs if isinstance(one, IRValue)]

    @property
    def out(self) -> IRValue:
        """Its only result, or the first."""
        return self.outputs[0]


@dataclass(slots=True)
class IROutput:
    """What a slot of the recording holds at the end: a value, or a view of one."""

    slot: int
    value: IRValue
    form: Form
    """Of the whole value, before `chain`."""
    chain: tuple[tuple[Op, Any], ...] = ()
    """View ops from the value's memory to the slot."""
    external: int | None = None
    """The slot outside whose memory it is, if it is a view of that."""
    root: int = 0
    """Outputs of one root share memory."""


@dataclass(slots=True)
class IRGraph:
    """What a recording computes."""

    inputs: dict[int, IRValue]
    """Slot outside → its value at the beginning."""
    nodes: list[IRNode]
    """In an order in which they can run."""
    outputs: list[IROutput]
    writes: dict[int, IRValue]
    """Slot outside → the value that its memory is to hold at the end."""
    forms: dict[int, Form] = field(default_factory=dict)
    """Slot outside → how its memory is laid out."""

    def results(self) -> Iterator[IRValue]:
        """All values that are needed at the end."""
        yield from self.writes.values()
        yield from (output.value for output in self.outputs if output.external is None)

    def uses(self) -> dict[IRValue, int]:
        """How often each value is used, at the end included."""
        counts: dict[IRValue, int] = {}
        for value in (*[v for node in self.nodes for v in node.values], *self.results()):
            counts[value] = counts.get(value, 0) + 1
        return counts

    def substitute(self, replaced: dict[IRValue, IRValue]) -> None:
        """Puts other values in the place of some, everywhere."""

        def current(value: IRValue) -> IRValue:
            while value in replaced:
                value = replaced[value]
            return value

        for node in self.nodes:
            node.inputs = [current(one) if isinstance(one, IRValue) else one for one in node.inputs]
        for output in self.outputs:
            output.value = current(output.value)
        self.writes = {slot: current(value) for slot, value in self.writes.items()}

    def __str__(self) -> str:
        names: dict[IRValue, str] = {value: f"in{slot}" for slot, value in self.inputs.items()}
        lines = [f"{names[value]}: {value}" for value in self.inputs.values()]
        for node in self.nodes:
            for value in node.outputs:
                names[value] = f"v{len(names)}"
            left = ", ".join(f"{names[value]}: {value}" for value in node.outputs)
            given = ", ".join(_text(one, names) for one in node.inputs)
            extra = "".join(f", {name}={value!r}" for name, value in (node.statics or {}).items())
            lines.append(f"{left} = {node.op.name}({given}{extra})")
        lines += [f"in{slot} <- {names[value]}" for slot, value in self.writes.items()]
        lines += [f"out {names.get(o.value, '?')}" + "".join(f".{op.name}" for op, _ in o.chain) for o in self.outputs]
        return "\n".join(lines)


def _text(one: IROperand, names: dict[IRValue, str]) -> str:
    if isinstance(one, IRValue):
        return names.get(one, "?")
    return f"${one.number}" if isinstance(one, Scalar) else repr(one.value)
