"""Functions that make tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import dtypes, random
from engine.backend import CPU, META, Device, MetaArray, namespace, namespace_of, resolve
from engine.dtypes import DType
from engine.errors import DTypeError, ShapeError
from engine.tensor import Storage, Tensor


def tensor(
    data: Any, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested lists, arrays or tensors."""
    if isinstance(data, Tensor):
        return data.detach().to(dtype=dtype, device=device, copy=True).requires_grad_(requires_grad)
    if isinstance(data, (list, tuple)):
        data = _plain(data)
    array = np.array(data, dtype=dtype.numpy if dtype else _natural(data))
    return _placed(array, device, requires_grad)


def _plain(data: Any) -> Any:
    """Nested lists in which tensors became numbers or lists."""
    if isinstance(data, Tensor):
        return data.tolist()
    return [_plain(item) for item in data] if isinstance(data, (list, tuple)) else data


def _natural(data: Any) -> np.dtype[Any]:
    """The dtype that Python numbers have as tensors; arrays keep theirs."""
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.from_numpy(data.dtype).numpy
    try:
        found = np.asarray(data).dtype
    except ValueError as error:
        raise ShapeError(f"tensor(): the nested lists have rows of different lengths ({error})") from None
    if found.kind == "f":
        return dtypes.get_default_dtype().numpy
    if found.kind not in "biu":
        raise DTypeError(f"tensor(): cannot make a tensor of {found} elements. Give numbers or booleans.")
    return found


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
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _filled(
    fill: Callable[[Any, tuple[Any, ...], Any], Any],
    shape: tuple[Any, ...],
    dtype: DType | None,
    device: Device | str | None,
    requires_grad: bool,
) -> Tensor:
    place, numpy = resolve(device), (dtype or dtypes.get_default_dtype()).numpy
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


def zeros_like(x: Tensor, *, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Zeros in the shape, dtype and place of `x`."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def ones_like(x: Tensor, *, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Ones in the shape, dtype and place of `x`."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def empty_like(x: Tensor, *, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Memory in the shape, dtype and place of `x`."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(x: Tensor, fill_value: Any, *, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """One value in the shape, dtype and place of `x`."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def arange(*bounds: Any, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """start, start + step, … below end: `arange(end)`, `arange(start, end)`, `arange(start, end, step)`."""
    kind = dtype or (dtypes.int64 if all(isinstance(b, int) for b in bounds) else dtypes.get_default_dtype())
    return _placed(np.arange(*bounds).astype(kind.numpy, copy=False), device)


def linspace(
    start: float, end: float, steps: int, *, dtype: DType | None = None, device: Device | str | None = None
) -> Tensor:
    """`steps` numbers from start to end, both included, evenly spaced."""
    return _placed(np.linspace(start, end, steps, dtype=(dtype or dtypes.get_default_dtype()).numpy), device)


def eye(n: int, m: int | None = None, *, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """The n×m identity matrix."""
    return _placed(np.eye(n, m, dtype=(dtype or dtypes.get_default_dtype()).numpy), device)


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
    *bounds_and_size: Any,
    generator: random.Generator | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Tensor:
    """Whole numbers: `randint(high, size)` from [0, high), `randint(low, high, size)` from [low, high)."""
    *bounds, size = bounds_and_size
    low, high = bounds if len(bounds) == 2 else (0, bounds[0])
    kind = dtype or dtypes.int64
    return _drawn(lambda g, shape: g.integers(low, high, shape), tuple(size), kind, device, generator)


def randperm(n: int, *, generator: random.Generator | None = None, device: Device | str | None = None) -> Tensor:
    """The numbers 0 … n − 1 in random order."""
    return _drawn(lambda g, _: g.permutation(n), (n,), dtypes.int64, device, generator)


def rand_like(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Numbers from [0, 1) in the shape, dtype and place of `x`."""
    return rand(x.shape, dtype=dtype or x.dtype, device=x.device)


def randn_like(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Normal numbers in the shape, dtype and place of `x`."""
    return randn(x.shape, dtype=dtype or x.dtype, device=x.device)
