"""Constant and uninitialized tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from engine import dtypes
from engine.backend import META, MetaArray, namespace, resolve
from engine.errors import ShapeError
from engine.tensors.creation.creation_options import CreationOptions, create_tensor, like, number, sizes
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


def zeros(*size: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return a tensor filled with zeros."""
    shape = sizes(size, options)
    return create_tensor("zeros", lambda xp, shape, dtype: xp.zeros(shape, dtype), shape, None, options, 0)


def ones(*size: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return a tensor filled with ones."""
    shape = sizes(size, options)
    return create_tensor("ones", lambda xp, shape, dtype: xp.ones(shape, dtype), shape, None, options, 1)


def empty(*size: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return an uninitialized tensor."""
    shape = sizes(size, options)
    return create_tensor("empty", lambda xp, shape, dtype: xp.empty(shape, dtype), shape, None, options)


def full(size: Any, fill_value: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return a tensor filled with `fill_value`. The default dtype is that of the value."""
    value = number(fill_value)
    kind = fill_value.dtype if isinstance(fill_value, Tensor) else dtypes.of_scalar(value)
    return create_tensor(
        "full", lambda xp, shape, dtype: xp.full(shape, value, dtype), sizes((size,)), kind, options, value
    )


def zeros_like(input: Tensor, **options: Unpack[CreationOptions]) -> Tensor:
    """Return zeros with the shape, dtype and device of `input`."""
    return zeros(tuple(input.shape), **like(input, options))


def ones_like(input: Tensor, **options: Unpack[CreationOptions]) -> Tensor:
    """Return ones with the shape, dtype and device of `input`."""
    return ones(tuple(input.shape), **like(input, options))


def empty_like(input: Tensor, **options: Unpack[CreationOptions]) -> Tensor:
    """Return an uninitialized tensor with the shape, dtype and device of `input`."""
    return empty(tuple(input.shape), **like(input, options))


def full_like(input: Tensor, fill_value: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return a tensor filled with `fill_value`, with the shape, dtype and device of `input`."""
    return full(tuple(input.shape), fill_value, **like(input, options))


def scalar_tensor(s: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return a 0-dimensional tensor in the default dtype."""
    value = number(s)
    return create_tensor("scalar_tensor", lambda xp, shape, dtype: xp.full(shape, value, dtype), (), None, options)


def empty_strided(size: Sequence[int], stride: Sequence[int], **options: Unpack[CreationOptions]) -> Tensor:
    """Return an uninitialized tensor with the given size and strides, in elements."""
    shape, steps = sizes((tuple(size),)), sizes((tuple(stride),))
    if len(shape) != len(steps):
        raise ShapeError(f"empty_strided(): {len(shape)} sizes but {len(steps)} strides. Pass one stride per size.")
    if resolve(options.get("device")) is META:
        return Tensor(MetaArray(shape, (options.get("dtype") or dtypes.get_default_dtype()).numpy), Storage(META))
    length = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) if all(shape) else 0
    memory = empty(length, **options)
    array = memory._array
    lib = namespace(memory.device).lib.stride_tricks
    strides = tuple(step * array.itemsize for step in steps)
    result = Tensor(lib.as_strided(array, shape, strides), Storage(memory.device))
    return result.requires_grad_(options.get("requires_grad", False))


def new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Unpack[CreationOptions]
) -> Tensor:
    """Return an uninitialized tensor with the given size and strides, and this tensor's dtype and device."""
    return empty_strided(size, stride, **like(self, options))
