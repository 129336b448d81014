"""Keyword arguments shared by the functions that create tensors: dtype, device, requires_grad, out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from engine import dtypes
from engine.backend import CPU, META, Device, MetaArray, namespace, resolve
from engine.dtypes import DType
from engine.errors import OutOfMemoryError, ShapeError
from engine.modes import MODES
from engine.random import Generator, RandomNumbers
from engine.shape import Dim, format_shape
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


class CreationOptions(TypedDict, total=False):
    """Keyword arguments of every function that creates a tensor."""

    dtype: DType | None
    device: Device | str | int | None
    requires_grad: bool
    out: Tensor | None
    """Tensor that receives the result, in its dtype and on its device. It is resized to the result's shape."""
    generator: Generator | None
    """Random number generator; for functions that draw random numbers."""
    layout: Any
    pin_memory: bool
    memory_format: Any
    """The last three arguments are accepted for compatibility with PyTorch and have no effect."""


_ARGUMENTS = frozenset(CreationOptions.__annotations__)

Fill = Callable[[Any, tuple[Any, ...], Any], Any]
"""Creates an array from the array module (NumPy or CuPy), the shape and the array dtype."""


def create_tensor(
    name: str,
    fill: Fill,
    shape: tuple[Any, ...],
    default: DType | None,
    options: CreationOptions,
    value: float | bool | None = None,
    drawn: RandomNumbers | None = None,
) -> Tensor:
    """Return the tensor that `fill` and the keyword arguments describe.

    Args:
        default: dtype if the call passes none
        value: value of every element, if it is constant
        drawn: random numbers that `fill` draws
    """
    if not _ARGUMENTS.issuperset(options):
        unknown = next(key for key in options if key not in _ARGUMENTS)
        raise TypeError(f"{name}() has no argument {unknown!r}; it has {', '.join(sorted(_ARGUMENTS))}")
    out = options.get("out")
    dtype = dtypes.as_optional_dtype(name, options.get("dtype")) or (
        default or dtypes.get_default_dtype() if out is None else out.dtype
    )
    device = resolve(options.get("device")) if out is None else out.device
    result = None
    if MODES.fast_call is None and MODES.capture is not None and device is not META:
        if value is not None:
            result = MODES.capture.fill(shape, dtype.numpy, value, device)
        elif drawn is not None:
            result = MODES.capture.random(shape, dtype.numpy, drawn, device)
    elif MODES.tracer is not None and device is META:
        result = MODES.tracer.created(name, fill, shape, dtype, value, drawn)
    if result is None:
        result = Tensor(_array(fill, shape, dtype, device), Storage.fresh(device))
    if out is not None:
        return copy_to_out(out, result)
    return result.requires_grad_() if options.get("requires_grad") else result


def _array(fill: Fill, shape: tuple[Any, ...], dtype: DType, device: Device) -> Any:
    if device is META:
        return MetaArray(shape, dtype.numpy)
    if any(isinstance(one, Dim) for one in shape):
        raise ShapeError(
            f"{format_shape(shape)} has a symbolic size, which only meta tensors support.",
            in_code="Pass device='meta'.",
        )
    xp = namespace(device)
    try:
        if device is CPU:
            return fill(xp, shape, dtype.numpy)
        with xp.cuda.Device(device.index):
            return fill(xp, shape, dtype.numpy)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"not enough memory for a {format_shape(shape)} {dtype.name} tensor on {device}: {error}"
        ) from None


def copy_to_out(out: Tensor, result: Tensor) -> Tensor:
    """Copy `result` into `out`, resized to its shape."""
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def sizes(size: tuple[Any, ...], options: Any = None) -> tuple[Any, ...]:
    """Return the sizes that a call passed one by one, as a tuple or by name. Raises ShapeError for negative sizes."""
    if not size and options and "size" in options:
        size = (options.pop("size"),)
    if not size:
        raise TypeError("a size is missing: pass integers or a tuple of integers; () is a 0-dimensional tensor")
    values = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    shape = tuple(one if isinstance(one, Dim) else operator.index(one) for one in values)
    if any(isinstance(one, int) and one < 0 for one in shape):
        raise ShapeError(f"a size cannot be negative: {shape}")
    return shape


def like(x: Tensor, options: CreationOptions) -> CreationOptions:
    """Return the keyword arguments of a `_like` function; dtype and device default to those of `x`."""
    device = options.get("device")
    return {**options, "dtype": options.get("dtype") or x.dtype, "device": x.device if device is None else device}


def number(value: Any) -> Any:
    """Convert a one-element tensor or a NumPy scalar to a Python number."""
    return value.item() if hasattr(value, "item") else value


__all__ = ["CreationOptions", "Fill", "Unpack", "copy_to_out", "create_tensor", "like", "number", "sizes"]
