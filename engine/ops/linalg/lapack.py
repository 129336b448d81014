"""Checked calls of `numpy.linalg` or `cupy.linalg`, with errors that name the failing matrix of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.dtypes import from_numpy
from engine.errors import DTypeError, LinAlgError, ShapeError
from engine.shape import Dim, Spec, format_shape


def solved(name: str, why: str, function: Callable[..., Any], *arrays: Any) -> Any:
    """`function(*arrays)`, in single precision for halves. Raises LinAlgError that says `why`, and at which matrix."""
    half = arrays[0].dtype
    arrays = tuple(array.astype(np.float32) if array.dtype.itemsize < 4 else array for array in arrays)
    try:
        found = function(*arrays)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: {_where(function, arrays)} {why}") from error
    if half.itemsize >= 4:
        return found
    return tuple(one.astype(half) for one in found) if isinstance(found, tuple) else found.astype(half)


def _where(function: Callable[..., Any], arrays: tuple[Any, ...]) -> str:
    """The first matrix of a batch that fails, in words."""
    batch = np.broadcast_shapes(*(array.shape[:-2] for array in arrays))
    if not batch:
        return "the matrix"
    spread = [np.broadcast_to(array, (*batch, *array.shape[-2:])) for array in arrays]
    for batch_index in np.ndindex(*batch):
        try:
            function(*(array[batch_index] for array in spread))
        except np.linalg.LinAlgError:
            return f"the matrix at batch index {batch_index[0] if len(batch_index) == 1 else batch_index}"
    return "a matrix"


def matrices(name: str, x: Any) -> None:
    """Raises unless `x`, an array or a Spec, is a floating-point matrix or a batch of them."""
    dtype = x.dtype if isinstance(x, Spec) else from_numpy(x.dtype)
    if not dtype.is_floating_point:
        raise DTypeError(
            f"{name}: matrices must be floating point, not {dtype.name}.", in_code="Convert with .float()."
        )
    if len(x.shape) < 2:
        raise ShapeError(f"{name}: a matrix, or a batch of matrices, is needed, not {format_shape(x.shape)}")


def square(name: str, x: Any) -> None:
    """Raises unless `x` is a square floating-point matrix or a batch of them."""
    matrices(name, x)
    rows, columns = x.shape[-2:]
    if rows != columns and not (isinstance(rows, Dim) or isinstance(columns, Dim)):
        raise ShapeError(f"{name}: the matrices must be square, not {format_shape(x.shape)}")
