"""Functions that make tensors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dtypes, random
from engine.backend import CPU, META, Device, MetaArray, namespace, namespace_of, resolve
from engine.dtypes import DType
from engine.errors import DTypeError, ShapeError
from engine.shape import Dim, format_shape
from engine.tensor import Storage, Tensor


def tensor(
    data: Any, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested lists, arrays or tensors."""
    if isinstance(data, Tensor):
        return data.detach().to(dtype=dtype, device=device, copy=True).requires_grad_(requires_grad)
    inside: list[DType] = []
    if isinstance(data, (list, tuple)):
        data = _plain(data, inside)
    kind = dtype or _natural(data, inside)
    try:
        array = np.array(data, dtype=kind.numpy)
    except OverflowError as error:
        raise DTypeError(f"tensor(): {error}. Give a larger dtype.") from None
    except (TypeError, ValueError) as error:
        raise DTypeError(f"tensor(): cannot make {kind.name} numbers of the data: {error}") from None
    return _placed(array, device, requires_grad)


def _plain(data: Any, inside: list[DType]) -> Any:
    """Nested lists in which tensors became numbers or lists; notes the dtypes of tensors and arrays in `inside`."""
    if isinstance(data, (list, tuple)):
        return [_plain(item, inside) for item in data]
    if isinstance(data, (Tensor, np.ndarray)):
        inside.append(data.dtype if isinstance(data, Tensor) else dtypes.from_numpy(data.dtype))
        return data.tolist()
    return data


def _natural(data: Any, inside: list[DType]) -> DType:
    """The dtype that Python numbers have as tensors; arrays keep theirs."""
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.from_numpy(data.dtype)
    try:
        found = np.asarray(data).dtype
    except ValueError:
        raise ShapeError("tensor(): the nested lists have rows of different lengths") from None
    if found.kind not in "fbiu":
        what = "such large whole numbers" if found.kind == "O" and isinstance(data, int) else f"{found} elements"
        raise DTypeError(f"tensor(): cannot make a tensor of {what}. Give numbers or booleans.")
    natural = dtypes.get_default_dtype() if found.kind == "f" else dtypes.from_numpy(found)
    joint = functools.reduce(dtypes.promote_types, inside, inside[0] if inside else natural)
    return joint if joint.kind >= natural.kind else natural


def _placed(array: Any, device: Device | str | None, requires_grad: bool = False) -> Tensor:
    """`array` as a tensor on `device`; no copy on the CPU."""
    place = resolve(device)
    if place is META:
        array = MetaArray(array.shape, array.dtype)
    elif place is not CPU:
        array = namespace(place).asarray(array)
    return Tensor(array, Storage(place)).requires_grad_(requires_grad)


def as_tensor(data: Any, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """`data` as a tensor, without a copy where that is possible."""
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if isinstance(data, np.ndarray):
        return from_numpy(data).to(dtype=dtype, device=device)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the array's memory."""
    dtypes.from_numpy(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return Tensor(array)


def from_array(array: Any) -> Tensor:
    """A NumPy or CuPy array as a tensor that shares its memory."""
    if isinstance(array, np.ndarray):
        return from_numpy(array)
    namespace_of(array)
    return Tensor(array, Storage(Device("cuda", array.device.id)))


# -- filled -----------------------------------------------------------------------------------


def _shape(size: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sizes that a call gave, one by one or as a tuple. Raises ShapeError for negative ones."""
    if not size:
        raise TypeError("a size is missing: give whole numbers, or a tuple of them; () is a single number")
    sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    shape = tuple(one if isinstance(one, Dim) else operator.index(one) for one in sizes)
    if any(isinstance(one, int) and one < 0 for one in shape):
        raise ShapeError(f"a size cannot be negative: {shape}")
    return shape


def _filled(
    fill: Callable[[Any, tuple[Any, ...], Any], Any],
    shape: tuple[Any, ...],
    dtype: DType | None,
    device: Device | str | None,
    requires_grad: bool,
) -> Tensor:
    place, numpy = resolve(device), (dtype or dtypes.get_default_dtype()).numpy
    if place is not META and any(isinstance(one, Dim) for one in shape):
        raise ShapeError(
            f"{format_shape(shape)} has a symbolic size. Only tensors on the meta device can: device='meta'."
        )
    array = MetaArray(shape, numpy) if place is META else fill(namespace(place), shape, numpy)
    return Tensor(array, Storage(place)).requires_grad_(requires_grad)


def zeros(
    *size: Any, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of zeros."""
    return _filled(lambda xp, shape, kind: xp.zeros(shape, kind), _shape(size), dtype, device, requires_grad)


def ones(
    *size: Any, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of ones."""
    return _filled(lambda xp, shape, kind: xp.ones(shape, kind), _shape(size), dtype, device, requires_grad)


def empty(
    *size: Any, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor whose numbers are whatever the memory held."""
    return _filled(lambda xp, shape, kind: xp.empty(shape, kind), _shape(size), dtype, device, requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value."""
    kind = dtype or dtypes.of_scalar(fill_value)
    shape = _shape((size,))
    return _filled(lambda xp, at, numpy: xp.full(at, fill_value, numpy), shape, kind, device, requires_grad)


def zeros_like(
    x: Tensor, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """Zeros in the shape, dtype and place of `x`."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def ones_like(
    x: Tensor, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """Ones in the shape, dtype and place of `x`."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def empty_like(
    x: Tensor, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """Memory in the shape, dtype and place of `x`."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def full_like(
    x: Tensor,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """One value in the shape, dtype and place of `x`."""
    place = device or x.device
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=place, requires_grad=requires_grad)


def arange(
    *bounds: Any,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, … below end: `arange(end)`, `arange(start, end)`, `arange(start, end, step)`."""
    if len(bounds) == 1:
        end = bounds[0]
    else:
        start, end, step = (*bounds, *(start, end, step)[len(bounds) :])
    if end is None:
        raise TypeError("arange() needs an end")
    values = [value.item() if isinstance(value, (Tensor, np.generic)) else value for value in (start, end, step)]
    kind = dtype or (dtypes.int64 if all(isinstance(v, int) for v in values) else dtypes.get_default_dtype())
    start, end, step = values
    if step == 0 or (end - start) / step < 0:
        raise ShapeError(f"arange(): no numbers lead from {start} to {end} in steps of {step}")
    return _placed(np.arange(start, end, step).astype(kind.numpy, copy=False), device, requires_grad)


def linspace(
    start: float,
    end: float,
    steps: int,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers from start to end, both included, evenly spaced."""
    (steps,) = _shape((steps,))
    kind = dtype or dtypes.get_default_dtype()
    return _placed(np.linspace(start, end, steps, dtype=kind.numpy), device, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The n×m identity matrix."""
    rows, columns = _shape((n, n if m is None else m))
    kind = dtype or dtypes.get_default_dtype()
    return _placed(np.eye(rows, columns, dtype=kind.numpy), device, requires_grad)


# -- random -----------------------------------------------------------------------------------


def _drawn(
    draw: Callable[[random.Generator, tuple[Any, ...]], Any],
    shape: tuple[Any, ...],
    kind: DType,
    device: Device | str | None,
    generator: random.Generator | None,
    requires_grad: bool = False,
) -> Tensor:
    if resolve(device) is META:
        return empty(shape, dtype=kind, device=META, requires_grad=requires_grad)
    array = np.asarray(draw(generator or random.default_generator, shape), kind.numpy)
    return _placed(array, device, requires_grad)


def rand(
    *size: Any,
    generator: random.Generator | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers drawn evenly from [0, 1)."""
    kind = dtype or dtypes.get_default_dtype()
    return _drawn(lambda g, shape: g.uniform(shape, kind), _shape(size), kind, device, generator, requires_grad)


def randn(
    *size: Any,
    generator: random.Generator | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers drawn from the normal distribution of mean 0 and variance 1."""
    kind = dtype or dtypes.get_default_dtype()
    return _drawn(lambda g, shape: g.normal(shape, kind), _shape(size), kind, device, generator, requires_grad)


def randint(
    *bounds: Any,
    low: int | None = None,
    high: int | None = None,
    size: Any = None,
    generator: random.Generator | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Tensor:
    """Whole numbers: `randint(high, size)` from [0, high), `randint(low, high, size)` from [low, high)."""
    *limits, shape = bounds if size is None else (*bounds, size)
    limits += [limit for limit in (low, high) if limit is not None]
    if not 1 <= len(limits) <= 2:
        raise TypeError("randint() takes (high, size) or (low, high, size)")
    first, last = limits if len(limits) == 2 else (0, limits[0])
    kind = dtype or dtypes.int64
    return _drawn(lambda g, at: g.integers(first, last, at), _shape((shape,)), kind, device, generator)


def randperm(n: int, *, generator: random.Generator | None = None, device: Device | str | None = None) -> Tensor:
    """The numbers 0 … n − 1 in random order."""
    return _drawn(lambda g, _: g.permutation(n), _shape((n,)), dtypes.int64, device, generator)


def rand_like(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Numbers from [0, 1) in the shape, dtype and place of `x`."""
    return rand(x.shape, dtype=dtype or x.dtype, device=x.device)


def randn_like(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Normal numbers in the shape, dtype and place of `x`."""
    return randn(x.shape, dtype=dtype or x.dtype, device=x.device)
