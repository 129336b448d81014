"""Ranges, identity matrices and indices of triangles."""

from __future__ import annotations

import warnings
from typing import Any, Unpack

import numpy as np

from engine import dtypes
from engine.dtypes import DType
from engine.errors import DTypeError, EngineWarning, ShapeError
from engine.shape import Dim
from engine.tensors.creation.creation_options import CreationOptions, create_tensor, number, sizes
from engine.tensors.tensor import Tensor


def arange(*bounds: Any, start: Any = 0, end: Any = None, step: Any = 1, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the values from `start` to below `end` in steps of `step`."""
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    else:
        start, end, step = (*bounds, *(start, end, step)[len(bounds) :])
    if end is None:
        raise TypeError("arange() needs an end")
    start, end, step = (number(value) for value in (start, end, step))
    default = _default_dtype(start, end, step)
    dtype = dtypes.as_optional_dtype("arange", options.get("dtype")) or default
    if dtype is dtypes.bool_:
        raise DTypeError("arange(): bool is not supported. Pass a number dtype.")
    if isinstance(end, Dim):
        return _open_range(start, end, step, dtype, options)
    if dtype.kind == 1:
        start, end, step = int(start), int(end), int(step)
    _check_direction("arange", start, end, step)
    values = np.arange(start, end, step)
    return _from_values("arange", values, default, options)


def _open_range(start: Any, end: Dim, step: Any, dtype: DType, options: CreationOptions) -> Tensor:
    """Return a range with a symbolic length, on the meta device."""
    length = (end - start + (step - 1)) // step
    numbers = create_tensor("arange", lambda xp, shape, kind: xp.arange(*shape, dtype=kind), (length,), dtype, options)
    numbers = numbers if step == 1 else numbers * step
    return numbers if isinstance(start, int) and start == 0 else numbers + start


def range_(start: Any = 0, end: Any = None, step: Any = 1, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the values from `start` up to and including `end`. Deprecated: use arange, which excludes `end`."""
    warning = EngineWarning("range() includes its end, unlike Python's range.", in_code="Use arange(start, end).")
    warnings.warn(warning, stacklevel=2)
    start, end = (0, start) if end is None else (start, end)
    start, end, step = (number(value) for value in (start, end, step))
    _check_direction("range", start, end, step)
    values = start + step * np.arange(int((end - start) / step) + 1)
    return _from_values("range", values, None, options)


def linspace(start: Any, end: Any, steps: int, **options: Unpack[CreationOptions]) -> Tensor:
    """Return `steps` evenly spaced values from `start` to `end`, both included."""
    shape = sizes((steps,))
    values = np.linspace(*_ends("linspace", start, end, options), *shape)
    return _from_values("linspace", values, None, options)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **options: Unpack[CreationOptions]) -> Tensor:
    """Return `steps` powers of `base` with evenly spaced exponents from `start` to `end`."""
    shape = sizes((steps,))
    values = np.float64(base) ** np.linspace(*_ends("logspace", start, end, options), *shape)
    return _from_values("logspace", values, None, options)


def _ends(name: str, start: Any, end: Any, options: CreationOptions) -> tuple[Any, Any]:
    """Return the ends as numbers; truncated for an integer dtype, as in PyTorch."""
    dtype = dtypes.as_optional_dtype(name, options.get("dtype"))
    is_integer = dtype is not None and not dtype.is_floating_point
    return (int(number(start)), int(number(end))) if is_integer else (number(start), number(end))


def eye(n: int, m: int | None = None, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the n×m identity matrix."""
    shape = sizes((n, n if m is None else m))
    return create_tensor("eye", lambda xp, shape, dtype: xp.eye(*shape, dtype=dtype), shape, None, options)


def tril_indices(row: int, col: int, offset: int = 0, **options: Unpack[CreationOptions]) -> Tensor:
    """Return row and column indices of the lower triangle of a row×col matrix, as a tensor of shape 2×N."""
    indices = np.stack(np.tril_indices(row, offset, col))
    return create_tensor(
        "tril_indices", lambda xp, _, dtype: xp.asarray(indices.astype(dtype)), indices.shape, dtypes.int64, options
    )


def triu_indices(row: int, col: int, offset: int = 0, **options: Unpack[CreationOptions]) -> Tensor:
    """Return row and column indices of the upper triangle of a row×col matrix, as a tensor of shape 2×N."""
    indices = np.stack(np.triu_indices(row, offset, col))
    return create_tensor(
        "triu_indices", lambda xp, _, dtype: xp.asarray(indices.astype(dtype)), indices.shape, dtypes.int64, options
    )


def _from_values(name: str, values: Any, default: DType | None, options: CreationOptions) -> Tensor:
    """Return values computed on the CPU as a tensor of the requested dtype and device."""
    return create_tensor(name, lambda xp, _, dtype: xp.asarray(values.astype(dtype)), values.shape, default, options)


def _check_direction(name: str, start: Any, end: Any, step: Any) -> None:
    if step == 0 or (end - start) / step < 0:
        raise ShapeError(f"{name}(): a step of {step} does not lead from {start} to {end}")


def _default_dtype(*values: Any) -> DType:
    return dtypes.int64 if all(isinstance(value, (int, Dim)) for value in values) else dtypes.get_default_dtype()
