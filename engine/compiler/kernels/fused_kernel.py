"""Base class of CPU and GPU kernels: a fused group, its schedule, and the state of its compilation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from engine.compiler.kernels.fused_group import FusedGroup
from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.kernel_schedule import schedule_program
from engine.compiler.kernels.loop_layout import Strides, contiguous_strides


class Compilation(Protocol):
    """The compilation of a source in the background."""

    error: Exception | None

    @property
    def ready(self) -> bool: ...

    def wait(self) -> None:
        """Waits until it is compiled. Raises LoweringUnsupported if that fails."""
        ...


C = TypeVar("C", bound=Compilation)


class FusedKernel(Generic[C]):
    """A fused group that a kernel computes. Subclasses write the source and set `_compilation`.

    Args:
        strides: of inputs and outputs in elements, where they are not C-ordered

    Raises:
        LoweringUnsupported: the group cannot be lowered
    """

    _compilation: C

    def __init__(self, fused: FusedGroup, strides: Sequence[Strides | None] | None = None) -> None:
        self.fused = fused
        self.name = str(fused)
        self.program = program_of(fused)
        self.schedule = schedule_program(self.program)
        for output, source in fused.in_place:
            self.schedule.check_overwrite(output, source)
        self.strides: list[Strides] = [contiguous_strides(value.shape) for value in (*fused.inputs, *fused.outputs)]
        for index, array_strides in enumerate(strides or ()):
            if array_strides is not None:
                self.strides[index] = array_strides
        overwriting = {output for output, _ in fused.in_place}
        self._returned_indices = [index for index in range(len(fused.outputs)) if index not in overwriting]

    @property
    def output_forms(self) -> list[tuple[tuple[int, ...], Any]]:
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

    def _returned(self, outputs: Sequence[Any]) -> Sequence[Any]:
        """The outputs that overwrite no input."""
        if len(self._returned_indices) == len(outputs):
            return outputs
        return [outputs[index] for index in self._returned_indices]


__all__ = ["Compilation", "FusedKernel"]
