"""Matrix products of arrays whose bits do not depend on the number of threads.

OpenBLAS divides a product between its threads. The borders depend on the number of threads, and elements at borders are
summed in another order. So it multiplies in one thread here, and large products are divided into fixed blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.ops.product_blocks import MIN_WORK, is_openblas, multiply_in_blocks
from engine.system.blas_threads import ONE_THREAD

BLAS_TYPES = "fdFD"
"""Type codes of the elements that NumPy multiplies by BLAS."""
SMALL_VECTOR_WORK, _SMALL_WORK = 1 << 13, 1 << 18
"""Maximum multiply-adds of a product with a vector and of a product of matrices that OpenBLAS never divides."""


def matrix_product(xp: Any, x: Any, y: Any, out: Any = None) -> Any:
    """`xp.matmul`, with the same bits for any number of threads.

    A batch times a shared matrix is one product of matrices, which is faster.
    """
    if x.ndim > 2 and y.ndim == 2:
        rows = math.prod(x.shape[:-1])
        flat = None if out is None or not out.flags.c_contiguous else out.reshape(rows, out.shape[-1])
        product = matrix_product(xp, x.reshape(rows, x.shape[-1]), y, flat).reshape(*x.shape[:-1], y.shape[-1])
        if out is None or flat is not None:
            return product
        out[...] = product
        return out
    if xp is not np or x.dtype.char not in BLAS_TYPES or is_undivided(x.shape, y.shape) or not is_openblas():
        return xp.matmul(x, y, out=out)
    if x.ndim > 1 and y.ndim > 1 and _work(x.shape, y.shape) >= MIN_WORK:
        product = multiply_in_blocks(x, y, out)
        if product is not None:
            return product
    with ONE_THREAD:
        return np.matmul(x, y, out=out)


def is_undivided(x: Sequence[int], y: Sequence[int]) -> bool:
    """Whether OpenBLAS uses one thread for a product of these shapes, however many it has."""
    rows, columns = x[-2] if len(x) > 1 else 1, y[-1] if len(y) > 1 else 1
    return rows * x[-1] * columns <= (SMALL_VECTOR_WORK if rows == 1 or columns == 1 else _SMALL_WORK)


def _work(x: tuple[int, ...], y: tuple[int, ...]) -> int:
    """Multiply-adds of all products of a batch."""
    products = 1 if len(x) == 2 == len(y) else math.prod(np.broadcast_shapes(x[:-2], y[:-2]))
    return products * x[-2] * x[-1] * y[-1]
