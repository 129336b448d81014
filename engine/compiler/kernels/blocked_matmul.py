"""Matrix products in memory, tile by tile. Imports numba.

Each element is a chain of fused multiply-adds from the first product to the last.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, njit, types

from engine.compiler.kernels.cpython_objects import ARRAY_DATA_OFFSET
from engine.compiler.kernels.raw_memory import memory_at
from engine.compiler.kernels.register_tiles import HAS_AVX512, LANES, ROWS, VECTORS, Tile

intrinsic: Any = extending.intrinsic
"""Untyped, because callers omit the first argument of decorated functions."""

TILE_HEIGHTS, PANEL_VECTORS = ((14, 8, 4, 2, 1), 2) if HAS_AVX512 else ((6, 4, 3, 2, 1), 1)
"""Rows of tiles, and vectors in a panel: the sums of the largest tile fill the registers."""


def matmul_tile(rows: int, vectors: int) -> Any:
    """out[row·pitch + i] (+)= Σₖ factors[row·down + k·along] · x[k·step + i]."""

    @intrinsic(prefer_literal=False)
    def code_of(
        typing: Any, factors: Any, down: Any, along: Any, x: Any, step: Any, count: Any, out: Any, pitch: Any, adds: Any
    ) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            factors_, down_, along_, x_, step_, count_, out_, pitch_, adds_ = args
            tile = Tile(context, builder, x.dtype)
            row_offsets = [builder.mul(down_, _index(row)) for row in range(rows)]
            indices = [
                builder.add(builder.mul(pitch_, _index(row)), _index(vector * tile.lanes))
                for row in range(rows)
                for vector in range(vectors)
            ]

            def next_sums(k: Any, sums: list[Any]) -> list[Any]:
                x_offset, factor_offset = builder.mul(k, step_), builder.mul(k, along_)
                x_vectors = [
                    tile.load(x, x_, builder.add(x_offset, _index(one * tile.lanes))) for one in range(vectors)
                ]
                new: list[Any] = []
                for row, row_offset in enumerate(row_offsets):
                    factor = tile.spread(tile.number(factors, factors_, builder.add(row_offset, factor_offset)))
                    new += [
                        tile.fma(factor, one, sums[row * vectors + position]) for position, one in enumerate(x_vectors)
                    ]
                return new

            for position in indices:
                tile.expect(out, out_, position)

            def write(start: list[Any]) -> None:
                for position, value in zip(indices, tile.loop(count_, start, next_sums), strict=True):
                    tile.store(out, out_, position, value)

            with builder.if_else(builder.icmp_signed("==", adds_, _index(0))) as (fresh, more):
                with fresh:
                    write(tile.zeros(rows * vectors))
                with more:
                    write([tile.load(out, out_, position) for position in indices])
            return context.get_dummy_value()

        index = types.int64
        return types.void(factors, index, index, x, index, index, out, index, index), code

    return code_of


def _index(number: int) -> Any:
    return ir.Constant(ir.IntType(64), number)


@njit(nogil=True, error_model="numpy")
def array_address(array):
    """The address of the elements of the array with this id."""
    return memory_at(array + ARRAY_DATA_OFFSET, types.int64, 1)[0]


def tiled_matmul(number: Any) -> Any:
    """out[row·pitch + i] (+)= Σₖ factors[row·down + k·along] · x[k·step + i] for all rows and `vectors` vectors of i.

    Memory is given by addresses. With `adds`, sums start with the content of `out`.
    """
    lanes, width = LANES[number], number.bitwidth // 8
    wide_tile, two_vector_tile, one_vector_tile = (matmul_tile(ROWS, size) for size in (VECTORS, 2, 1))
    wide_row, one_vector_row = matmul_tile(1, VECTORS), matmul_tile(1, 1)

    @njit(nogil=True, error_model="numpy")
    def multiply(factors, down, along, x, step, count, out, pitch, rows, vectors, adds):
        row = 0
        while row < rows:
            is_full = row + ROWS <= rows
            row_factors = memory_at(factors + row * down * width, number, 1)
            vector = 0
            while vector < vectors:
                columns = memory_at(x + vector * lanes * width, number, 2)
                to = memory_at(out + (row * pitch + vector * lanes) * width, number, 3)
                if is_full:
                    if vector + VECTORS <= vectors:
                        wide_tile(row_factors, down, along, columns, step, count, to, pitch, adds)
                        vector += VECTORS
                    elif vector + 2 <= vectors:
                        two_vector_tile(row_factors, down, along, columns, step, count, to, pitch, adds)
                        vector += 2
                    else:
                        one_vector_tile(row_factors, down, along, columns, step, count, to, pitch, adds)
                        vector += 1
                elif vector + VECTORS <= vectors:
                    wide_row(row_factors, down, along, columns, step, count, to, pitch, adds)
                    vector += VECTORS
                else:
                    one_vector_row(row_factors, down, along, columns, step, count, to, pitch, adds)
                    vector += 1
            row += ROWS if is_full else 1

    return multiply


def padded_copies(number: Any) -> tuple[Any, Any, Any]:
    """Functions that copy rows to padded rows, rows to padded columns, and padded rows times a factor back to rows."""

    @njit(nogil=True, error_model="numpy")
    def pad(x, step, rows, columns, out, pitch):
        source, to = memory_at(x, number, 1), memory_at(out, number, 2)
        for row in range(rows):
            for column in range(columns):
                to[row * pitch + column] = source[row * step + column]
            for column in range(columns, pitch):
                to[row * pitch + column] = number(0.0)

    @njit(nogil=True, error_model="numpy")
    def transpose(x, step, rows, columns, out, pitch):
        source, to = memory_at(x, number, 1), memory_at(out, number, 2)
        for column in range(columns):
            for row in range(rows):
                to[column * pitch + row] = source[row * step + column]
            for row in range(rows, pitch):
                to[column * pitch + row] = number(0.0)

    @njit(nogil=True, error_model="numpy")
    def unpad(x, pitch, rows, columns, out, step, factor):
        source, to = memory_at(x, number, 1), memory_at(out, number, 2)
        for row in range(rows):
            for column in range(columns):
                to[row * step + column] = source[row * pitch + column] * factor

    return pad, transpose, unpad


__all__ = ["PANEL_VECTORS", "TILE_HEIGHTS", "array_address", "matmul_tile", "padded_copies", "tiled_matmul"]
