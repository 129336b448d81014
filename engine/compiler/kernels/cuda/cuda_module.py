"""State that is shared by the launches of a kernel while they are written, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from engine.compiler.kernels.cuda.cuda_expressions import HALF_DTYPES, CudaExpressionWriter
from engine.compiler.kernels.cuda.launch_planning import LaunchKind
from engine.compiler.kernels.cuda.warp_functions import FUNCTIONS, NEEDED, TEXTS
from engine.compiler.kernels.kernel_program import KernelProgram
from engine.compiler.kernels.kernel_schedule import KernelSchedule
from engine.compiler.kernels.loop_layout import Strides
from engine.compiler.kernels.scalar_expression import FLOAT64, Expression

SINGLE = np.dtype(np.float32)
NAMES = {"add": "Added", "multiply": "Multiplied", "maximum": "Largest", "minimum": "Smallest",
         "logical_or": "Any", "logical_and": "All"}  # fmt: skip

Argument = tuple[Literal["layout", "input", "number", "output", "memory"], int]
"""An argument of a launch: kind, and index among arrays, numbers or scratch buffers."""


@dataclass(frozen=True, slots=True)
class LaunchFunction:
    """The function of a launch: its arguments, and what determines its grid."""

    name: str
    kind: LaunchKind
    arguments: tuple[Argument, ...]
    fields: dict[str, int]
    """Fields of its layout."""
    outer: int
    inner: int
    """Number of rows, and of elements per row."""
    parts: int = 1
    width: int = 1
    """Elements per thread and read."""


@dataclass(frozen=True, slots=True)
class ScratchBuffer:
    """A scratch buffer for sums or partial sums between launches."""

    dtype: Any
    count: int


@dataclass(frozen=True, slots=True)
class CudaSource:
    """The source of a kernel."""

    text: str
    functions: tuple[LaunchFunction, ...]
    memory: tuple[ScratchBuffer, ...]
    index: Any
    """Dtype of element indices."""


@dataclass(eq=False, slots=True)
class CudaScope:
    """Lines of one block, and names of the values that they compute."""

    parent: CudaScope | None = None
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    def find(self, one: Expression) -> str | None:
        scope: CudaScope | None = self
        while scope is not None:
            if id(one) in scope.names:
                return scope.names[id(one)]
            scope = scope.parent
        return None


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """Input of the code generator."""

    program: KernelProgram
    schedule: KernelSchedule
    strides: Sequence[Strides]
    """Strides of inputs and outputs in elements."""
    in_place: dict[int, int]
    title: str


@dataclass(eq=False, slots=True)
class CudaModule:
    """Collects launches, helper functions and scratch buffers."""

    spec: KernelSpec
    text: CudaExpressionWriter = field(default_factory=CudaExpressionWriter)
    helpers: dict[str, str] = field(default_factory=dict)
    memory: list[ScratchBuffer] = field(default_factory=list)
    finals: dict[int, int] = field(default_factory=dict)
    """Id of a complete sum → index in `memory`."""
    parts: dict[int, int] = field(default_factory=dict)
    """Id of a partial sum → index in `memory`."""
    reach: dict[int, frozenset[int]] = field(default_factory=dict)

    def add_buffer(self, dtype: Any, count: int) -> int:
        """Adds a scratch buffer."""
        self.memory.append(ScratchBuffer(np.dtype(dtype), count))
        return len(self.memory) - 1

    def add_part_buffer(self, one: Expression, count: int, *, wide: bool = False) -> int:
        """Adds a scratch buffer for partial sums; in double precision if `wide`."""
        dtype = FLOAT64 if wide else SINGLE if one.dtype in HALF_DTYPES else one.dtype
        index = self.parts[id(one)] = self.add_buffer(dtype, count)
        return index

    def helper(self, name: str) -> str:
        """Adds a helper function for blocks of threads."""
        if name not in self.helpers:
            for one in NEEDED.get(name, ()):
                self.helper(one)
            self.helpers[name] = TEXTS[name]
            self.text.functions |= set(FUNCTIONS.get(name, ()))
        return name

    def combiner(self, one: Expression) -> str:
        """The functor that combines two numbers of a reduction."""
        return self.helper(NAMES[one.value[0]])

    def size(self, axes: Sequence[int]) -> int:
        found = 1
        for axis in axes:
            found *= self.spec.program.space[axis]
        return found


__all__ = ["Argument", "CudaModule", "CudaScope", "CudaSource", "KernelSpec", "LaunchFunction", "ScratchBuffer"]
