"""The trace of a model: its ops in order, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from engine.graph import SourceLocation
from engine.shape import Dim, Spec


@dataclass(eq=False, slots=True)
class TracedValue:
    """A tensor of the trace: an input, a weight, a constant or the result of an op."""

    spec: Spec
    producer: TracedOp | None = None
    index: int = 0
    """Which result of the producer it is."""
    name: str = ""
    """Name of an input or weight."""
    array: np.ndarray[Any, Any] | None = None
    """Numbers of a weight or constant."""


Operand: TypeAlias = TracedValue | bool | int | float | Dim | None


@dataclass(eq=False, slots=True)
class TracedOp:
    """A call of an op or, with `layer`, of a module that one ONNX op computes."""

    name: str
    inputs: tuple[Operand, ...]
    statics: Mapping[str, Any]
    node: str = ""
    """Path of the module, or name of the canvas node, that called the op."""
    where: SourceLocation = None
    layer: Any = None
    outputs: tuple[TracedValue, ...] = field(default=())
    composed: tuple[TracedValue, ...] = ()
    """For a layer, the outputs as its ops compute them."""

    @property
    def operands(self) -> Iterator[TracedValue]:
        return (each for each in self.inputs if isinstance(each, TracedValue))


@dataclass(frozen=True, eq=False, slots=True)
class RandomInput:
    """Random numbers that a model draws. A file takes them as an input, since runtimes draw others."""

    value: TracedValue
    distribution: str
    first: Any
    second: Any
    """Parameters of the distribution, as in `engine.random`."""


@dataclass(slots=True)
class TracedGraph:
    """Inputs, outputs and ops of a model."""

    inputs: tuple[TracedValue, ...]
    outputs: tuple[TracedValue, ...]
    ops: tuple[TracedOp, ...]
    random_inputs: tuple[RandomInput, ...] = ()


def needed_ops(ops: list[TracedOp], outputs: tuple[TracedValue, ...]) -> tuple[TracedOp, ...]:
    """The ops that the outputs depend on, in order."""
    needed: set[int] = set()
    waiting = [value.producer for value in outputs]
    while waiting:
        op = waiting.pop()
        if op is not None and id(op) not in needed:
            needed.add(id(op))
            waiting += [value.producer for value in op.operands]
    return tuple(op for op in ops if id(op) in needed)


__all__ = ["Operand", "RandomInput", "TracedGraph", "TracedOp", "TracedValue", "needed_ops"]
