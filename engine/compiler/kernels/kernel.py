"""Kernels: a fused group, its source, and how it is called."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.graph import Node, Value
from engine.compiler.instruction import Scalar
from engine.compiler.kernels.cache import Module, load
from engine.compiler.kernels.cpu import Writer
from engine.compiler.kernels.expression import Unlowered, walk
from engine.compiler.kernels.fused import Fused
from engine.compiler.kernels.layout import Along, Layout, Strides, arrange, contiguous
from engine.compiler.kernels.parts import Shares
from engine.compiler.kernels.program import Placed, program_of
from engine.compiler.kernels.schedule import scheduled
from engine.compiler.kernels.stand_in import StandIn
from engine.compiler.kernels.team import call

MOST_SOURCES = 1024
LANES = 64
"""Elements of which a part has a multiple."""
_SOURCES: dict[Any, tuple[str, Shares]] = {}


class Kernel:
    """What computes a fused group. It serves all sizes for which the arrays are gone through in the same way.

    Raises:
        Unlowered: when it is made
    """

    def __init__(self, fused: Fused, strides: Sequence[Strides | None] | None = None) -> None:
        self.fused = fused
        self.name = str(fused)
        self.program = program_of(fused)
        self.schedule = scheduled(self.program)
        for output, source in fused.in_place:
            self.schedule.check_written_over(output, source)
        values = [*fused.inputs, *fused.outputs]
        chosen = [contiguous(value.shape) for value in values]
        for place, given in enumerate(strides or ()):
            chosen[place] = chosen[place] if given is None else given
        self.inputs = self.schedule.inputs
        layout, told = self._arranged(chosen)
        self.source, shares = self._source(layout)
        self._module: Module = load(self.source, self.name)
        self._told = np.array(told, np.int64)
        self._call = self._shared(shares, layout)
        self._address = self._call.ctypes.data
        self._layout = layout
        replaced = {output for output, _ in fused.in_place}
        self._returned = [place for place in range(len(fused.outputs)) if place not in replaced]

    def _arranged(self, strides: Sequence[Strides]) -> tuple[Layout, list[int]]:
        accesses = [_along(strides[one.value[0]], one.value[1]) for one in self.inputs]
        first = len(self.program.inputs)
        accesses += [
            _along(strides[first + place], placed.axes) for place, (placed, _) in enumerate(self.program.outputs)
        ]
        return arrange(self.program.space, self.schedule.inner, self.schedule.outer, accesses, self._indexed())

    def _shared(self, shares: Shares, layout: Layout) -> np.ndarray[Any, Any]:
        """Into how many parts it is divided, told as a call's numbers."""
        sizes, rest = self._told[: len(layout.loops)].tolist(), self._told.ctypes.data
        if shares.things == "all":
            return call(1, 0, rest=rest)
        work = shares.work * math.prod(self.program.space)
        if shares.things == "rows":
            return call(sizes[0], work, rest=rest)
        if shares.things == "elements":  # a part begins where a vector does
            return call(sizes[0], work, rest=rest, together=LANES if len(sizes) == 1 else 1)
        rows = math.prod(size for size, loop in zip(sizes, layout.loops, strict=True) if not loop.inner)
        return call(-(-rows // self.schedule.order.chunk), work if shares.things == "chunks" else 0, rest=rest)

    def _source(self, layout: Layout) -> tuple[str, Shares]:
        """The same for all kernels of one structure, which are many in a network: it is written once."""
        key = self.name, self.schedule, layout, self.fused.in_place, self.program.dtypes, len(self.program.scalars)
        found = _SOURCES.get(key)
        if found is None:
            accesses: dict[int, int] = {id(one): place for place, one in enumerate(self.inputs)}
            accesses.update({-1 - place: len(self.inputs) + place for place in range(len(self.program.outputs))})
            writer = Writer(self.program, self.schedule, layout, accesses, dict(self.fused.in_place))
            if len(_SOURCES) >= MOST_SOURCES:
                _SOURCES.clear()
            source = writer.source(self.name)
            found = _SOURCES[key] = source, writer.shares
        return found

    def _indexed(self) -> frozenset[int]:
        """Axes whose index is computed with."""
        found = walk(store.expression for store in self.schedule.stores)
        return frozenset(one.value for one in found if one.name == "index")

    @property
    def outputs_forms(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and dtype of each output."""
        return [(value.shape, value.dtype) for value in self.fused.outputs]

    @property
    def ready(self) -> bool:
        """Whether it is compiled. It never is where `failure` says why."""
        return self._module.ready

    @property
    def failure(self) -> str | None:
        """Why it could not be compiled."""
        return None if self._module.error is None else str(self._module.error)

    def wait(self) -> None:
        """Returns once it is compiled. Raises Unlowered if that fails."""
        self._module.wait()

    def bind(self) -> Callable[..., None]:
        """What computes: called with the ids of all input arrays, the numbers, and the ids of the outputs.

        Outputs that are written over inputs are left out. The arrays must have the shapes and strides of this kernel
        and stay alive during the call, which releases the interpreter lock. The kernel itself must stay alive, too.
        """
        self._module.wait()
        return functools.partial(self._module.function, self._address)

    def __call__(self, inputs: Sequence[Any], scalars: Sequence[float], outputs: Sequence[Any]) -> None:
        """Computes into `outputs`. The arrays must have the shapes and strides that this kernel was made for."""
        if len(self._returned) != len(outputs):
            outputs = [outputs[place] for place in self._returned]
        module = self._module
        function = module.function if module.function is not None else module.waited()
        function(self._address, *map(id, inputs), *scalars, *map(id, outputs))

    @functools.cached_property
    def stand_in(self) -> StandIn:
        """What computes the same numbers without being compiled, called with arrays, those written over included."""
        return StandIn(self.program, self.schedule, written_over=bool(self.fused.in_place))

    @property
    def entry(self) -> tuple[Callable[..., None], int]:
        """The compiled function and its first argument; see `bind` for the others."""
        self._module.wait()
        return self._module.function, self._address


def _along(strides: Strides, axes: Sequence[int | None]) -> Along:
    return {axis: step for axis, step in zip(axes, strides, strict=True) if axis is not None}


def lowers(node: Node) -> bool:
    """Whether a node can be part of a kernel, on its own or with others."""
    return reason(node) is None


def reason(node: Node) -> str | None:
    """Why a node cannot be part of a kernel."""
    inputs = tuple(dict.fromkeys(node.values))
    shapes = [value.shape for value in (*inputs, *node.outputs)]
    try:
        shape = np.broadcast_shapes(*shapes) if node.op.kind != "reduce" else node.values[0].shape
        scalars = tuple(dict.fromkeys(_scalars([*node.inputs, *(node.statics or {}).values()])))
        program_of(Fused(tuple(shape), (node,), inputs, scalars, tuple(node.outputs)))
    except Unlowered as found:
        return str(found)
    except ValueError:
        return f"{node.op.name}: its inputs do not broadcast"
    return None


def _scalars(values: Any) -> list[Scalar]:
    found: list[Scalar] = []
    for one in values:
        if isinstance(one, Scalar):
            found.append(one)
        elif type(one) in (tuple, list):
            found += _scalars(one)
    return found


def compile(fused: Fused, strides: Sequence[Strides | None] | None = None) -> Kernel:
    """A kernel for a fused group; it compiles in the background.

    Args:
        strides: of inputs and outputs in elements, where they are not in C's order
    Raises:
        Unlowered: there is none; it tells why
    """
    return Kernel(fused, strides)


__all__ = ["Kernel", "Placed", "Value", "compile", "lowers", "reason"]
