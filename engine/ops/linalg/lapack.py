"""Checked calls of `numpy.linalg` or `cupy.linalg`, with errors that name the failing matrix of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.dtypes import from_numpy
from engine.errors import DTypeError, LinAlgError, ShapeError
from engine.shape import Dim, Spec, format_shape
from engine.system.blas_threads import ONE_THREAD


def run_lapack(name: str, reason: str, function: Callable[..., Any], *arrays: Any, in_code: str = "") -> Any:
    """`function(*arrays)`, computed in one thread, and in float32 for half precision.

    Raises:
        LinAlgError: `function` failed. The message names the failing matrix of a batch, followed by `reason`, and by
            `in_code`, the remedy in Python code.
    """
    dtype = arrays[0].dtype
    arrays = tuple(array.astype(np.float32) if array.dtype.itemsize < 4 else array for array in arrays)
    try:
        with ONE_THREAD:
            result = function(*arrays)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: {_failing_matrix(function, arrays)} {reason}", in_code=in_code) from error
    if dtype.itemsize >= 4:
        return result
    return tuple(one.astype(dtype) for one in result) if isinstance(result, tuple) else result.astype(dtype)


def _failing_matrix(function: Callable[..., Any], arrays: tuple[Any, ...]) -> str:
    """Phrase that names the first matrix of a batch for which `function` fails."""
    batch = np.broadcast_shapes(*(array.shape[:-2] for array in arrays))
    if not batch:
        return "the matrix"
    expanded = [np.broadcast_to(array, (*batch, *array.shape[-2:])) for array in arrays]
    for batch_index in np.ndindex(*batch):
        try:
            function(*(array[batch_index] for array in expanded))
        except np.linalg.LinAlgError:
            return f"the matrix at batch index {batch_index[0] if len(batch_index) == 1 else batch_index}"
    return "a matrix"


def check_matrices(name: str, x: Any) -> None:
    """Raise unless `x`, an array or a Spec, is a floating-point matrix or a batch of matrices."""
    dtype = x.dtype if isinstance(x, Spec) else from_numpy(x.dtype)
    if not dtype.is_floating_point:
        raise DTypeError(
            f"{name}: matrices must be floating point, not {dtype.name}.", in_code="Convert with .float()."
        )
    if len(x.shape) < 2:
        raise ShapeError(f"{name}: expected a matrix or a batch of matrices, not {format_shape(x.shape)}")


def check_square(name: str, x: Any) -> None:
    """Raise unless `x` is a square floating-point matrix or a batch of square matrices."""
    check_matrices(name, x)
    rows, columns = x.shape[-2:]
    if rows != columns and not (isinstance(rows, Dim) or isinstance(columns, Dim)):
        raise ShapeError(f"{name}: the matrices must be square, not {format_shape(x.shape)}")
