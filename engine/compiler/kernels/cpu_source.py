"""Writes the numba source of CPU kernels."""

from __future__ import annotations

import re

from engine.compiler.kernels.cpu_source_state import MAX_ARRAYS, CpuSourceState, SourceScope
from engine.compiler.kernels.kernel_schedule import Store
from engine.compiler.kernels.partitioned_pass import Partition, PartitionedPass
from engine.compiler.kernels.reduction_source import identity_text
from engine.compiler.kernels.row_writer import RowWriter
from engine.compiler.kernels.scalar_expression import FLOAT64, Expression, LoweringUnsupported
from engine.compiler.kernels.thread_pool import CallWords

ALWAYS = ("array_elements", "memory_at", "wide_vectors")
"""Functions that each kernel imports from there."""


class CpuSourceWriter(CpuSourceState):
    """Writes the source of one kernel."""

    partition = Partition()
    """How the kernel is divided between threads."""

    # -- module

    def source(self, title: str) -> str:
        parts = PartitionedPass(self)
        self.top = parts.after
        for stage in range(1 + max((self.stage(one.expression) for one in self.schedule.stores), default=0)):
            self._pass(stage, parts)
        arguments, header = self._arguments()
        self.partition = parts.partition
        return self._module(title, arguments, [*header, *parts.lines()])

    def _module(self, title: str, arguments: list[str], lines: list[str]) -> str:
        kinds = ", ".join("float64" if name.startswith("number") else "int64" for name in arguments)
        self.names.types |= {"int64", *(["float64"] if "float64" in kinds else [])}
        imports = []
        if self.names.mathematics:
            imports += [f"from math import {', '.join(sorted(self.names.mathematics))}", ""]
        imports += [f"from numba import {', '.join(sorted(self.names.types))}", ""]
        if self.names.functions:
            imports += [f"from engine.compiler.kernels.functions import {', '.join(sorted(self.names.functions))}"]
        used = {"address_of", "allocate", "free", "stack_array"} & {
            one for line in lines for one in re.findall(r"\w+", line)
        }
        imports += ["from engine.compiler.kernels.machine_code import machine_code"]
        imports += ["from engine.compiler.kernels.parallel_calls import run_parts"]
        imports += [f"from engine.compiler.kernels.raw_memory import {', '.join(sorted({*used, *ALWAYS}))}", "", ""]
        return "\n".join([
            f'"""{title}"""', "", *imports, f'@machine_code("void({kinds})")',
            f"def kernel({', '.join(arguments)}):", *("    " + line for line in lines), "",
        ])  # fmt: skip

    def _arguments(self) -> tuple[list[str], list[str]]:
        header = [
            "wide_vectors()",
            "call = memory_at(call_address, int64, 0)",
            f"layout = memory_at(call[{CallWords.EXTRA}], int64, 0)",
        ]
        sizes = ", ".join(self.size(position) for position, _ in self.loops)
        header.append(f"{sizes} = {', '.join(f'layout[{position}]' for position in range(len(self.loops)))}")
        word = len(self.loops)
        for access in range(len(self.layout.steps)):
            for position, step in enumerate(self.layout.steps[access]):
                if step is None:
                    header.append(f"{self.step(access, position)} = layout[{word}]")
                    word += 1
        arguments = ["call_address"]
        if len(self.program.inputs) + len(self.program.outputs) >= MAX_ARRAYS:
            raise LoweringUnsupported(f"it uses more than {MAX_ARRAYS} arrays")
        for index, value in enumerate(self.program.inputs):
            arguments.append(f"array{index}")
            header.append(f"x{index} = array_elements(array{index}, {self.names.type(value.dtype)}, {index + 1})")
        arguments += [f"number{index}" for index in range(len(self.program.scalars))]
        for index, (_, value) in enumerate(self.program.outputs):
            if index in self.in_place:
                continue
            position = len(self.program.inputs) + 1 + index
            arguments.append(f"result{index}")
            header.append(f"out{index} = array_elements(result{index}, {self.names.type(value.dtype)}, {position})")
        return arguments, header

    # -- one pass

    def _pass(self, stage: int, parts: PartitionedPass) -> None:
        stores = [one for one in self.schedule.stores if self.stage(one.expression) == stage]
        sums = self._sums_over_rows(stage)
        if not self.outer:
            over_rows = stores if stage == 0 else []
        else:
            over_rows = [one for one in stores if one.axes & self.outer or self._rows(one.expression)]
        if stage == 0:
            parts.write(over_rows, sums)
        else:
            self._nest(over_rows, sums, self.top, outer=True)
        rest = [one for one in stores if one not in over_rows]
        self._nest(rest, [], self.top, outer=False)

    def _rows(self, one: Expression) -> bool:
        return bool(self.reach(one) & self.outer)

    def _sums_over_rows(self, stage: int) -> list[Expression]:
        """Reductions over rows that are complete after this pass."""
        found: dict[int, Expression] = {}
        stack = [store.expression for store in self.schedule.stores]
        visited: set[int] = set()
        while stack:
            one = stack.pop()
            if id(one) in visited:
                continue
            visited.add(id(one))
            stack.extend(one.args)
            over_rows = one.name == "reduce" and not self.schedule.is_of_row(one)
            if over_rows and self.stage(one) == stage + 1:
                found[id(one)] = one
        return list(found.values())[::-1]

    def _nest(self, stores: list[Store], sums: list[Expression], top: SourceScope, *, outer: bool) -> None:
        """Adds loops over rows, and the loops in each row, to be run by the calling thread."""
        if not stores and not sums:
            return
        loops = [(index, loop) for index, loop in self.loops if not loop.inner] if outer else []
        chunk, after = self._begin_sums(sums, top)
        roots = [*[one.expression for one in stores], *[one.args[0] for one in sums]]
        needed = list(self.schedule.below(roots))
        row = SourceScope(1 + len(loops), top) if loops else SourceScope(1, top)
        bases = self.bases(needed, stores, [index for index, _ in loops])
        opening: list[str] = []
        for depth, (index, _) in enumerate(loops):
            opening.append("    " * depth + f"for i{index} in range({self.size(index)}):")
            opening += ["    " * (depth + 1) + line for line in bases.get(index, [])]
        RowWriter(self, row, stores, sums, needed).write()
        if chunk:
            opening.insert(0, "rows = 0")
            full = [f"if rows == {self.schedule.order.chunk}:", *("    " + line for line in chunk), "    rows = 0"]
            row.lines += ["rows += 1", *full]
        indent = "    " * len(loops)
        top.lines += [*opening, *(indent + line for line in row.lines), *chunk, *after]

    # -- sums over rows

    def _begin_sums(self, sums: list[Expression], top: SourceScope) -> tuple[list[str], list[str]]:
        """Lines after each chunk of rows, and after the last row."""
        chunk, after = list[str](), list[str]()
        for one in sums:
            how, start = one.value[0], identity_text(one.value[0], one.dtype, self.names)
            added = how == "add" and one.dtype.kind == "f"
            if self.reach(one):
                self._begin_columns(one, start, top, chunk, added=added)
                continue
            name, part = self.new(), self.new()
            self.parts[id(one)] = part if added else name
            top.names[id(one)] = name
            if not added:
                top.lines.append(f"{name} = {start}")
                continue
            self.names.types.add("float64")
            exact = self.names.function("compensated")
            top.lines.append(f"{part} = lost_{part} = total_{name} = lost_{name} = 0.0")
            chunk += [
                f"total_{name}, lost_{name} = {exact}(total_{name}, lost_{name}, {part} + lost_{part})",
                f"{part} = lost_{part} = 0.0",
            ]
            after.append(f"{name} = {self.names.type(one.dtype)}(total_{name} + lost_{name})")
        return chunk, after

    def _begin_columns(self, one: Expression, start: str, top: SourceScope, chunk: list[str], *, added: bool) -> None:
        """Adds sums over rows with one number per element of a row."""
        part = self.parts[id(one)] = self.memory_of_row(one.dtype)
        self.finals[id(one)] = f"{part}[{{}}]"
        top.lines += [f"for k in range({self.row_size()}):", f"    {part}[k] = {start}"]
        if added:
            total = self.memory_of_row(FLOAT64)
            self.finals[id(one)] = (
                f"{self.names.type(one.dtype)}({total}[{{}}])" if one.dtype != FLOAT64 else f"{total}[{{}}]"
            )
            top.lines.append(f"    {total}[k] = 0.0")
            chunk += [f"for k in range({self.row_size()}):", f"    {total}[k] += {part}[k]", f"    {part}[k] = {start}"]


__all__ = ["MAX_ARRAYS", "CpuSourceWriter"]
