"""The intermediate representation: nodes and values of a graph without side effects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from engine.backend import Device
from engine.compiler.instruction import Constant, Scalar
from engine.graph import SourceLocation
from engine.ops.record import Op
from engine.tensors.deferred import Form


class PlanUnsupported(Exception):  # noqa: N818 - not an error: the trace runs op by op instead
    """The reason why a trace cannot run by a plan."""


@dataclass(eq=False, slots=True)
class IRValue:
    """An array that is computed once and never changes."""

    shape: tuple[int, ...]
    dtype: Any
    device: Device
    producer: IRNode | None = None
    """The node that computes it; None for an input."""
    index: int = 0
    """Index among the results of its producer, or input slot."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def is_view(self) -> bool:
        """Whether a view op computes it."""
        return self.producer is not None and self.producer.op.view

    @property
    def base(self) -> IRValue:
        """The value that a chain of views starts from; otherwise the value itself."""
        value = self
        while value.producer is not None and value.producer.op.view:
            value = value.producer.values[0]
        return value

    def __str__(self) -> str:
        return f"{self.dtype}[{'×'.join(map(str, self.shape))}]"


IROperand: TypeAlias = IRValue | Scalar | Constant
"""An operand of a node."""


@dataclass(eq=False, slots=True)
class IRNode:
    """One call of an op, without side effects."""

    op: Op
    inputs: list[IROperand]
    statics: Any
    """Static arguments, with `Scalar` for numbers that vary between calls."""
    mixed: bool
    """Whether inputs need dtype promotion, or are not native floats."""
    where: tuple[SourceLocation, ...] = ()
    """Source lines."""
    recomputation: int = 0
    """Number of the checkpoint recomputation that it belongs to. It is not merged with the first computation."""
    backward: bool = False
    """Whether it belongs to a backward pass."""
    outputs: list[IRValue] = field(default_factory=list)

    @property
    def values(self) -> list[IRValue]:
        """The inputs that are arrays."""
        return [one for one in self.inputs if isinstance(one, IRValue)]

    @property
    def out(self) -> IRValue:
        """The first result."""
        return self.outputs[0]


@dataclass(slots=True)
class IROutput:
    """The content of a slot at the end: a value or a view of one."""

    slot: int
    value: IRValue
    form: Form
    """Layout of the whole value, before `chain`."""
    chain: tuple[tuple[Op, Any], ...] = ()
    """View ops from the value to the slot."""
    external: int | None = None
    """Input slot whose memory it shares, if it does."""
    root: int = 0
    """Outputs with one root share memory."""


@dataclass(slots=True)
class IRGraph:
    """The computation of a trace."""

    inputs: dict[int, IRValue]
    """Input slot → its initial value."""
    nodes: list[IRNode]
    """Nodes in a valid order of execution."""
    outputs: list[IROutput]
    writes: dict[int, IRValue]
    """Input slot → the value that is written to its memory at the end."""
    forms: dict[int, Form] = field(default_factory=dict)
    """Input slot → its memory layout."""

    def results(self) -> Iterator[IRValue]:
        """All values that are needed at the end."""
        yield from self.writes.values()
        yield from (output.value for output in self.outputs if output.external is None)

    def uses(self) -> dict[IRValue, int]:
        """Number of uses of each value, including those at the end."""
        counts: dict[IRValue, int] = {}
        for value in (*[v for node in self.nodes for v in node.values], *self.results()):
            counts[value] = counts.get(value, 0) + 1
        return counts

    def substitute(self, replaced: dict[IRValue, IRValue]) -> None:
        """Replaces values everywhere."""

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
            results = ", ".join(f"{names[value]}: {value}" for value in node.outputs)
            inputs = ", ".join(_text(one, names) for one in node.inputs)
            extra = "".join(f", {name}={value!r}" for name, value in (node.statics or {}).items())
            lines.append(f"{results} = {node.op.name}({inputs}{extra})")
        lines += [f"in{slot} <- {names[value]}" for slot, value in self.writes.items()]
        lines += [f"out {names.get(o.value, '?')}" + "".join(f".{op.name}" for op, _ in o.chain) for o in self.outputs]
        return "\n".join(lines)


def _text(one: IROperand, names: dict[IRValue, str]) -> str:
    if isinstance(one, IRValue):
        return names.get(one, "?")
    return f"${one.number}" if isinstance(one, Scalar) else repr(one.value)
