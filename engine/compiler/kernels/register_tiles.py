"""Tiles of matrix products that stay in registers, as LLVM code. Imports numba.

A vector has 64 bytes on every CPU; LLVM splits it if registers are smaller. So results are the same everywhere: each
element is a chain of fused multiply-adds in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import binding, ir
from numba import extending, types

from engine.compiler.kernels.numba_internals import get_or_insert_function
from engine.compiler.kernels.raw_memory import RawMemory, annotate_aliasing, element_pointer

VECTOR_BYTES = 64
_INDEX = ir.IntType(64)

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""


def _wide() -> tuple[bool, bool]:
    """Whether registers have 64 bytes, and whether there are 32 of them."""
    found = binding.get_host_cpu_features()
    wide = bool(found.get("avx512f"))
    return wide, wide or bool(found.get("neon"))


HAS_AVX512, HAS_32_REGISTERS = _wide()

LANES = {types.float32: VECTOR_BYTES // 4, types.float64: VECTOR_BYTES // 8}
"""Numbers per vector."""
ROWS, VECTORS = (8, 3) if HAS_AVX512 else (6, 1)
"""Size of a tile of `product_tile`: sums, factors and one more vector fill the registers."""
DOT_ROWS, DOT_COLUMNS = (4, 5) if HAS_AVX512 else (2, 2) if HAS_32_REGISTERS else (2, 3)
"""Size of a tile of `dot_tile`."""


class Tile:
    """Builds the LLVM code of a tile."""

    def __init__(self, context: Any, builder: Any, dtype: Any) -> None:
        self.context, self.builder, self.dtype = context, builder, dtype
        self.lanes = VECTOR_BYTES * 8 // dtype.bitwidth
        self.scalar = context.get_value_type(dtype)
        self.vector = ir.VectorType(self.scalar, self.lanes)
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        self._fma = get_or_insert_function(builder.module, kind, f"llvm.fma.v{self.lanes}f{dtype.bitwidth}")

    def at(self, memory: RawMemory, base: Any, index: Any) -> Any:
        """A pointer to an element."""
        pointer = element_pointer(self.context, self.builder, memory, base, index)
        return self.builder.bitcast(pointer, ir.IntType(8).as_pointer())

    def number(self, memory: RawMemory, base: Any, index: Any) -> Any:
        pointer = element_pointer(self.context, self.builder, memory, base, index)
        return annotate_aliasing(self.builder, memory, self.builder.load(pointer))

    def _vector_at(self, memory: RawMemory, base: Any, index: Any) -> Any:
        pointer = element_pointer(self.context, self.builder, memory, base, index)
        return self.builder.bitcast(pointer, self.vector.as_pointer())

    def load(self, memory: RawMemory, base: Any, index: Any) -> Any:
        pointer = self._vector_at(memory, base, index)
        return annotate_aliasing(self.builder, memory, self.builder.load(pointer, align=self.dtype.bitwidth // 8))

    def store(self, memory: RawMemory, base: Any, index: Any, value: Any) -> None:
        pointer = self._vector_at(memory, base, index)
        annotate_aliasing(self.builder, memory, self.builder.store(value, pointer, align=self.dtype.bitwidth // 8))

    def expect(self, memory: RawMemory, base: Any, index: Any) -> None:
        """Prefetches memory that will be written."""
        pointer = self.at(memory, base, index)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        self.builder.call(function, [pointer, *(ir.Constant(number, value) for value in (1, 3, 1))])

    def _below(self, size: Any) -> Any:
        """Mask of the lanes below a number."""
        indices_type = ir.VectorType(_INDEX, self.lanes)
        return self.builder.icmp_signed(
            "<", ir.Constant(indices_type, list(range(self.lanes))), self._all_of(indices_type, size)
        )

    def load_some(self, memory: RawMemory, base: Any, index: Any, size: Any) -> Any:
        """Loads the first numbers of a vector; other lanes are zero and not read."""
        pointer = self._vector_at(memory, base, index)
        mask = self._below(size)
        function = self._masked("load", self.vector, [pointer.type, ir.IntType(32), mask.type, self.vector])
        return self.builder.call(function, [pointer, self._alignment, mask, self.zeros(1)[0]])

    def load_inside(self, memory: RawMemory, base: Any, index: Any, size: Any, nothing: Any) -> Any:
        """Loads a vector; lanes out of bounds are those of `nothing`."""
        pointer = self._vector_at(memory, base, index)
        index_vector = ir.VectorType(_INDEX, self.lanes)
        spread = [self._all_of(index_vector, one) for one in (index, size)]
        indices = self.builder.add(spread[0], ir.Constant(index_vector, list(range(self.lanes))))
        mask = self.builder.icmp_unsigned("<", indices, spread[1])
        function = self._masked("load", self.vector, [pointer.type, ir.IntType(32), mask.type, self.vector])
        return self.builder.call(function, [pointer, self._alignment, mask, nothing])

    def _all_of(self, kind: Any, number: Any) -> Any:
        first = self.builder.insert_element(ir.Constant(kind, ir.Undefined), number, _lane_index(0))
        return self.builder.shuffle_vector(first, first, _lane_indices([0] * self.lanes))

    def store_some(self, memory: RawMemory, base: Any, index: Any, value: Any, size: Any) -> None:
        """Stores the first numbers of a vector."""
        pointer = self._vector_at(memory, base, index)
        mask = self._below(size)
        function = self._masked("store", ir.VoidType(), [self.vector, pointer.type, ir.IntType(32), mask.type])
        self.builder.call(function, [value, pointer, self._alignment, mask])

    def _masked(self, what: str, result: Any, arguments: list[Any]) -> Any:
        name = f"llvm.masked.{what}.v{self.lanes}f{self.dtype.bitwidth}.p0"
        return get_or_insert_function(self.builder.module, ir.FunctionType(result, arguments), name)

    @property
    def _alignment(self) -> Any:
        return ir.Constant(ir.IntType(32), self.dtype.bitwidth // 8)

    def spread(self, number: Any) -> Any:
        """Broadcasts a number to all lanes."""
        return self._all_of(self.vector, number)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """x·y + z, rounded once."""
        return self.builder.call(self._fma, [x, y, z])

    def totals(self, values: Sequence[Any]) -> list[Any]:
        """Vectors with the lane sums of `values`, by repeated halving."""
        builder, size = self.builder, self.lanes
        values = [*values, *self.zeros(-len(values) % self.lanes)]
        while size > 1:
            size //= 2
            first_lanes = [lane for lane in range(2 * self.lanes) if lane % (2 * size) < size]
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [
                builder.fadd(
                    *(
                        builder.shuffle_vector(*pair, _lane_indices([k + offset for k in first_lanes]))
                        for offset in (0, size)
                    )
                )
                for pair in pairs
            ]
        return values

    def zeros(self, number: int) -> list[Any]:
        return [ir.Constant(self.vector, [0.0] * self.lanes)] * number

    def loop(self, count: Any, start: Sequence[Any], step: Callable[[Any, list[Any]], Sequence[Any]]) -> list[Any]:
        """A loop in which `step(number, values)` computes the next values."""
        builder = self.builder
        before = builder.basic_block
        head, body, end = (builder.append_basic_block(name) for name in ("head", "body", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        number = builder.phi(_INDEX)
        values = [builder.phi(self.vector) for _ in start]
        number.add_incoming(_index(0), before)
        builder.cbranch(builder.icmp_signed("<", number, count), body, end)
        builder.position_at_end(body)
        found = step(number, values)
        number.add_incoming(builder.add(number, _index(1)), builder.basic_block)
        for value, first, new in zip(values, start, found, strict=True):
            value.add_incoming(first, before)
            value.add_incoming(new, builder.basic_block)
        builder.branch(head)
        builder.position_at_end(end)
        return values


def product_tile(rows: int, vectors: int, *, transposed: bool = False, adds: bool = False) -> Any:
    """out[to + row·pitch + i] = Σₖ factor(row, k) · x[at + offsets[k] + i], for `vectors` vectors of i.

    A factor is factors[first + row·apart + k], or factors[first + k·apart + row] if `transposed`. Sums start with the
    content of `out` if it `adds`.
    """

    @intrinsic(prefer_literal=False)
    def tile(
        typing: Any, x: Any, at: Any, offsets: Any, factors: Any, first: Any, apart: Any, count: Any, out: Any,
        to: Any, pitch: Any,
    ) -> Any:  # fmt: skip
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            x_, at_, offsets_, factors_, first_, apart_, count_, out_, to_, pitch_ = args
            tile = Tile(context, builder, x.dtype)
            here, numbers, there = tile.at(x, x_, at_), tile.at(factors, factors_, first_), tile.at(out, out_, to_)
            indices = [
                builder.add(builder.mul(pitch_, _index(row)), _index(vector * tile.lanes))
                for row in range(rows)
                for vector in range(vectors)
            ]
            skips = [_index(row) if transposed else builder.mul(apart_, _index(row)) for row in range(rows)]

            def step(k: Any, sums: list[Any]) -> list[Any]:
                x_start = tile.at(x, here, tile.number(offsets, offsets_, k))
                found = [tile.load(x, x_start, _index(vector * tile.lanes)) for vector in range(vectors)]
                begin = builder.mul(k, apart_) if transposed else k
                new = []
                for row, skip in enumerate(skips):
                    factor = tile.spread(tile.number(factors, numbers, builder.add(begin, skip)))
                    new += [tile.fma(factor, one, sums[row * vectors + position]) for position, one in enumerate(found)]
                return new

            start = [tile.load(out, there, position) for position in indices] if adds else tile.zeros(len(indices))
            for position, value in zip(indices, tile.loop(count_, start, step), strict=True):
                tile.store(out, there, position, value)
            return context.get_dummy_value()

        index = types.int64
        return types.void(x, index, offsets, factors, index, index, index, out, index, index), code

    return tile


def dot_tile(rows: int, columns: int) -> Any:
    """out[to + row·columns + column] += Σᵢ Σ lanes of g[ours[i] + row·pitch] · x[theirs[i] + offsets[first + column]].

    Whole vectors are written.
    """

    @intrinsic(prefer_literal=False)
    def tile(
        typing: Any, g: Any, ours: Any, at: Any, pitch: Any, x: Any, theirs: Any, offsets: Any, first: Any, count: Any,
        out: Any, to: Any,
    ) -> Any:  # fmt: skip
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            g_, ours_, at_, pitch_, x_, theirs_, offsets_, first_, count_, out_, to_ = args
            tile = Tile(context, builder, x.dtype)
            upper = tile.at(g, g_, at_)
            begins = [
                tile.at(x, x_, tile.number(offsets, offsets_, builder.add(first_, _index(column))))
                for column in range(columns)
            ]
            skips = [builder.mul(pitch_, _index(row)) for row in range(rows)]

            def step(i: Any, sums: list[Any]) -> list[Any]:
                position, x_start = tile.number(ours, ours_, i), tile.number(theirs, theirs_, i)
                left = [tile.load(g, upper, builder.add(position, skip)) for skip in skips]
                new = list(sums)
                for column, begin in enumerate(begins):
                    right = tile.load(x, begin, x_start)
                    for row in range(rows):
                        number = row * columns + column
                        new[number] = tile.fma(left[row], right, sums[number])
                return new

            found = tile.totals(tile.loop(count_, tile.zeros(rows * columns), step))
            for number, value in enumerate(found):
                position = builder.add(to_, _index(number * tile.lanes))
                tile.store(out, out_, position, builder.fadd(tile.load(out, out_, position), value))
            return context.get_dummy_value()

        index = types.int64
        return types.void(g, ours, index, index, x, theirs, offsets, index, index, out, index), code

    return tile


@intrinsic
def lanes_of(typing: Any, memory: Any) -> Any:
    """Numbers per vector of a memory's dtype."""
    lanes = LANES[memory.dtype]
    return types.int64(memory), lambda context, builder, signature, args: _index(lanes)


@intrinsic(prefer_literal=False)
def copy_padded(typing: Any, out: Any, to: Any, x: Any, at: Any, size: Any) -> Any:
    """Copies numbers, followed by at least one zero, up to a whole vector."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out_, to_, x_, at_, size_ = args
        tile = Tile(context, builder, x.dtype)
        here, there = tile.at(x, x_, at_), tile.at(out, out_, to_)

        def step(number: Any, _: list[Any]) -> list[Any]:
            position = builder.mul(number, _index(tile.lanes))
            tile.store(out, there, position, tile.load_some(x, here, position, builder.sub(size_, position)))
            return []

        tile.loop(builder.add(builder.sdiv(size_, _index(tile.lanes)), _index(1)), [], step)
        return context.get_dummy_value()

    index = types.int64
    return types.void(out, index, x, index, index), code


@intrinsic(prefer_literal=False)
def write_biased(typing: Any, out: Any, to: Any, x: Any, at: Any, size: Any, more: Any) -> Any:
    """Writes numbers with a bias added to each."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out_, to_, x_, at_, size_, more_ = args
        tile = Tile(context, builder, x.dtype)
        here, there, added = tile.at(x, x_, at_), tile.at(out, out_, to_), tile.spread(more_)

        def step(number: Any, _: list[Any]) -> list[Any]:
            position = builder.mul(number, _index(tile.lanes))
            value = builder.fadd(tile.load(x, here, position), added)
            tile.store_some(out, there, position, value, builder.sub(size_, position))
            return []

        rounded = builder.add(size_, _index(tile.lanes - 1))
        tile.loop(builder.sdiv(rounded, _index(tile.lanes)), [], step)
        return context.get_dummy_value()

    index = types.int64
    return types.void(out, index, x, index, index, x.dtype), code


def _index(number: int) -> Any:
    return ir.Constant(_INDEX, number)


def _lane_index(lane: int) -> Any:
    return ir.Constant(ir.IntType(32), lane)


def _lane_indices(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)


__all__ = [
    "DOT_COLUMNS",
    "DOT_ROWS",
    "LANES",
    "ROWS",
    "VECTORS",
    "copy_padded",
    "dot_tile",
    "lanes_of",
    "product_tile",
    "write_biased",
]
