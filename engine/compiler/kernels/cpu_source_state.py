"""State that the writers of one CPU kernel's source share: names, memory, loops and intermediate results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.compiler.kernels.cpu_expressions import ImportedNames
from engine.compiler.kernels.kernel_program import KernelProgram
from engine.compiler.kernels.kernel_schedule import KernelSchedule, Store
from engine.compiler.kernels.loop_layout import LoopLayout
from engine.compiler.kernels.scalar_expression import Expression, LoweringUnsupported

MAX_ARRAYS = 48
"""Largest number of arrays in one kernel; `raw_memory.py` keeps this many alias scopes apart."""


@dataclass(eq=False, slots=True)
class SourceScope:
    """Lines that run together, and the names of what they compute."""

    depth: int
    parent: SourceScope | None = None
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    def find(self, one: Expression) -> str | None:
        scope: SourceScope | None = self
        while scope is not None:
            if id(one) in scope.names:
                return scope.names[id(one)]
            scope = scope.parent
        return None


class CpuSourceState:
    """The kernel that is being written, and helpers that name its values and allocate their memory."""

    def __init__(
        self,
        program: KernelProgram,
        schedule: KernelSchedule,
        layout: LoopLayout,
        accesses: dict[Any, int],
        in_place: dict[int, int],
    ) -> None:
        self.program, self.schedule, self.layout = program, schedule, layout
        self.accesses = accesses
        """Id of an input expression, or −1 − index of an output → access in the layout."""
        self.in_place = in_place
        self.names = ImportedNames()
        self.body: list[str] = []
        self.count = 0
        self.reach_cache: dict[int, frozenset[int]] = {}
        self.stage_cache: dict[int, int] = {}
        self.phase_cache: dict[int, int] = {}
        self.memory: list[str] = []
        """Lines that allocate memory for sums over rows and for stored values."""
        self.freeing: list[str] = []
        self.parts: dict[int, str] = {}
        """Id of a sum over rows → the variable that rows are added to, or memory with a number per element of a row."""
        self.finals: dict[int, str] = {}
        """Id of a complete sum over rows → source of an element, with a placeholder for its index."""
        self.inner = frozenset(schedule.inner)
        self.outer = frozenset(schedule.outer)
        self.loops = list(enumerate(layout.loops))
        self.array_count = 1
        self.spans: dict[int, str] = {}
        """Loop index → its range in a part, for loops that are divided into parts."""
        self.top = SourceScope(1)
        """Lines outside all loops over rows."""
        self.pointers: dict[int, str] = {}
        """Access → pointer to the start of the current row."""

    def size(self, index: int) -> str:
        return f"n{index}"

    def span(self, index: int) -> str:
        """The arguments of `range` for a loop."""
        return self.spans.get(index, self.size(index))

    def step(self, access: int, index: int) -> str:
        return f"step{access}_{index}"

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def reach(self, one: Expression) -> frozenset[int]:
        return self.schedule.reach(one, self.reach_cache)

    def stage(self, one: Expression) -> int:
        return self.schedule.stage(one, self.stage_cache)

    def phase(self, one: Expression) -> int:
        return self.schedule.phase(one, self.phase_cache)

    def bases(self, needed: Iterable[Expression], stores: list[Store], loops: list[int]) -> dict[int, list[str]]:
        """Lines that compute pointers to the start of a row, by the loop on whose index they depend."""
        self.pointers = {}
        found: dict[int, list[str]] = {}
        arrays = [(self.accesses[id(one)], f"x{one.value[0]}") for one in needed if one.name == "input"]
        arrays += [(self.accesses[-1 - store.index], self.target(store.index)) for store in stores]
        for access, base in dict(arrays).items():
            for index in loops:
                if self.layout.steps[access][index] != 0:
                    name = f"{base}_{access}_{index}"
                    found.setdefault(index, []).append(f"{name} = {base} + i{index} * {self.step(access, index)}")
                    base = name
            self.pointers[access] = base
        return found

    def target(self, index: int) -> str:
        return f"x{self.in_place[index]}" if index in self.in_place else f"out{index}"

    def row_size(self) -> str:
        return " * ".join(self.size(index) for index, loop in self.loops if loop.inner)

    def memory_of_row(self, dtype: Any) -> str:
        """Allocates a number for each element of a row."""
        name = f"row{self.array_count}"
        self.memory.append(f"{name} = allocate({self.row_size()}, {self.names.type(dtype)}, {self.next_array()})")
        self.freeing.append(f"free({name})")
        return name

    def scratch(self, dtype: Any) -> str:
        """Memory for a block."""
        name = f"part{self.array_count}"
        block = self.schedule.order.block
        self.memory.append(f"{name} = stack_array({block}, {self.names.type(dtype)}, {self.next_array()})")
        return name

    def next_array(self) -> int:
        index = len(self.program.inputs) + len(self.program.outputs) + self.array_count
        self.array_count += 1
        if index >= MAX_ARRAYS:
            raise LoweringUnsupported(f"it uses more than {MAX_ARRAYS} arrays")
        return index
