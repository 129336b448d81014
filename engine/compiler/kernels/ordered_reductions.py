"""Reductions of NumPy arrays in the order of `ReductionOrder`, with the bits of compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.kernels.kernel_schedule import ReductionOrder

_ORDERED = {"add": (np.add, 0.0), "multiply": (np.multiply, 1.0)}
"""Float reductions whose result depends on the order, and their initial values."""


def reduce_rows(how: str, x: Any, order: ReductionOrder) -> Any:
    """Reduces each row of an R×N array."""
    if how not in _ORDERED or x.dtype.kind != "f":
        return _in_any_order(how, x, 1)
    blocks = _blocks(how, x, order)
    if blocks.shape[1] == 1:
        return blocks[:, 0]
    if how == "multiply":
        return _one_by_one(np.multiply, blocks, 1)
    if x.dtype == np.float64:
        return compensated(blocks, 1)
    return _one_by_one(np.add, blocks.astype(np.float64), 1).astype(x.dtype)


def reduce_columns(how: str, x: Any, order: ReductionOrder) -> Any:
    """Reduces each column of an R×N array."""
    if how not in _ORDERED or x.dtype.kind != "f":
        return _in_any_order(how, x, 0)
    if how == "multiply":
        return _one_by_one(np.multiply, x, 0)
    full = len(x) // order.chunk * order.chunk
    chunks = np.add.reduce(x[:full].reshape(-1, order.chunk, x.shape[1]), axis=1, initial=0.0, dtype=x.dtype)
    if full < len(x):
        chunks = np.concatenate([chunks, np.add.reduce(x[full:], axis=0, initial=0.0, dtype=x.dtype)[None]])
    return _one_by_one(np.add, chunks.astype(np.float64), 0).astype(x.dtype)


def reduce_vector(how: str, x: Any, order: ReductionOrder) -> Any:
    """Reduces a one-dimensional array of row results."""
    if how not in _ORDERED or x.dtype.kind != "f":
        return _in_any_order(how, x, 0)
    if how == "multiply":
        return _one_by_one(np.multiply, x, 0)
    wide = x.astype(np.float64)
    full = len(x) // order.chunk * order.chunk
    chunks = compensated(wide[:full].reshape(-1, order.chunk), 1)
    if full < len(x):
        chunks = np.append(chunks, compensated(wide[full:], 0))
    return compensated(chunks, 0).astype(x.dtype)


def compensated(x: Any, axis: int) -> Any:
    """Compensated sums (Neumaier); see `functions/binary.py`."""
    x = np.moveaxis(x, axis, -1)
    found = np.add.accumulate(x, axis=-1)
    total = np.zeros_like(found)
    total[..., 1:] = found[..., :-1]
    rest = np.where(np.abs(total) >= np.abs(x), (total - found) + x, (x - found) + total)
    lost = np.add.accumulate(np.where(rest == rest, rest, 0.0), axis=-1)
    return found[..., -1] + lost[..., -1]


def _blocks(how: str, x: Any, order: ReductionOrder) -> Any:
    """The reduction of each block of each row, R×blocks."""
    rows, size = x.shape
    full = size // order.block * order.block
    found = []
    if full:
        found.append(_in_lanes(how, x[:, :full].reshape(-1, order.block), order.lanes).reshape(rows, -1))
    if full < size:
        found.append(_in_lanes(how, x[:, full:], order.lanes)[:, None])
    return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def _in_lanes(how: str, x: Any, lanes: int) -> Any:
    ufunc, start = _ORDERED[how]
    rows, size = x.shape
    if size <= lanes:
        found = np.full((rows, lanes), start, x.dtype)
        ufunc(found[:, :size], x, out=found[:, :size])
    else:
        if size % lanes:
            padded = np.full((rows, -(-size // lanes) * lanes), start, x.dtype)
            padded[:, :size] = x
            x = padded
        found = ufunc.reduce(np.ascontiguousarray(x).reshape(rows, -1, lanes), axis=1, initial=start, dtype=x.dtype)
    while lanes > 1:
        lanes //= 2
        found = ufunc(found[:, :lanes], found[:, lanes:])
    return found[:, 0]


def _one_by_one(ufunc: Any, x: Any, axis: int) -> Any:
    if axis == 0 and x.ndim == 2 and x.shape[1] > 1:  # along neighbors in memory, where NumPy keeps the order
        return ufunc.reduce(np.ascontiguousarray(x), axis=0, initial=ufunc.identity, dtype=x.dtype)
    # `accumulate` starts with the first number, kernels with 0 or 1; only -0 differs.
    return ufunc(x.dtype.type(ufunc.identity), np.take(ufunc.accumulate(x, axis=axis, dtype=x.dtype), -1, axis=axis))


def _in_any_order(how: str, x: Any, axis: int) -> Any:
    found = getattr(np, how).reduce(x, axis=axis, dtype=None if how.startswith("logical") else x.dtype)
    if how in ("maximum", "minimum") and x.dtype.kind == "f" and not np.all(found):
        # NumPy may return either zero; +0 is the larger one.
        negative = np.signbit(x) if how == "maximum" else ~np.signbit(x)
        zero = np.logical_and.reduce(negative | (x != 0), axis=axis) == (how == "maximum")
        return np.where(found == 0, np.where(zero, -found.dtype.type(0), found.dtype.type(0)), found)
    return found


__all__ = ["compensated", "reduce_columns", "reduce_rows", "reduce_vector"]
