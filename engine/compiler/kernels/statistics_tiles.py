"""Lane sums for the statistics of a tensor, as LLVM code. Imports numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

from engine.compiler.kernels.register_tiles import Tile

LANE_SUMS = 5
"""Vectors that `add_lanes` stores: sums, squares, minima, maxima, and counts of zeros."""

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

        def step(number: Any, values: list[Any]) -> list[Any]:
            total, squares, low, high, zeros = values
            value = tile.load(x, x_, builder.mul(number, ir.Constant(ir.IntType(64), tile.lanes)))
            return [
                builder.fadd(total, value),
                tile.fma(value, value, squares),
                builder.select(builder.fcmp_ordered("<", value, low), value, low),
                builder.select(builder.fcmp_ordered(">", value, high), value, high),
                builder.fadd(zeros, builder.select(builder.fcmp_ordered("==", value, zero), one, zero)),
            ]

        found = tile.loop(count_, [zero, zero, most, least, zero], step)
        for position, value in enumerate(found):
            tile.store(out, out_, ir.Constant(ir.IntType(64), position * tile.lanes), value)
        return context.get_dummy_value()

    return types.void(x, types.int64, out), code


@intrinsic(prefer_literal=False)
def add_deviations(typing: Any, x: Any, count: Any, middle: Any, out: Any) -> Any:
    """Adds the squared differences of `count` vectors from a number, by lanes."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x_, count_, middle_, out_ = args
        tile = Tile(context, builder, x.dtype)
        center = tile.spread(middle_)

        def step(number: Any, values: list[Any]) -> list[Any]:
            value = tile.load(x, x_, builder.mul(number, ir.Constant(ir.IntType(64), tile.lanes)))
            distance = builder.fsub(value, center)
            return [tile.fma(distance, distance, values[0])]

        [found] = tile.loop(count_, tile.zeros(1), step)
        tile.store(out, out_, ir.Constant(ir.IntType(64), 0), found)
        return context.get_dummy_value()

    return types.void(x, types.int64, x.dtype, out), code


__all__ = ["LANE_SUMS", "add_deviations", "add_lanes"]
