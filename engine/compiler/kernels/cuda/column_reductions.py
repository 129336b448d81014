"""Launches that sum over rows, and launches that add partial sums."""

from __future__ import annotations

from engine.compiler.kernels.cuda.accumulators import (
    PAIR,
    Accumulator,
    block_accumulator,
    chunk_accumulator,
    row_accumulator,
)
from engine.compiler.kernels.cuda.cuda_expressions import register_type
from engine.compiler.kernels.cuda.cuda_module import CudaModule, CudaScope
from engine.compiler.kernels.cuda.launch_planning import KernelLaunch, is_sequential, part_count
from engine.compiler.kernels.cuda.launch_writer import LaunchWriter
from engine.compiler.kernels.scalar_expression import Expression


class ColumnReductionWriter(LaunchWriter):
    """Each thread sums a chunk of rows in one column."""

    def __init__(self, module: CudaModule, launch: KernelLaunch, number: int) -> None:
        super().__init__(module, launch, number)
        self.looped = frozenset(launch.outer)

    def body(self) -> list[str]:
        launch = self.launch
        outer, inner = self.loop_indices(inner=False), self.loop_indices(inner=True)
        rows, order = self.module.size(launch.outer), self.spec.schedule.order
        chunk = rows if any(map(is_sequential, launch.reduces)) else order.chunk
        self.fields.update(chunk=chunk, parts=part_count(chunk, rows))
        self.count_uses([*[one.args[0] for one in launch.reduces], *[one.expression for one in launch.stores]])
        inside = self.inside = CudaScope(self.scope)
        fresh, ends = list[str](), list[str]()
        for one in launch.reduces:
            self._sum(one, inside, fresh, ends)
        stores = [self.store(one, inside) for one in launch.stores]
        lines = [*self.index_lines("row", outer), *inside.lines, *stores]
        self.inside = None
        ends += self.finish(self.scope)
        return [
            f"const Index columns = {self.size(inner)}, rows = {self.size(outer)};",
            "const Index across = (columns + blockDim.x - 1) / blockDim.x;",
            "const Index column = blockIdx.x % across * blockDim.x + threadIdx.x;",
            "const Index chunk = blockIdx.x / across * blockDim.y + threadIdx.y;",
            "if (column >= columns || chunk >= at.parts) return;",
            *self.index_lines("column", inner), *self.scope.lines,
            "const Index start = chunk * at.chunk, stop = start + at.chunk < rows ? start + at.chunk : rows;", *fresh,
            "for (Index row = start; row < stop; ++row) {", *("    " + line for line in lines), "}", *ends,
        ]  # fmt: skip

    def _sum(self, one: Expression, inside: CudaScope, fresh: list[str], ends: list[str]) -> None:
        numbers = not self.launch.inner
        value, name = self.use(one.args[0], inside), self.new()
        chunk = row_accumulator(self.module, one, numbers=numbers)
        fresh.append(f"{chunk.kind} part_{name} = {chunk.start};")
        inside.lines.append(f"part_{name} = {accumulated(chunk, f'part_{name}', value)};")
        if self.launch.is_part:
            index = self.module.add_part_buffer(
                one, self.module.size(self.launch.inner) * self.fields["parts"], wide=chunk.kind == PAIR
            )
            pointer = self.parameter(("memory", index))
            self.written.add(pointer)
            part = f"part_{name}.a + part_{name}.b" if chunk.kind == PAIR else f"part_{name}"
            ends.append(f"{pointer}[chunk * columns + column] = {part};")
        else:
            ends.append(f"const {register_type(one.dtype)} {name} = {chunk.result(one, f'part_{name}')};")
            self.scope.names[id(one)] = name


class PartialSumWriter(LaunchWriter):
    """Each thread adds the parts of one sum."""

    def __init__(self, module: CudaModule, launch: KernelLaunch, number: int) -> None:
        super().__init__(module, launch, number)
        self.looped = frozenset()

    def body(self) -> list[str]:
        inner = self.loop_indices(inner=True)
        lines = self.index_lines("column", inner)
        for one in self.launch.reduces:
            lines += self._total(one)
        return [
            f"const Index columns = {self.size(inner)}, step = gridDim.x * (Index)blockDim.x;",
            "for (Index column = blockIdx.x * (Index)blockDim.x + threadIdx.x; column < columns; column += step) {",
            *("    " + line for line in [*lines, *self.finish(self.scope)]), "}",
        ]  # fmt: skip

    def _total(self, one: Expression) -> list[str]:
        module, name = self.module, self.new()
        of_row = self.spec.schedule.is_of_row(one)
        total = (
            block_accumulator(module, one) if of_row else chunk_accumulator(module, one, numbers=not self.launch.inner)
        )
        index = module.parts[id(one)]
        pointer = self.parameter(("memory", index))
        count = module.memory[index].count // module.size(self.launch.inner)
        self.field("parts", count)
        self.scope.names[id(one)] = name
        more = accumulated(total, f"total_{name}", f"{pointer}[part * columns + column]")
        return [
            f"{total.kind} total_{name} = {total.start};",
            f"for (Index part = 0; part < at.parts; ++part) total_{name} = {more};",
            f"const {register_type(one.dtype)} {name} = {total.result(one, f'total_{name}')};",
        ]


def accumulated(total: Accumulator, name: str, value: str) -> str:
    """The accumulator with one more number."""
    if total.kind == PAIR or total.how == "InDouble":
        return f"{total.how}::of({name}, {value})"
    return f"{total.how}::of<{total.kind}>({name}, {value})"


__all__ = ["ColumnReductionWriter", "PartialSumWriter"]
