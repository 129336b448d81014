"""Launches over rows, and over blocks of rows that are too long for one block of threads."""

from __future__ import annotations

from engine.compiler.kernels.cuda.accumulators import (
    Accumulator,
    block_accumulator,
    is_order_dependent,
    same_type_accumulator,
)
from engine.compiler.kernels.cuda.cuda_expressions import register_type
from engine.compiler.kernels.cuda.cuda_module import CudaScope
from engine.compiler.kernels.cuda.launch_writer import LaunchWriter
from engine.compiler.kernels.kernel_schedule import Store
from engine.compiler.kernels.scalar_expression import Expression


class RowReductionWriter(LaunchWriter):
    """Each row is computed by one block of threads, or by one warp if it is short, in one or several loops."""

    def body(self) -> list[str]:
        outer = self.loop_indices(inner=False)
        phases: dict[int, int] = {}
        schedule = self.spec.schedule
        reduces, stores = self.launch.reduces, [one for one in self.launch.stores if one.axes & self.looped]
        last = max([schedule.phase(one, phases) for one in self.needed], default=0)
        for phase in range(last + 1):
            reduced = [one for one in reduces if schedule.phase(one, phases) == phase + 1]
            stored = [one for one in stores if schedule.phase(one.expression, phases) == phase]
            if reduced or stored:
                self._loop(reduced, stored)
        self._of_rows([one for one in self.launch.stores if one not in stores])
        return [
            f"const Index rows = {self.size(outer)}, size = {self.size(self.loop_indices(inner=True))};",
            "const Index together = gridDim.x * (Index)blockDim.y;",
            "for (Index row = blockIdx.x * (Index)blockDim.y + threadIdx.y; row < rows; row += together) {",
            *("    " + line for line in [*self.index_lines("row", outer), *self.scope.lines]), "}",
        ]  # fmt: skip

    def _loop(self, reduced: list[Expression], stored: list[Store]) -> None:
        """Adds a loop of all threads over the row."""
        self.count_uses([*[one.args[0] for one in reduced], *[one.expression for one in stored]])
        inside = self.inside = CudaScope(self.scope)
        before, fresh, after, done = list[str](), list[str](), list[str](), list[str]()
        for one in reduced:
            value, name = self.use(one.args[0], inside), self.new()
            start, how = self.text.identity(one.value[0], one.dtype), self.module.combiner(one)
            ordered = is_order_dependent(one)
            (fresh if ordered else before).append(f"{register_type(one.dtype)} part_{name} = {start};")
            inside.lines.append(f"part_{name} = {how}::of<{register_type(one.dtype)}>(part_{name}, {value});")
            if ordered:
                total = block_accumulator(self.module, one)
                before.append(f"{total.kind} total_{name} = {total.start};")
                call = f"{self.module.helper('add_blocks')}<{how}, {total.how}>(total_{name}, part_{name})"
                after.append(f"total_{name} = {call};")
                done.append(f"const {register_type(one.dtype)} {name} = {total.result(one, f'total_{name}')};")
            else:
                done.append(
                    f"const {register_type(one.dtype)} {name} = {self.module.helper('reduce_row')}<{how}>(part_{name});"
                )
            self.scope.names[id(one)] = name
        stores = [self.store(one, inside) for one in stored]
        lines = [*inside.lines, *stores]
        self.inside = None
        self.scope.lines += [*before, *self._through(lines, fresh, after), *done]

    def _through(self, lines: list[str], fresh: list[str], after: list[str]) -> list[str]:
        lines = [*self.index_lines("k", self.loop_indices(inner=True)), *lines]
        if not after:
            return ["for (Index k = threadIdx.x; k < size; k += blockDim.x) {", *("    " + line for line in lines), "}"]
        block = self.spec.schedule.order.block
        inner = [
            f"const Index start = first + threadIdx.x / 32 * {block};",
            f"const Index stop = start + {block} < size ? start + {block} : size;", *fresh,
            "for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {", *("    " + line for line in lines), "}",
            *after,
        ]  # fmt: skip
        step = f"blockDim.x / 32 * {block}"
        return [f"for (Index first = 0; first < size; first += {step}) {{", *("    " + line for line in inner), "}"]

    def _of_rows(self, stores: list[Store]) -> None:
        """Adds values that are one number for the whole row."""
        if not stores and not self.launch.saved:
            return
        scope = self.scope
        self.count_uses([*self.launch.saved, *[one.expression for one in stores]])
        ends = [self.save(one, scope) for one in self.launch.saved] + [self.store(one, scope) for one in stores]
        if any(one.index in self.spec.in_place for one in stores):
            scope.lines.append("if (blockDim.x == 32) __syncwarp(); else __syncthreads();")
        scope.lines += ["if (threadIdx.x == 0) {", *("    " + line for line in ends), "}"]


class RowBlockWriter(LaunchWriter):
    """Each warp sums a block of a row."""

    def body(self) -> list[str]:
        launch, block = self.launch, self.spec.schedule.order.block
        outer, inner = self.loop_indices(inner=False), self.loop_indices(inner=True)
        self.count_uses([*[one.args[0] for one in launch.reduces], *[one.expression for one in launch.stores]])
        inside = self.inside = CudaScope(self.scope)
        fresh, ends = list[str](), list[str]()
        for one in launch.reduces:
            value, name = self.use(one.args[0], inside), self.new()
            total: Accumulator = same_type_accumulator(self.module, one)
            fresh.append(f"{total.kind} {name} = {total.start};")
            inside.lines.append(f"{name} = {total.how}::of<{total.kind}>({name}, {value});")
            index = self.module.add_part_buffer(one, self.module.size(launch.outer) * self._blocks())
            self.written.add(self.parameter(("memory", index)))
            ends += [
                f"{name} = {self.module.helper('reduce_warp')}<{total.how}>({name});",
                f"if (threadIdx.x % 32 == 0) {self.parameter(('memory', index))}[block * rows + row] = {name};",
            ]
        stores = [self.store(one, inside) for one in launch.stores]
        lines = [*self.index_lines("k", inner), *inside.lines, *stores]
        self.inside = None
        within = [
            "const Index row = id / blocks, block = id % blocks;", *self.index_lines("row", outer), *self.scope.lines,
            f"const Index start = block * {block}, stop = start + {block} < size ? start + {block} : size;", *fresh,
            "for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {", *("    " + line for line in lines), "}",
            *ends,
        ]  # fmt: skip
        return [
            f"const Index rows = {self.size(outer)}, size = {self.size(inner)};",
            f"const Index blocks = (size + {block - 1}) / {block};",
            "const Index warps = gridDim.x * (Index)blockDim.x / 32;",
            "for (Index id = (blockIdx.x * (Index)blockDim.x + threadIdx.x) / 32; id < rows * blocks; id += warps) {",
            *("    " + line for line in within), "}",
        ]  # fmt: skip

    def _blocks(self) -> int:
        return -(-self.module.size(self.launch.inner) // self.spec.schedule.order.block)


__all__ = ["RowBlockWriter", "RowReductionWriter"]
