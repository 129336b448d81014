"""Lane sums for the statistics and norms of tensors, as LLVM code. Imports numba.

Several vectors are summed beside each other, because an addition takes several cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import extending, types

from engine.compiler.kernels.raw_memory import RawMemory, annotate_aliasing, element_pointer
from engine.compiler.kernels.register_tiles import LANES, Tile

LANE_SUMS = 5
"""Vectors that `add_lanes` stores: sums, squares, minima, maxima, and counts of zeros."""
WIDE_LANES = LANES[types.float64]
"""Numbers per vector of float64."""
_FEW, _MANY = 2, 4
"""Vectors that are summed beside each other: of several sums, and of one."""
_INDEX = ir.IntType(64)

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""


@intrinsic(prefer_literal=False)
def add_lanes(typing: Any, x: Any, count: Any, out: Any) -> Any:
    """Computes `LANE_SUMS` of `count` vectors. They are right if no element is NaN or infinite."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x_, count_, out_ = args
        tile = Tile(context, builder, x.dtype)
        [zero] = tile.zeros(1)
        one, most = (ir.Constant(tile.vector, [number] * tile.lanes) for number in (1.0, float("inf")))
        least = ir.Constant(tile.vector, [float("-inf")] * tile.lanes)

        def lower(value: Any, other: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", value, other), value, other)

        def higher(value: Any, other: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", value, other), value, other)

        def step(number: Any, values: Sequence[Any]) -> list[Any]:
            total, squares, low, high, zeros = values
            value = tile.load(x, x_, builder.mul(number, _INDEX(tile.lanes)))
            return [
                builder.fadd(total, value),
                tile.fma(value, value, squares),
                lower(value, low),
                higher(value, high),
                builder.fadd(zeros, builder.select(builder.fcmp_ordered("==", value, zero), one, zero)),
            ]

        start, joins = [zero, zero, most, least, zero], [builder.fadd, builder.fadd, lower, higher, builder.fadd]
        found = _unrolled(tile, count_, start, step, joins, _FEW)
        _store_lanes(tile, out, out_, found)
        return context.get_dummy_value()

    return types.void(x, types.int64, out), code


@intrinsic(prefer_literal=False)
def add_deviations(typing: Any, x: Any, count: Any, middle: Any, out: Any) -> Any:
    """Adds the squared differences of `count` vectors from a number, by lanes."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x_, count_, middle_, out_ = args
        tile = Tile(context, builder, x.dtype)
        center = tile.spread(middle_)

        def step(number: Any, values: Sequence[Any]) -> list[Any]:
            value = tile.load(x, x_, builder.mul(number, _INDEX(tile.lanes)))
            distance = builder.fsub(value, center)
            return [tile.fma(distance, distance, values[0])]

        found = _unrolled(tile, count_, tile.zeros(1), step, [builder.fadd], _MANY)
        _store_lanes(tile, out, out_, found)
        return context.get_dummy_value()

    return types.void(x, types.int64, x.dtype, out), code


@intrinsic(prefer_literal=False)
def add_squares(typing: Any, x: Any, count: Any, out: Any) -> Any:
    """Stores the sums of the squares of `count` times `WIDE_LANES` elements in float64, by lanes."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x_, count_, out_ = args
        tile = Tile(context, builder, types.float64)

        def step(number: Any, values: Sequence[Any]) -> list[Any]:
            value = _wide_vector(tile, x, x_, number)
            return [tile.fma(value, value, values[0])]

        found = _unrolled(tile, count_, tile.zeros(1), step, [builder.fadd], _MANY)
        _store_lanes(tile, out, out_, found)
        return context.get_dummy_value()

    return types.void(x, types.int64, out), code


@intrinsic(prefer_literal=False)
def add_squared_changes(typing: Any, before: Any, after: Any, count: Any, out: Any) -> Any:
    """Stores the sums of the squares of `before`, then of the differences of both, as `add_squares` does."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        before_, after_, count_, out_ = args
        tile = Tile(context, builder, types.float64)

        def step(number: Any, values: Sequence[Any]) -> list[Any]:
            old = _wide_vector(tile, before, before_, number)
            change = builder.fsub(_wide_vector(tile, after, after_, number), old)
            return [tile.fma(old, old, values[0]), tile.fma(change, change, values[1])]

        found = _unrolled(tile, count_, tile.zeros(2), step, [builder.fadd] * 2, _FEW)
        _store_lanes(tile, out, out_, found)
        return context.get_dummy_value()

    return types.void(before, after, types.int64, out), code


def _unrolled(
    tile: Tile,
    count: Any,
    start: Sequence[Any],
    step: Callable[[Any, Sequence[Any]], list[Any]],
    joins: Sequence[Callable[[Any, Any], Any]],
    copies: int,
) -> list[Any]:
    """A loop that computes several copies of the values beside each other, and joins them in order."""
    builder, size = tile.builder, len(start)
    rounds = builder.sdiv(count, _INDEX(copies))

    def every(number: Any, values: Sequence[Any]) -> list[Any]:
        first = builder.mul(number, _INDEX(copies))
        found: list[Any] = []
        for copy in range(copies):
            found += step(builder.add(first, _INDEX(copy)), values[copy * size : (copy + 1) * size])
        return found

    values = tile.loop(rounds, [*start] * copies, every)
    done = builder.mul(rounds, _INDEX(copies))
    found = tile.loop(builder.sub(count, done), values[:size], lambda number, one: step(builder.add(done, number), one))
    for copy in range(1, copies):
        others = values[copy * size : (copy + 1) * size]
        found = [join(value, other) for join, value, other in zip(joins, found, others, strict=True)]
    return found


def _store_lanes(tile: Tile, out: Any, base: Any, values: Sequence[Any]) -> None:
    """Store vectors one after the other."""
    for position, value in enumerate(values):
        tile.store(out, base, _INDEX(position * tile.lanes), value)


def _wide_vector(tile: Tile, memory: RawMemory, base: Any, number: Any) -> Any:
    """The vector with this number, in float64."""
    builder = tile.builder
    kind = ir.VectorType(tile.context.get_value_type(memory.dtype), tile.lanes)
    position = builder.mul(number, _INDEX(tile.lanes))
    pointer = builder.bitcast(element_pointer(tile.context, builder, memory, base, position), kind.as_pointer())
    value = annotate_aliasing(builder, memory, builder.load(pointer, align=memory.dtype.bitwidth // 8))
    return value if memory.dtype == types.float64 else builder.fpext(value, tile.vector)


__all__ = [
    "LANE_SUMS",
    "WIDE_LANES",
    "add_deviations",
    "add_lanes",
    "add_squared_changes",
    "add_squares",
]
