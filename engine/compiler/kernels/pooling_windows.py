"""Max pooling, a vector of windows at a time. Imports numba."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import extending, types

from engine.compiler.kernels.raw_memory import annotate_aliasing
from engine.compiler.kernels.register_tiles import Tile

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""


def compare_windows(step: int) -> Any:
    """Compares one position of each window with the largest value so far, for windows that are `step` apart.

    `best` holds the largest values and `numbers` their positions. Lane i reads x[at + first + step·i] if
    0 ≤ first + step·i < width; other lanes do not change. A value replaces the best one if it is larger, or NaN.
    """

    @intrinsic(prefer_literal=False)
    def compared(
        typing: Any, x: Any, at: Any, first: Any, width: Any, best: Any, numbers: Any, position: Any
    ) -> Any:  # fmt: skip
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            x_, at_, first_, width_, best_, numbers_, position_ = args
            tile = Tile(context, builder, x.dtype)
            nothing = ir.Constant(tile.vector, [-math.inf] * tile.lanes)
            parts = [
                tile.load_inside(
                    x, tile.at(x, x_, at_), builder.add(first_, _index(part * tile.lanes)), width_, nothing
                )
                for part in range(step)
            ]
            values = parts[0]
            if step == 2:
                lanes = ir.Constant(ir.VectorType(ir.IntType(32), tile.lanes), list(range(0, 2 * tile.lanes, 2)))
                values = builder.shuffle_vector(parts[0], parts[1], lanes)
            old = tile.load(best, best_, _index(0))
            wins = builder.or_(builder.fcmp_ordered(">", values, old), builder.fcmp_unordered("uno", values, values))
            tile.store(best, best_, _index(0), builder.select(wins, values, old))
            kind = ir.VectorType(ir.IntType(32), tile.lanes)
            pointer = builder.bitcast(numbers_, kind.as_pointer())
            number = builder.insert_element(ir.Constant(kind, ir.Undefined), builder.trunc(position_, ir.IntType(32)),
                                            ir.Constant(ir.IntType(32), 0))  # fmt: skip
            number = builder.shuffle_vector(number, number, ir.Constant(kind, [0] * tile.lanes))
            old_numbers = annotate_aliasing(builder, numbers, builder.load(pointer, align=4))
            annotate_aliasing(
                builder, numbers, builder.store(builder.select(wins, number, old_numbers), pointer, align=4)
            )
            return context.get_dummy_value()

        index = types.int64
        return types.void(x, index, index, index, best, numbers, index), code

    return compared


def _index(number: int) -> Any:
    return ir.Constant(ir.IntType(64), number)


__all__ = ["compare_windows"]
