"""What functions that make tensors have in common: dtype, device, leaf or not, and where to write."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from engine import dtypes
from engine.backend import CPU, META, Device, MetaArray, namespace, resolve
from engine.dtypes import DType
from engine.errors import OutOfMemoryError, ShapeError
from engine.modes import MODES
from engine.random import Generator
from engine.shape import Dim, format_shape
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


class Options(TypedDict, total=False):
    """Keywords of every function that makes a tensor."""

    dtype: DType | None
    device: Device | str | int | None
    requires_grad: bool
    out: Tensor | None
    """Write here instead, in this tensor's dtype and device; its shape becomes that of the result."""
    generator: Generator | None
    """Of functions that draw: where the random numbers come from."""
    layout: Any
    pin_memory: bool
    memory_format: Any
    """These three are PyTorch's; they change nothing here."""


_KNOWN = frozenset(Options.__annotations__)

Fill = Callable[[Any, tuple[Any, ...], Any], Any]
"""Makes an array: from the array library, the shape and the array dtype."""


def made(
    name: str,
    fill: Fill,
    shape: tuple[Any, ...],
    default: DType | None,
    options: Options,
    value: float | bool | None = None,
) -> Tensor:
    """The tensor that `fill` and the keywords of a call make.

    Args:
        default: its dtype where the call names none
        value: what every element is, if that is one number
    """
    if not _KNOWN.issuperset(options):
        unknown = next(key for key in options if key not in _KNOWN)
        raise TypeError(f"{name}() has no argument {unknown!r}; it has {', '.join(sorted(_KNOWN))}")
    out = options.get("out")
    dtype = dtypes.optional(name, options.get("dtype")) or (
        default or dtypes.get_default_dtype() if out is None else out.dtype
    )
    device = resolve(options.get("device")) if out is None else out.device
    result = None
    if value is not None and MODES.direct is None and MODES.capture is not None and device is not META:
        result = MODES.capture.fill(shape, dtype.numpy, value, device)
    if result is None:
        result = Tensor(_array(fill, shape, dtype, device), Storage.fresh(device))
    if out is not None:
        return written(out, result)
    return result.requires_grad_() if options.get("requires_grad") else result


def _array(fill: Fill, shape: tuple[Any, ...], dtype: DType, device: Device) -> Any:
    if device is META:
        return MetaArray(shape, dtype.numpy)
    if any(isinstance(one, Dim) for one in shape):
        raise ShapeError(
            f"{format_shape(shape)} has a symbolic size.", in_code="Only tensors on the meta device can: device='meta'."
        )
    xp = namespace(device)
    try:
        if device is CPU:
            return fill(xp, shape, dtype.numpy)
        with xp.cuda.Device(device.index):
            return fill(xp, shape, dtype.numpy)
    except MemoryError as error:
        raise OutOfMemoryError(f"no memory for {format_shape(shape)} {dtype.name} on {device}: {error}") from None


def written(out: Tensor, result: Tensor) -> Tensor:
    """`result` in the memory of `out`, which takes its shape."""
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def sizes(size: tuple[Any, ...], options: Any = None) -> tuple[Any, ...]:
    """The sizes that a call gave, one by one, as a tuple or by name. Raises ShapeError for negative ones."""
    if not size and options and "size" in options:
        size = (options.pop("size"),)
    if not size:
        raise TypeError("a size is missing: give whole numbers, or a tuple of them; () is a single number")
    given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    shape = tuple(one if isinstance(one, Dim) else operator.index(one) for one in given)
    if any(isinstance(one, int) and one < 0 for one in shape):
        raise ShapeError(f"a size cannot be negative: {shape}")
    return shape


def like(x: Tensor, options: Options) -> Options:
    """The keywords of a `_like` function: dtype and device of `x` where the call names none."""
    device = options.get("device")
    return {**options, "dtype": options.get("dtype") or x.dtype, "device": x.device if device is None else device}


def number(value: Any) -> Any:
    """A number that may have come as a tensor or NumPy's."""
    return value.item() if hasattr(value, "item") else value


__all__ = ["Fill", "Options", "Unpack", "like", "made", "number", "sizes", "written"]
