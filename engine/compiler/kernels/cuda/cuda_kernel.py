"""GPU kernels, with the interface of CPU kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.backend import Device
from engine.compiler.kernels.cuda.cuda_module import CudaSource, KernelSpec, LaunchFunction
from engine.compiler.kernels.cuda.cuda_source import source_of
from engine.compiler.kernels.cuda.launch_grid import Grid, grid_of
from engine.compiler.kernels.cuda.nvrtc import CudaCompilation, load
from engine.compiler.kernels.fused_group import FusedGroup
from engine.compiler.kernels.fused_kernel import FusedKernel
from engine.compiler.kernels.loop_layout import Strides

ALIGNMENT = 256
"""Alignment in bytes of the kernel's scratch buffers."""


class CudaKernel(FusedKernel[CudaCompilation]):
    """Computes a fused group on a GPU, by one or several launches in the current stream.

    Args:
        strides: of inputs and outputs in elements, where they are not C-ordered
        device: the GPU, if not that of the outputs

    Raises:
        LoweringUnsupported: the constructor raises it if the group cannot be lowered
    """

    def __init__(
        self, fused: FusedGroup, strides: Sequence[Strides | None] | None = None, device: Device | None = None
    ) -> None:
        super().__init__(fused, strides)
        self.written: CudaSource = source_of(
            KernelSpec(self.program, self.schedule, self.strides, dict(fused.in_place), self.name)
        )
        self.source = self.written.text
        self.device = device or fused.outputs[0].device
        self._compilation = load(self.source, self.name, self.device)
        self._bound: Callable[..., None] | None = None

    @property
    def grids(self) -> list[Grid]:
        """Grid of each launch."""
        block = self.schedule.order.block
        return [
            grid_of(one.kind, one.outer, one.inner, block=block, parts=one.parts, width=one.width)
            for one in self.written.functions
        ]

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch memory between launches."""
        return sum(map(_aligned_bytes, self.written.memory))

    def bind(self, memory: Any = None) -> Callable[..., None]:
        """A callable with input arrays, numbers and outputs as arguments.

        Outputs that overwrite inputs are left out. Arrays must have the shapes and strides of this kernel.

        Args:
            memory: at least `scratch_bytes` bytes on the device; allocated if omitted
        """
        self.wait()
        xp, functions = self._compilation.xp, self._compilation.functions
        if memory is None and self.scratch_bytes:
            memory = xp.empty(self.scratch_bytes, np.uint8)
        buffers, index = _split_memory(self.written, memory), self.written.index
        launches = [
            BoundLaunch(functions[one.name], grid, self._parameter_sources(one), _layout(one, index), buffers)
            for one, grid in zip(self.written.functions, self.grids, strict=True)
        ]

        def run(*arguments: Any) -> None:
            for launch in launches:
                launch(arguments)

        return run

    def _parameter_sources(self, function: LaunchFunction) -> list[tuple[str, int]]:
        """For each parameter after the layout its kind, and its index among the arguments of the bound function."""
        numbers, outputs = len(self.fused.inputs), len(self.fused.inputs) + len(self.fused.scalars)
        starts = {"input": 0, "number": numbers}
        found: list[tuple[str, int]] = []
        for kind, index in function.arguments[1:]:
            if kind == "memory":
                found.append(("buffer", index))
            elif kind == "output":
                found.append(("array", outputs + self._returned_indices.index(index)))
            else:
                found.append(("number" if kind == "number" else "array", starts[kind] + index))
        return found

    def __call__(self, inputs: Sequence[Any], scalars: Sequence[float], outputs: Sequence[Any]) -> None:
        """Computes into `outputs`. Arrays must have the shapes and strides of this kernel."""
        if self._bound is None:
            self._bound = self.bind()
        self._bound(*inputs, *scalars, *self._returned(outputs))


class BoundLaunch:
    """A launch with the arguments that are the same in every call."""

    __slots__ = ("arrays", "constants", "function", "grid", "numbers")

    def __init__(
        self, function: Any, grid: Grid, sources: list[tuple[str, int]], layout: Any, buffers: Sequence[Any]
    ) -> None:
        self.function, self.grid = function, grid
        self.constants = [layout, *(buffers[index] if kind == "buffer" else None for kind, index in sources)]
        self.arrays = [(position, index) for position, (kind, index) in enumerate(sources, 1) if kind == "array"]
        self.numbers = [(position, index) for position, (kind, index) in enumerate(sources, 1) if kind == "number"]

    def __call__(self, arguments: Sequence[Any]) -> None:
        parameters = self.constants.copy()
        for position, index in self.arrays:
            parameters[position] = arguments[index]
        for position, index in self.numbers:
            parameters[position] = float(arguments[index])
        self.function(self.grid.blocks, self.grid.threads, tuple(parameters))


def _layout(function: LaunchFunction, index: Any) -> Any:
    """The layout argument: sizes and steps; an array of one element is passed by value."""
    found = np.zeros((), [(name, index) for name in function.fields])
    for name, value in function.fields.items():
        found[name] = value
    return found


def _aligned_bytes(memory: Any) -> int:
    return -(-memory.count * memory.dtype.itemsize // ALIGNMENT) * ALIGNMENT


def _split_memory(source: CudaSource, memory: Any) -> list[Any]:
    found, start = list[Any](), 0
    for one in source.memory:
        found.append(memory[start : start + _aligned_bytes(one)])
        start += _aligned_bytes(one)
    return found


__all__ = ["ALIGNMENT", "CudaKernel"]
