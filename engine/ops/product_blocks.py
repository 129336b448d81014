"""Large matrix products as blocks. OpenBLAS multiplies each in one thread.

The blocks depend on shapes alone, so the bits of a product do not depend on the number of threads that share them.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from engine.system.blas_threads import ONE_THREAD, blas_libraries, openblas_function

Sizes: TypeAlias = tuple[int, ...]

MIN_WORK = 1 << 22
"""Multiply-adds from which products are divided, about 0.1 ms in one thread."""
_MIN_BLOCK_WORK = 1 << 20
_MAX_BLOCKS = 16
_MIN_LINES = 96
"""Minimum number of rows or columns of a block. Each block copies all of the other matrix."""
_LINES = 48
"""Blocks have a multiple of this number of rows or columns, which fits the tiles of all of OpenBLAS's kernels."""
_MAX_PRODUCTS = 1 << 12
_NANOSECONDS = 0.025 / 4
"""Estimated nanoseconds per multiply-add and byte of an element, in one thread."""
_ROW_MAJOR, _AS_IS, _TRANSPOSED = 101, 111, 112


class BlockWords(NamedTuple):
    """Indices of the words of a block: the arguments of `cblas_gemm` that change, after its address and word size."""

    FUNCTION: int = 0
    INTEGER_BITS: int = 1
    TRANSPOSE_A: int = 2
    TRANSPOSE_B: int = 3
    ROWS: int = 4
    COLUMNS: int = 5
    INNER: int = 6
    A: int = 7
    A_STRIDE: int = 8
    B: int = 9
    B_STRIDE: int = 10
    C: int = 11
    C_STRIDE: int = 12
    SIZE: int = 13


WORDS = BlockWords()

BlockRunner: TypeAlias = Callable[[Any, Any, float], None]
"""Called with the words of all blocks, the dtype, and the estimated nanoseconds in one thread."""


class Gemm(NamedTuple):
    """OpenBLAS's matrix product for a dtype."""

    function: Any
    address: int
    integer_bits: int


def multiply_in_blocks(x: Any, y: Any, out: Any = None) -> Any:
    """Product of two matrices, or of batches of them; None if NumPy has to compute it, or to refuse it."""
    gemm = _gemm(x.dtype.str) if x.dtype == y.dtype else None
    if gemm is None or x.shape[-1] != y.shape[-2] or not (x.flags.aligned and y.flags.aligned):
        return None
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    a, b = _address(x), _address(y)
    template = _template(x.shape, x.strides, y.shape, y.strides, x.itemsize)
    is_gram = a == b and x.strides[-2:] == y.strides[:-3:-1]  # BLAS has another function for these
    if template is None or is_gram or (out is not None and out.shape != shape):
        return None
    fits = out is not None and out.dtype == x.dtype and out.flags.c_contiguous
    result: Any = out if fits else np.empty(shape, x.dtype)
    blocks = template.copy()
    blocks[:, WORDS.FUNCTION], blocks[:, WORDS.INTEGER_BITS] = gemm.address, gemm.integer_bits
    blocks[:, WORDS.A] += a
    blocks[:, WORDS.B] += b
    blocks[:, WORDS.C] += _address(result)
    with ONE_THREAD:
        _runner(blocks, x.dtype, result.size * x.shape[-1] * x.itemsize * _NANOSECONDS)
    if out is None or fits:
        return result
    out[...] = result
    return out


def run_in_order(blocks: Any, dtype: Any, nanoseconds: float = 0.0) -> None:
    """Multiply one block after the other in this thread."""
    gemm = _gemm(dtype.str)
    assert gemm is not None
    for _, _, a_order, b_order, rows, columns, inner, a, a_stride, b, b_stride, c, c_stride in blocks.tolist():
        gemm.function(
            _ROW_MAJOR, a_order, b_order, rows, columns, inner, 1.0, a, a_stride, b, b_stride, 0.0, c, c_stride
        )


_runner: BlockRunner = run_in_order


def set_block_runner(runner: BlockRunner) -> None:
    """Multiply blocks with `runner`, which may share them between threads."""
    global _runner
    _runner = runner


# -- blocks


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


@functools.lru_cache(256)
def _template(x_shape: Sizes, x_strides: Sizes, y_shape: Sizes, y_strides: Sizes, itemsize: int) -> Any:
    """The words of all blocks, with offsets in bytes in place of addresses; None if BLAS needs copies of a matrix."""
    rows, inner, columns = x_shape[-2], x_shape[-1], y_shape[-1]
    x_layout, y_layout = _layout(x_shape, x_strides, itemsize), _layout(y_shape, y_strides, itemsize)
    batch = np.broadcast_shapes(x_shape[:-2], y_shape[:-2])
    if x_layout is None or y_layout is None or min(rows, columns, inner) < 2 or math.prod(batch) > _MAX_PRODUCTS:
        return None
    borders = list(_borders(rows, columns, inner, math.prod(batch)))
    one = np.zeros((len(borders), WORDS.SIZE), np.int64)
    for words, (top, bottom, left, right) in zip(one, borders, strict=True):
        words[WORDS.ROWS], words[WORDS.COLUMNS] = bottom - top, right - left
        words[WORDS.A], words[WORDS.B] = top * x_strides[-2], left * y_strides[-1]
        words[WORDS.C] = (top * columns + left) * itemsize
    one[:, WORDS.TRANSPOSE_A], one[:, WORDS.A_STRIDE] = x_layout
    one[:, WORDS.TRANSPOSE_B], one[:, WORDS.B_STRIDE] = y_layout
    one[:, WORDS.INNER], one[:, WORDS.C_STRIDE] = inner, columns
    every = np.repeat(one[None], math.prod(batch), axis=0)
    every[:, :, WORDS.A] += _offsets(batch, x_shape, x_strides)[:, None]
    every[:, :, WORDS.B] += _offsets(batch, y_shape, y_strides)[:, None]
    every[:, :, WORDS.C] += np.arange(math.prod(batch))[:, None] * (rows * columns * itemsize)
    return every.reshape(-1, WORDS.SIZE)


def _layout(shape: Sizes, strides: Sizes, itemsize: int) -> tuple[int, int] | None:
    """Order of a matrix, and elements between its rows or columns; None if neither is contiguous."""
    for order, (step, size), stride in (
        (_AS_IS, (strides[-1], shape[-1]), strides[-2]),
        (_TRANSPOSED, (strides[-2], shape[-2]), strides[-1]),
    ):
        if step == itemsize and stride % itemsize == 0 and size <= stride // itemsize < 1 << 31:
            return order, stride // itemsize
    return None


def _borders(rows: int, columns: int, inner: int, products: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield first and last row and first and last column of each block of a product."""
    by_rows = rows >= min(columns, 4 * _MIN_LINES)
    lines = rows if by_rows else columns
    count = min(_MAX_BLOCKS // products, rows * columns * inner // _MIN_BLOCK_WORK, lines // _MIN_LINES)
    step = -(-lines // (max(count, 1) * _LINES)) * _LINES
    for start in range(0, lines, step):
        stop = min(start + step, lines)
        yield (start, stop, 0, columns) if by_rows else (0, rows, start, stop)


def _offsets(batch: Sizes, shape: Sizes, strides: Sizes) -> Any:
    """Byte offset of the matrix of each product."""
    found = np.zeros((), np.int64)
    missing = len(batch) - len(shape[:-2])
    sizes, steps = (*(1,) * missing, *shape[:-2]), (*(0,) * missing, *strides[:-2])
    for length, size, stride in zip(batch, sizes, steps, strict=True):
        found = np.add.outer(found, np.arange(length) * (stride if size > 1 else 0))
    return found.reshape(-1)


# -- OpenBLAS


@functools.cache
def is_openblas() -> bool:
    """Whether NumPy may use OpenBLAS, whose results depend on its number of threads."""
    return any(library.internal_api == "openblas" for library in blas_libraries())


@functools.cache
def _gemm(dtype: str) -> Gemm | None:
    """The function that NumPy uses for a native dtype; None if it is not found."""
    kind = {np.dtype(np.float32).str: "s", np.dtype(np.float64).str: "d"}.get(dtype)
    library = _numpys_openblas()
    if kind is None or library is None:
        return None
    function = openblas_function(library, f"cblas_{kind}gemm")
    configuration = openblas_function(library, "openblas_get_config")
    if function is None or configuration is None:
        return None
    configuration.restype = ctypes.c_char_p
    bits = 64 if b"USE64BITINT" in configuration() else 32
    integer: Any = ctypes.c_int64 if bits == 64 else ctypes.c_int32
    real: Any = ctypes.c_float if kind == "s" else ctypes.c_double
    pointer, enum = ctypes.c_void_p, ctypes.c_int
    function.restype = None
    function.argtypes = (
        *(enum, enum, enum, integer, integer, integer, real),
        *(pointer, integer, pointer, integer, real, pointer, integer),
    )
    return Gemm(function, ctypes.cast(function, pointer).value or 0, bits)


def _numpys_openblas() -> ctypes.CDLL | None:
    """The OpenBLAS that NumPy has loaded; None if several are loaded, and NumPy's is not among its files.

    It is also None for builds with OpenMP, which have a number of threads for each calling thread, and for builds
    without threads, which several threads must not call.
    """
    found = [library for library in blas_libraries() if library.internal_api == "openblas"]
    folder = Path(np.__file__).parent
    folders = {folder, folder.with_name("numpy.libs")}
    chosen = [library for library in found if folders & set(Path(library.filepath).parents)] or found
    if len(chosen) != 1 or chosen[0].threading_layer != "pthreads":
        return None
    return ctypes.CDLL(chosen[0].filepath, handle=chosen[0].dynlib._handle)
