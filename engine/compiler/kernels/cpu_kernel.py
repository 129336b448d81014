"""CPU kernels: a fused group, its source, and its call."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.compiler.instruction import Scalar
from engine.compiler.ir import IRNode
from engine.compiler.kernels.cpu_source import CpuSourceWriter
from engine.compiler.kernels.fused_group import FusedGroup
from engine.compiler.kernels.fused_kernel import FusedKernel
from engine.compiler.kernels.kernel_cache import KernelModule, compile_in_background
from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.loop_layout import LoopLayout, Strides, arrange_loops, axis_strides
from engine.compiler.kernels.partitioned_pass import Partition
from engine.compiler.kernels.reference_kernel import ReferenceKernel
from engine.compiler.kernels.scalar_expression import LoweringUnsupported, walk
from engine.compiler.kernels.thread_pool import call_words

MAX_SOURCES = 1024
LANES = 64
"""Parts of a kernel have a multiple of this number of elements."""
_SOURCES: dict[Any, tuple[str, Partition]] = {}


class CpuKernel(FusedKernel[KernelModule]):
    """Computes a fused group. It serves all sizes for which arrays have the same loop structure.

    Raises:
        LoweringUnsupported: the constructor raises it if the group cannot be lowered
    """

    def __init__(self, fused: FusedGroup, strides: Sequence[Strides | None] | None = None) -> None:
        super().__init__(fused, strides)
        self.inputs = self.schedule.inputs
        layout, layout_values = self._arrange_loops()
        self.source, partition = self._find_source(layout)
        self._compilation = compile_in_background(self.source, self.name)
        self._layout_values = np.array(layout_values, np.int64)
        self._call = self._call_words(partition, layout)
        self._address = self._call.ctypes.data
        self._layout = layout

    def _arrange_loops(self) -> tuple[LoopLayout, list[int]]:
        program, strides = self.program, self.strides
        accesses = [axis_strides(strides[one.value[0]], one.value[1]) for one in self.inputs]
        output_strides = strides[len(program.inputs) :]
        accesses += [
            axis_strides(steps, result.axes) for steps, (result, _) in zip(output_strides, program.outputs, strict=True)
        ]
        schedule = self.schedule
        return arrange_loops(program.space, schedule.inner, schedule.outer, accesses, self._indexed_axes())

    def _call_words(self, partition: Partition, layout: LoopLayout) -> np.ndarray[Any, Any]:
        """The words of a call, with the division into parts."""
        sizes, rest = self._layout_values[: len(layout.loops)].tolist(), self._layout_values.ctypes.data
        if partition.unit == "all":
            return call_words(1, 0, extra=rest)
        work = partition.work * math.prod(self.program.space)
        if partition.unit == "rows":
            return call_words(sizes[0], work, extra=rest)
        if partition.unit == "elements":  # parts start at multiples of a vector
            return call_words(sizes[0], work, extra=rest, multiple_of=LANES if len(sizes) == 1 else 1)
        rows = math.prod(size for size, loop in zip(sizes, layout.loops, strict=True) if not loop.inner)
        return call_words(-(-rows // self.schedule.order.chunk), work if partition.unit == "chunks" else 0, extra=rest)

    def _find_source(self, layout: LoopLayout) -> tuple[str, Partition]:
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
            found = _SOURCES[key] = source, writer.partition
        return found

    def _indexed_axes(self) -> frozenset[int]:
        """Axes whose index is used."""
        found = walk(store.expression for store in self.schedule.stores)
        return frozenset(one.value for one in found if one.name == "index")

    def bind(self) -> Callable[..., None]:
        """A callable with the ids of input arrays, the numbers, and the ids of outputs as arguments.

        Outputs that overwrite inputs are left out. Arrays must have the shapes and strides of this kernel and stay
        alive during the call, which releases the GIL. The kernel itself must stay alive, too.
        """
        self.wait()
        return functools.partial(self._compilation.function, self._address)

    def __call__(self, inputs: Sequence[Any], scalars: Sequence[float], outputs: Sequence[Any]) -> None:
        """Computes into `outputs`. Arrays must have the shapes and strides of this kernel."""
        module = self._compilation
        function = module.function if module.function is not None else module.wait_for_function()
        function(self._address, *map(id, inputs), *scalars, *map(id, self._returned(outputs)))

    @functools.cached_property
    def reference(self) -> ReferenceKernel:
        """The reference kernel, which computes the same values with NumPy."""
        return ReferenceKernel(self.program, self.schedule, overwrites_input=bool(self.fused.in_place))

    @property
    def entry(self) -> tuple[Callable[..., None], int]:
        """The compiled function and its first argument; see `bind` for the others."""
        self.wait()
        return self._compilation.function, self._address


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


__all__ = ["CpuKernel", "compile", "is_lowerable", "lowering_failure"]
