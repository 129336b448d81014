"""Products of matrices in plans: of any sizes and orders of memory, and the same bits with any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.compiler.kernels.library.products import Product

SIZES = [
    (37, 50, 70), (37, 500, 70), (9, 390, 171), (64, 128, 10), (10, 64, 128), (700, 33, 17), (3, 400, 500),
    (515, 200, 33), (1, 1, 1), (1030, 17, 130),
]  # fmt: skip


def matrix(rows: int, columns: int, order: str, dtype: Any) -> Any:
    draw = np.random.default_rng(rows * columns)
    if order == "strided":
        return draw.normal(size=(2 * rows, columns + 3)).astype(dtype)[::2, 3:]
    found = draw.normal(size=(rows, columns)).astype(dtype)
    return np.asfortranarray(found) if order == "F" else found


def product(left: Any, right: Any) -> Any:
    out = np.full((len(left), right.shape[1]), 7, left.dtype)
    Product(len(left), right.shape[1], len(right), left.dtype)(left, right, out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("orders", ["CC", "FC", "CF", "FF", "SC", "CS"])
def test_products_of_any_size(dtype: Any, orders: str) -> None:
    one, two = ("strided" if order == "S" else order for order in orders)
    for rows, depth, columns in SIZES:
        left, right = matrix(rows, depth, one, dtype), matrix(depth, columns, two, dtype)
        exact = left.astype(np.longdouble) @ right.astype(np.longdouble)
        bound = np.abs(left).astype(np.longdouble) @ np.abs(right) * np.finfo(dtype).eps * depth
        assert (np.abs(product(left, right) - exact) <= bound).all(), (rows, depth, columns)


def test_bits_do_not_depend_on_threads_or_neighbours() -> None:
    left, right = matrix(300, 400, "C", np.float32), matrix(400, 200, "F", np.float32)
    threads, found = engine.get_num_threads(), []
    try:
        for number in (1, 2, 3):
            engine.set_num_threads(number)
            found.append(product(left, right))
    finally:
        engine.set_num_threads(threads)
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()
    assert (product(left[7:50], right[:, 3:40]) == found[0][7:50, 3:40]).all()


def test_nothing_is_read_from_beside_a_matrix() -> None:
    around = np.full((40, 60), np.nan, np.float32)
    around[5:35, 10:50] = 1
    assert (product(around[5:35, 10:50], around[5:35, 10:50].T.copy()) == 40).all()
