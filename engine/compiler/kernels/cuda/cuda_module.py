"""What the launches of a kernel have in common while they are written, and what comes of it."""

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
from engine.compiler.kernels.scalar_expression import FLOAT, Expression

SINGLE = np.dtype(np.float32)
NAMES = {"add": "Added", "multiply": "Multiplied", "maximum": "Largest", "minimum": "Smallest",
         "logical_or": "Any", "logical_and": "All"}  # fmt: skip

Argument = tuple[Literal["layout", "input", "number", "output", "memory"], int]
"""What a launch is handed: an array or number by its place, memory by its place among the kernel's own."""


@dataclass(frozen=True, slots=True)
class LaunchFunction:
    """One launch, written: how its function is called, and what decides its grid."""

    name: str
    kind: LaunchKind
    arguments: tuple[Argument, ...]
    fields: dict[str, int]
    """Of its layout."""
    outer: int
    inner: int
    """Rows, and elements of a row."""
    parts: int = 1
    width: int = 1
    """Elements that a thread reads at once."""


@dataclass(frozen=True, slots=True)
class ScratchBuffer:
    """Sums that are kept between launches, or parts of them."""

    dtype: Any
    count: int


@dataclass(frozen=True, slots=True)
class CudaSource:
    """A kernel, written."""

    text: str
    functions: tuple[LaunchFunction, ...]
    memory: tuple[ScratchBuffer, ...]
    index: Any
    """The dtype that elements are counted in."""


@dataclass(eq=False, slots=True)
class CudaScope:
    """Lines that run together, and the names of what they compute."""

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
    """What is known when a kernel is written."""

    program: KernelProgram
    schedule: KernelSchedule
    strides: Sequence[Strides]
    """Of the inputs and outputs, in elements."""
    in_place: dict[int, int]
    title: str


@dataclass(eq=False, slots=True)
class CudaModule:
    """Grows with the launches."""

    given: KernelSpec
    text: CudaExpressionWriter = field(default_factory=CudaExpressionWriter)
    helpers: dict[str, str] = field(default_factory=dict)
    memory: list[ScratchBuffer] = field(default_factory=list)
    finals: dict[int, int] = field(default_factory=dict)
    """Sums that are complete and kept, by id → their place in `memory`."""
    parts: dict[int, int] = field(default_factory=dict)
    """Sums that are there in parts, likewise."""
    reach: dict[int, frozenset[int]] = field(default_factory=dict)

    def keep(self, dtype: Any, count: int) -> int:
        """New memory of the kernel's own."""
        self.memory.append(ScratchBuffer(np.dtype(dtype), count))
        return len(self.memory) - 1

    def keep_parts(self, one: Expression, count: int, *, wide: bool = False) -> int:
        """Memory for the parts of a sum; in double precision if `wide`."""
        dtype = FLOAT if wide else SINGLE if one.dtype in HALF_DTYPES else one.dtype
        index = self.parts[id(one)] = self.keep(dtype, count)
        return index

    def helper(self, name: str) -> str:
        """A function that blocks of threads call."""
        if name not in self.helpers:
            for one in NEEDED.get(name, ()):
                self.helper(one)
            self.helpers[name] = TEXTS[name]
            self.text.functions |= set(FUNCTIONS.get(name, ()))
        return name

    def how(self, one: Expression) -> str:
        """What combines two numbers of a reduction."""
        return self.helper(NAMES[one.value[0]])

    def size(self, axes: Sequence[int]) -> int:
        found = 1
        for axis in axes:
            found *= self.given.program.space[axis]
        return found


__all__ = ["Argument", "CudaModule", "CudaScope", "CudaSource", "KernelSpec", "LaunchFunction", "ScratchBuffer"]
