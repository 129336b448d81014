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
from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.kernel_schedule import schedule_program
from engine.compiler.kernels.loop_layout import Strides, contiguous_strides

ALIGNMENT = 256
"""Alignment in bytes of the kernel's scratch buffers."""


class CudaKernel:
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
        self.written: CudaSource = source_of(
            KernelSpec(self.program, self.schedule, chosen, dict(fused.in_place), self.name)
        )
        self.source = self.written.text
        self.device = device or fused.outputs[0].device
        self._compilation: CudaCompilation = load(self.source, self.name, self.device)
        replaced = {output for output, _ in fused.in_place}
        self._returned = [index for index in range(len(fused.outputs)) if index not in replaced]
        self._bound: Callable[..., None] | None = None

    @property
    def outputs_forms(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and dtype of each output."""
        return [(value.shape, value.dtype) for value in self.fused.outputs]

    @property
    def ready(self) -> bool:
        """Whether it is compiled; never, if `failure` is set."""
        return self._compilation.ready

    @property
    def failure(self) -> str | None:
        """Why it could not be compiled."""
        return None if self._compilation.error is None else str(self._compilation.error)

    def wait(self) -> None:
        """Waits until it is compiled. Raises LoweringUnsupported if that fails."""
        self._compilation.wait()

    @property
    def grids(self) -> list[Grid]:
        """Grid of each launch."""
        block = self.schedule.order.block
        return [
            grid_of(one.kind, one.outer, one.inner, block=block, parts=one.parts, width=one.width)
            for one in self.written.functions
        ]

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory between launches."""
        return sum(map(_room, self.written.memory))

    def bind(self, memory: Any = None) -> Callable[..., None]:
        """A callable with input arrays, numbers and outputs as arguments.

        Outputs that overwrite inputs are left out. Arrays must have the shapes and strides of this kernel.

        Args:
            memory: at least `scratch` bytes on the device; allocated if omitted
        """
        self._compilation.wait()
        xp, functions = self._compilation.xp, self._compilation.functions
        own = _cut(self.written, memory if memory is not None or not self.scratch else xp.empty(self.scratch, np.uint8))
        calls = [
            _Call(functions[one.name], grid, self._picks(one), _layout(one, self.written.index), own)
            for one, grid in zip(self.written.functions, self.grids, strict=True)
        ]

        def run(*given: Any) -> None:
            for call in calls:
                call(given)

        return run

    def _picks(self, function: LaunchFunction) -> list[tuple[str, int]]:
        """For each parameter after the layout its kind, and its index among the arguments of the bound function."""
        numbers, outputs = len(self.fused.inputs), len(self.fused.inputs) + len(self.fused.scalars)
        starts = {"input": 0, "number": numbers}
        found: list[tuple[str, int]] = []
        for kind, index in function.arguments[1:]:
            if kind == "memory":
                found.append(("own", index))
            elif kind == "output":
                found.append(("given", outputs + self._returned.index(index)))
            else:
                found.append(("number" if kind == "number" else "given", starts[kind] + index))
        return found

    def __call__(self, inputs: Sequence[Any], scalars: Sequence[float], outputs: Sequence[Any]) -> None:
        """Computes into `outputs`. Arrays must have the shapes and strides of this kernel."""
        if len(self._returned) != len(outputs):
            outputs = [outputs[index] for index in self._returned]
        if self._bound is None:
            self._bound = self.bind()
        self._bound(*inputs, *scalars, *outputs)


class _Call:
    """A launch with its constant arguments."""

    __slots__ = ("arguments", "function", "grid", "numbers", "picks")

    def __init__(
        self, function: Any, grid: Grid, picks: list[tuple[str, int]], layout: Any, own: Sequence[Any]
    ) -> None:
        self.function, self.grid = function, grid
        self.arguments = [layout, *(own[index] if kind == "own" else None for kind, index in picks)]
        self.picks = [(at, index) for at, (kind, index) in enumerate(picks, 1) if kind == "given"]
        self.numbers = [(at, index) for at, (kind, index) in enumerate(picks, 1) if kind == "number"]

    def __call__(self, given: Sequence[Any]) -> None:
        arguments = self.arguments.copy()
        for at, index in self.picks:
            arguments[at] = given[index]
        for at, index in self.numbers:
            arguments[at] = float(given[index])
        self.function(self.grid.blocks, self.grid.threads, tuple(arguments))


def _layout(function: LaunchFunction, index: Any) -> Any:
    """The layout argument: sizes and steps; an array of one element is passed by value."""
    found = np.zeros((), [(name, index) for name in function.fields])
    for name, value in function.fields.items():
        found[name] = value
    return found


def _room(memory: Any) -> int:
    return -(-memory.count * memory.dtype.itemsize // ALIGNMENT) * ALIGNMENT


def _cut(source: CudaSource, memory: Any) -> list[Any]:
    found, start = list[Any](), 0
    for one in source.memory:
        found.append(memory[start : start + _room(one)])
        start += _room(one)
    return found


__all__ = ["ALIGNMENT", "CudaKernel"]
