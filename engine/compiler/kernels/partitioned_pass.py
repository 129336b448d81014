"""The first pass of a kernel, which several threads can share, and the code after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engine.compiler.kernels.cpu_expressions import cost
from engine.compiler.kernels.cpu_source_state import CpuSourceState, SourceScope
from engine.compiler.kernels.kernel_schedule import Store
from engine.compiler.kernels.reduction_source import identity_text
from engine.compiler.kernels.row_writer import RowWriter
from engine.compiler.kernels.scalar_expression import FLOAT64, Expression
from engine.compiler.kernels.thread_pool import CallWords

FIRST, LAST = f"call[{CallWords.FIRST}]", f"call[{CallWords.LAST}]"
_ADDITION, _BYTE = 0.07, 0.07
"""Estimated nanoseconds per addition, and per byte read or written."""


@dataclass(frozen=True, slots=True)
class Partition:
    """How a kernel is divided into parts."""

    unit: Literal["rows", "chunks", "chunks in one part", "elements", "all"] = "all"
    """Parts are ranges of rows or elements of the first loop, or of chunks of rows; "all" is a single part."""
    work: float = 0.0
    """Estimated nanoseconds per element of the iteration space."""


class PartitionedPass:
    """Writes the body of a kernel: its first pass and the code after it.

    A part is a range of rows, or of chunks of rows if there are sums over rows. Each chunk's sum has separate memory,
    and chunks are added after all parts, so that the order does not depend on threads. Without rows, a part is a range
    of elements.
    """

    def __init__(self, writer: CpuSourceState) -> None:
        self.writer = writer
        self.before = SourceScope(1)
        """Numbers that parts need, too."""
        self.after = SourceScope(2, self.before)
        """Code after all parts, run by the calling thread."""
        self.partition = Partition()
        self._memory: tuple[list[str], list[str]] = ([], [])
        """Lines that allocate and free the memory of each part."""
        self._pass: list[str] = []
        self._offsets: list[str] = []
        """Lines that compute offsets in the memory of sums."""
        self._views: list[str] = []
        """Lines that create pointers, with a placeholder for the address of that memory."""
        self._starts, self._stops = list[str](), list[str]()
        self._begins, self._ends = list[str](), list[str]()
        """Lines at the start and end of a part, and of a chunk."""

    def lines(self) -> list[str]:
        """The body after the arguments."""
        writer, (making, freeing) = self.writer, self._memory
        lines = ["run_parts(call_address, 0)"]
        if self._views:
            writer.names.types.add("uint8")
            lines = [
                f"gathered = allocate(end, uint8, {writer.next_array()})",
                "run_parts(call_address, address_of(gathered))",
            ]
            lines += [view.format("address_of(gathered)") for view in self._views]
        lines += [
            *writer.memory,
            *self.after.lines,
            *writer.freeing,
            *(["free(gathered)"] if self._views else []),
        ]
        views = [view.format(f"call[{CallWords.WORKSPACE}]") for view in self._views]
        return [
            *self.before.lines, *self._offsets, f"if call[{CallWords.COUNT}] != 0:", *_indented([*lines, "return"]),
            *views, *making, *self._pass, *freeing,
        ]  # fmt: skip

    def write(self, stores: list[Store], sums: list[Expression]) -> None:
        """Writes the pass."""
        writer = self.writer
        if not stores and not sums:
            return
        saved = writer.memory, writer.freeing, writer.top
        writer.memory, writer.freeing, writer.top = *self._memory, self.before
        loops = [index for index, loop in writer.loops if not loop.inner]
        needed = list(writer.schedule.below([*[one.expression for one in stores], *[one.args[0] for one in sums]]))
        if sums:
            self._offsets = [f"chunks = max(1, ({self._rows(loops)} + {self._chunk - 1}) // {self._chunk})", "end = 0"]
        for one in sums:
            self._begin_sum(one)
        bases = writer.bases(needed, stores, loops)
        opening = self._opening(loops, bases, needed, chunked=bool(sums))
        row = SourceScope(1, self.before)
        RowWriter(writer, row, stores, sums, needed).write()
        body = row.lines
        for line in reversed(opening):
            body = [line, *_indented(body)] if line.endswith(":") else [line, *body]
        if sums:
            chunk = [*self._begins, *body, *self._ends]
            body = [*self._starts, f"for chunk in range({FIRST}, {LAST}):", *_indented(chunk), *self._stops]
        self._pass = body
        writer.memory, writer.freeing, writer.top = saved
        writer.spans = {}
        for one in sums:
            self._end_sum(one)
        self.partition = Partition(self._unit(loops, sums, needed), _work(writer, needed, stores))

    @property
    def _chunk(self) -> int:
        return self.writer.schedule.order.chunk

    def _rows(self, loops: list[int]) -> str:
        return " * ".join(self.writer.size(index) for index in loops)

    def _unit(self, loops: list[int], sums: list[Expression], needed: list[Expression]) -> Any:
        if sums:
            return "chunks" if all(_is_added(one) for one in sums) else "chunks in one part"
        if loops:
            return "rows"
        return "all" if any(one.name == "reduce" for one in needed) else "elements"

    def _opening(
        self, loops: list[int], bases: dict[int, list[str]], needed: list[Expression], *, chunked: bool
    ) -> list[str]:
        """Opening lines of the loops over rows."""
        writer = self.writer
        if not loops and any(one.name == "reduce" for one in needed):
            return [f"for _ in range({FIRST}, {LAST}):"]
        span = f"{FIRST}, min({LAST}, {writer.size(0)})"
        if not loops:
            writer.spans[0] = span
            return []
        if not chunked:
            writer.spans[0] = span
            return [
                line
                for index in loops
                for line in (f"for i{index} in range({writer.span(index)}):", *bases.get(index, []))
            ]
        size = self._chunk
        found = [f"for row in range(chunk * {size}, min(chunk * {size} + {size}, {self._rows(loops)})):"]
        rest = "row"
        for number, index in enumerate(loops):
            each = self._rows(loops[number + 1 :])
            found += [f"i{index} = {rest} // ({each})" if each else f"i{index} = {rest}", *bases.get(index, [])]
            rest = f"{rest} % ({each})"
        return found

    # -- sums over rows

    def _begin_sum(self, one: Expression) -> None:
        """Adds the code of a sum inside a part."""
        writer = self.writer
        start, added = identity_text(one.value[0], one.dtype, writer.names), _is_added(one)
        if writer.reach(one):
            size = writer.row_size()
            memory = self._region(one.dtype, f"chunks * {size}" if added else size)
            part = memory
            if added:
                part = writer.new()
                self._begins.append(f"{part} = {memory} + chunk * ({size})")
            (self._begins if added else self._starts).extend([f"for k in range({size}):", f"    {part}[k] = {start}"])
        else:
            memory, part = self._region(FLOAT64 if added else one.dtype, "chunks" if added else "1"), writer.new()
            if added:
                self._begins.append(f"{part} = lost_{part} = 0.0")
                self._ends.append(f"{memory}[chunk] = {part} + lost_{part}")
            else:
                self._starts.append(f"{part} = {start}")
                self._stops.append(f"{memory}[0] = {part}")
        writer.parts[id(one)] = part
        writer.finals[id(one)] = memory

    def _end_sum(self, one: Expression) -> None:
        """Adds the code of a sum after all parts."""
        writer, lines = self.writer, self.after.lines
        memory, added, size = writer.finals[id(one)], _is_added(one), writer.row_size()
        kind = writer.names.type(one.dtype)
        if writer.reach(one):
            writer.finals[id(one)] = f"{memory}[{{}}]"
            if not added:
                return
            total, each = writer.memory_of_row(FLOAT64), writer.new()
            writer.finals[id(one)] = f"{total}[{{}}]" if one.dtype == FLOAT64 else f"{kind}({total}[{{}}])"
            lines += [
                f"for k in range({size}):", f"    {total}[k] = 0.0",
                "for chunk in range(chunks):", f"    {each} = {memory} + chunk * ({size})",
                f"    for k in range({size}):", f"        {total}[k] += {each}[k]",
            ]  # fmt: skip
            return
        name = self.after.names[id(one)] = writer.new()
        if not added:
            lines.append(f"{name} = {memory}[0]")
            return
        exact = writer.names.function("compensated")
        lines += [
            f"total_{name} = lost_{name} = 0.0",
            "for chunk in range(chunks):",
            f"    total_{name}, lost_{name} = {exact}(total_{name}, lost_{name}, {memory}[chunk])",
            f"{name} = {kind}(total_{name} + lost_{name})",
        ]

    def _region(self, dtype: Any, count: str) -> str:
        """Memory that parts write and later code reads."""
        writer = self.writer
        name = f"row{writer.array_count}"
        self._offsets += [f"at_{name}, end = end, end + ({count} * {dtype.itemsize} + 63) // 64 * 64"]
        self._views.append(f"{name} = memory_at({{}} + at_{name}, {writer.names.type(dtype)}, {writer.next_array()})")
        return name


def _is_added(one: Expression) -> bool:
    """Whether the order of this reduction is defined by chunks."""
    return one.value[0] == "add" and one.dtype.kind == "f"


def _work(writer: CpuSourceState, needed: list[Expression], stores: list[Store]) -> float:
    inner = [one for one in needed if writer.reach(one) & writer.inner]
    additions = sum(cost(one) + (one.name == "reduce") for one in inner)
    size = sum(one.dtype.itemsize for one in inner if one.name == "input")
    size += sum(one.expression.dtype.itemsize for one in stores if one.axes & writer.inner)
    return additions * _ADDITION + size * _BYTE


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


__all__ = ["Partition", "PartitionedPass"]
