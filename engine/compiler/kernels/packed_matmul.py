"""Matrix products with a weight that is packed once, and sums of outer products. Imports numba."""

from __future__ import annotations

from typing import Any

from numba import njit

from engine.compiler.kernels.register_tiles import ROWS, VECTORS, lanes_of, product_tile

untyped: Any = njit
compiled = untyped(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)

three, two, one = (product_tile(ROWS, vectors) for vectors in (VECTORS, min(VECTORS, 2), 1))
row_of_three, row_of_one = product_tile(1, VECTORS), product_tile(1, 1)
three_sums, two_sums, one_sums = (
    product_tile(ROWS, vectors, transposed=True, adds=True) for vectors in (VECTORS, min(VECTORS, 2), 1)
)
sums_of_row = product_tile(1, 1, transposed=True, adds=True)


@compiled
def pack_weight(weight, count, down, across, wide, width, panels, offsets):
    """Packs a `count`×`width` matrix with strides `down` and `across` into panels as wide as tiles.

    Columns up to `wide` are zero. `offsets` receives the row offsets of panels of the widest tile, of two vectors and
    of one.
    """
    lanes = lanes_of(weight)
    for k in range(count):
        offsets[k] = k * VECTORS * lanes
        offsets[count + k] = k * 2 * lanes
        offsets[2 * count + k] = k * lanes
    at = 0
    while at < wide:
        remaining = (wide - at) // lanes
        panel = (VECTORS if remaining >= VECTORS else 2 if remaining >= 2 else 1) * lanes
        for k in range(count):
            to = at * count + k * panel
            for i in range(panel):
                panels[to + i] = weight[k * down + (at + i) * across] if at + i < width else 0.0
        at += panel


@compiled
def multiply_rows(panels, offsets, wide, factors, first, stride, count, out, to, rows):
    """Multiplies rows of factors, with stride `apart`, by panels; `rows` is that of a tile, or one."""
    lanes = lanes_of(panels)
    at = 0
    while at < wide:
        remaining, here, there = (wide - at) // lanes, at * count, to + at
        if remaining >= VECTORS:
            if rows == ROWS:
                three(panels, here, offsets, factors, first, stride, count, out, there, wide)
            else:
                row_of_three(panels, here, offsets, factors, first, stride, count, out, there, wide)
            at += VECTORS * lanes
        elif remaining >= 2 and rows == ROWS:
            two(panels, here, offsets + count, factors, first, stride, count, out, there, wide)
            at += 2 * lanes
        elif rows == ROWS:
            one(panels, here, offsets + 2 * count, factors, first, stride, count, out, there, wide)
            at += lanes
        else:
            width = 2 if remaining >= 2 else 1
            for vector in range(width):
                row_of_one(panels, here + vector * lanes, offsets + (3 - width) * count, factors, first, stride, count,
                           out, there + vector * lanes, wide)  # fmt: skip
            at += width * lanes


@compiled
def add_outer_products(x, offsets, wide, factors, first, stride, width, count, out):
    """Adds outer products of `width` factors and `wide` numbers of x to a matrix, for `count` rows."""
    lanes = lanes_of(x)
    at = 0
    while at < wide:
        remaining = (wide - at) // lanes
        vectors = VECTORS if remaining >= VECTORS else 2 if remaining >= 2 else 1
        row = 0
        while row + ROWS <= width:
            to, here = row * wide + at, first + row
            if vectors == VECTORS:
                three_sums(x, at, offsets, factors, here, stride, count, out, to, wide)
            elif vectors == 2:
                two_sums(x, at, offsets, factors, here, stride, count, out, to, wide)
            else:
                one_sums(x, at, offsets, factors, here, stride, count, out, to, wide)
            row += ROWS
        while row < width:
            for vector in range(at, at + vectors * lanes, lanes):
                sums_of_row(x, vector, offsets, factors, first + row, stride, count, out, row * wide + vector, wide)
            row += 1
        at += vectors * lanes


__all__ = ["add_outer_products", "compiled", "multiply_rows", "pack_weight"]
