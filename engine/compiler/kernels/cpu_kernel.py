"""CPU kernels: a fused group, its source, and its call."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.instruction import Scalar
from engine.compiler.ir import IRNode, IRValue
from engine.compiler.kernels.cpu_source import CpuSourceWriter
from engine.compiler.kernels.fused_group import FusedGroup
from engine.compiler.kernels.kernel_cache import KernelModule, compile_in_background
from engine.compiler.kernels.kernel_program import PlacedExpression, program_of
from engine.compiler.kernels.kernel_schedule import schedule_program
from engine.compiler.kernels.loop_layout import AxisStrides, LoopLayout, Strides, arrange_loops, contiguous_strides
from engine.compiler.kernels.partitioned_pass import Partition
from engine.compiler.kernels.reference_kernel import ReferenceKernel
from engine.compiler.kernels.scalar_expression import LoweringUnsupported, walk
from engine.compiler.kernels.thread_pool import call_words

MAX_SOURCES = 1024
LANES = 64
"""Parts of a kernel have a multiple of this number of elements."""
_SOURCES: dict[Any, tuple[str, Partition]] = {}


class CpuKernel:
    """Computes a fused group. It serves all sizes for which arrays have the same loop structure.

    Raises:
        LoweringUnsupported: the constructor raises it if the group cannot be lowered
    """

    def __init__(self, fused: FusedGroup, strides: Sequence[Strides | None] | None = None) -> None:
        self.fused = fused
        self.name = str(fused)
        self.program = program_of(fused)
        self.schedule = schedule_program(self.program)
        for output, source in fused.in_place:
            self.schedule.check_written_over(output, source)
        values = [*fused.inputs, *fused.outputs]
        chosen = [contiguous_strides(value.shape) for value in values]
        for index, given in enumerate(strides or ()):
            chosen[index] = chosen[index] if given is None else given
        self.inputs = self.schedule.inputs
        layout, told = self._arranged(chosen)
        self.source, shares = self._source(layout)
        self._module: KernelModule = compile_in_background(self.source, self.name)
        self._told = np.array(told, np.int64)
        self._call = self._shared(shares, layout)
        self._address = self._call.ctypes.data
        self._layout = layout
        replaced = {output for output, _ in fused.in_place}
        self._returned = [index for index in range(len(fused.outputs)) if index not in replaced]

    def _arranged(self, strides: Sequence[Strides]) -> tuple[LoopLayout, list[int]]:
        accesses = [_along(strides[one.value[0]], one.value[1]) for one in self.inputs]
        first = len(self.program.inputs)
        accesses += [
            _along(strides[first + index], placed.axes) for index, (placed, _) in enumerate(self.program.outputs)
        ]
        return arrange_loops(self.program.space, self.schedule.inner, self.schedule.outer, accesses, self._indexed())

    def _shared(self, shares: Partition, layout: LoopLayout) -> np.ndarray[Any, Any]:
        """The words of a call, with the division into parts."""
        sizes, rest = self._told[: len(layout.loops)].tolist(), self._told.ctypes.data
        if shares.things == "all":
            return call_words(1, 0, extra=rest)
        work = shares.work * math.prod(self.program.space)
        if shares.things == "rows":
            return call_words(sizes[0], work, extra=rest)
        if shares.things == "elements":  # parts start at multiples of a vector
            return call_words(sizes[0], work, extra=rest, multiple_of=LANES if len(sizes) == 1 else 1)
        rows = math.prod(size for size, loop in zip(sizes, layout.loops, strict=True) if not loop.inner)
        return call_words(-(-rows // self.schedule.order.chunk), work if shares.things == "chunks" else 0, extra=rest)

    def _source(self, layout: LoopLayout) -> tuple[str, Partition]:
        """The source, which is the same for all kernels of one structure and is cached."""
        key = self.name, self.schedule, layout, self.fused.in_place, self.program.dtypes, len(self.program.scalars)
        found = _SOURCES.get(key)
        if found is None:
            accesses: dict[int, int] = {id(one): index for index, one in enumerate(self.inputs)}
            accesses.update({-1 - index: len(self.inputs) + index for index in range(len(self.program.outputs))})
            writer = CpuSourceWriter(self.program, self.schedule, layout, accesses, dict(self.fused.in_place))
            if len(_SOURCES) >= MAX_SOURCES:
                _SOURCES.clear()
            source = writer.source(self.name)
            found = _SOURCES[key] = source, writer.shares
        return found

    def _indexed(self) -> frozenset[int]:
        """Axes whose index is used."""
        found = walk(store.expression for store in self.schedule.stores)
        return frozenset(one.value for one in found if one.name == "index")

    @property
    def outputs_forms(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and dtype of each output."""
        return [(value.shape, value.dtype) for value in self.fused.outputs]

    @property
    def ready(self) -> bool:
        """Whether it is compiled; never, if `failure` is set."""
        return self._module.ready

    @property
    def failure(self) -> str | None:
        """Why it could not be compiled."""
        return None if self._module.error is None else str(self._module.error)

    def wait(self) -> None:
        """Waits until it is compiled. Raises LoweringUnsupported if that fails."""
        self._module.wait()

    def bind(self) -> Callable[..., None]:
        """A callable with the ids of input arrays, the numbers, and the ids of outputs as arguments.

        Outputs that overwrite inputs are left out. Arrays must have the shapes and strides of this kernel and stay
        alive during the call, which releases the GIL. The kernel itself must stay alive, too.
        """
        self._module.wait()
        return functools.partial(self._module.function, self._address)

    def __call__(self, inputs: Sequence[Any], scalars: Sequence[float], outputs: Sequence[Any]) -> None:
        """Computes into `outputs`. Arrays must have the shapes and strides of this kernel."""
        if len(self._returned) != len(outputs):
            outputs = [outputs[index] for index in self._returned]
        module = self._module
        function = module.function if module.function is not None else module.waited()
        function(self._address, *map(id, inputs), *scalars, *map(id, outputs))

    @functools.cached_property
    def reference(self) -> ReferenceKernel:
        """The reference kernel, which computes the same values with NumPy."""
        return ReferenceKernel(self.program, self.schedule, written_over=bool(self.fused.in_place))

    @property
    def entry(self) -> tuple[Callable[..., None], int]:
        """The compiled function and its first argument; see `bind` for the others."""
        self._module.wait()
        return self._module.function, self._address


def _along(strides: Strides, axes: Sequence[int | None]) -> AxisStrides:
    return {axis: step for axis, step in zip(axes, strides, strict=True) if axis is not None}


def is_lowerable(node: IRNode) -> bool:
    """Whether a kernel can compute a node, alone or with others."""
    return lowering_failure(node) is None


def lowering_failure(node: IRNode) -> str | None:
    """Why no kernel can compute a node; None if one can."""
    inputs = tuple(dict.fromkeys(node.values))
    shapes = [value.shape for value in (*inputs, *node.outputs)]
    try:
        shape = np.broadcast_shapes(*shapes) if node.op.kind != "reduce" else node.values[0].shape
        scalars = tuple(dict.fromkeys(_scalars([*node.inputs, *(node.statics or {}).values()])))
        program_of(FusedGroup(tuple(shape), (node,), inputs, scalars, tuple(node.outputs)))
    except LoweringUnsupported as found:
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


def compile(fused: FusedGroup, strides: Sequence[Strides | None] | None = None) -> CpuKernel:
    """Creates a kernel, which compiles in the background.

    Args:
        strides: of inputs and outputs in elements, where they are not C-ordered
    Raises:
        LoweringUnsupported: the group cannot be lowered
    """
    return CpuKernel(fused, strides)


__all__ = ["CpuKernel", "IRValue", "PlacedExpression", "compile", "is_lowerable", "lowering_failure"]
