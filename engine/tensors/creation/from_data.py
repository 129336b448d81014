"""Tensors from existing data: numbers, nested lists, arrays, buffers."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from engine import dtypes
from engine.backend import CPU, META, Device, MetaArray, namespace, namespace_of, resolve
from engine.dtypes import DType
from engine.errors import ArrayError, DTypeError, EngineWarning, RangeError, ShapeError
from engine.modes import MODES
from engine.shape import format_shape
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor

DeviceSpec = Device | str | int | None


def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: DeviceSpec = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Create a tensor by copying `data`: a number, nested lists, an array or a tensor."""
    if isinstance(data, Tensor):
        return data.detach().to(dtype=dtype, device=device, copy=True).requires_grad_(requires_grad)
    return _to_tensor(_array_of(data, dtype), device, requires_grad)


def _array_of(data: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    """Copy `data` into an array of `dtype`; default: the dtype that PyTorch infers."""
    dtype = dtypes.as_optional_dtype("tensor", dtype)
    if isinstance(data, (list, tuple, bytearray)):
        dtypes_found: set[DType] = set()
        data = _to_numbers(data, dtypes_found)
        kind = dtype or (
            functools.reduce(dtypes.promote_types, dtypes_found) if dtypes_found else dtypes.get_default_dtype()
        )
    else:
        if not isinstance(data, (bool, int, float, str, bytes)) and not (dtype is None and isinstance(data, range)):
            data = _from_foreign(data)
        kind = dtype or _inferred_dtype(data)
    try:
        return np.array(data, dtype=kind.numpy)
    except OverflowError as error:
        raise DTypeError(f"tensor(): {error}. Pass a larger dtype.") from None
    except (TypeError, ValueError) as error:
        if "inhomogeneous" in str(error) or "sequence" in str(error):
            raise ShapeError("tensor(): the nested lists have rows of different lengths") from None
        raise DTypeError(f"tensor(): cannot convert the data to {kind.name}: {error}") from None


def _to_numbers(data: Any, dtypes_found: set[DType]) -> Any:
    """Replace tensors and arrays in nested lists by numbers or lists; adds their dtypes to `found`."""
    kinds = set(map(type, data))
    if kinds <= _NUMBERS:  # a list of numbers, the most common case
        dtypes_found.update(dtypes.bool_ if k is bool else dtypes.int64 if k is int else _default() for k in kinds)
        return data
    return [_to_number(item, dtypes_found) for item in data]


_NUMBERS = {bool, int, float}
_default = dtypes.get_default_dtype


def _to_number(item: Any, dtypes_found: set[DType]) -> Any:
    if isinstance(item, (list, tuple, range)):
        return _to_numbers(item, dtypes_found)
    if isinstance(item, Tensor):
        dtypes_found.add(item.dtype)
        return _only_element(item)
    if isinstance(item, (np.ndarray, np.generic)):
        if getattr(item.dtype, "kind", "") in ("O", "U", "S", "c"):
            raise DTypeError(f"tensor(): cannot create a tensor from {item.dtype} elements. Pass numbers or booleans.")
        dtypes_found.add(dtypes.from_numpy(item.dtype))
        return item.tolist()
    if hasattr(item, "__array__"):
        return _to_number(np.asarray(item), dtypes_found)
    dtypes_found.add(_inferred_dtype(item))
    return item


def _only_element(item: Tensor) -> Any:
    """Return the number in a one-element tensor inside a list. As in PyTorch it adds no dimensions, unlike an array."""
    if item.numel() != 1:
        raise ShapeError(
            f"tensor(): tensors in a list must have one element, not shape {format_shape(item.shape)}.",
            in_code="Use engine.stack(list) or engine.cat(list).",
        )
    return item.item()


def _inferred_dtype(data: Any) -> DType:
    """Return the dtype that a Python number gets as a tensor; arrays keep theirs."""
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "OUSc":
        return dtypes.from_numpy(data.dtype)
    if isinstance(data, (bool, float)) or (isinstance(data, int) and -(2**63) <= data < 2**63):
        return dtypes.of_scalar(data)
    if isinstance(data, range):
        return dtypes.int64
    if isinstance(data, int):
        raise RangeError(
            f"tensor(): {data} is too large for int64.", in_code="Pass dtype=engine.uint64 or a floating-point dtype."
        )
    what = f"{type(data).__name__} elements"
    if isinstance(data, (np.ndarray, np.generic)):
        what = f"{data.dtype} elements"
    raise DTypeError(f"tensor(): cannot create a tensor from {what}. Pass numbers or booleans.")


def _from_foreign(data: Any) -> Any:
    """Convert an object that provides `__array__`, a buffer or a sequence to an array; returns other data unchanged."""
    if isinstance(data, (np.ndarray, np.generic)):
        return data
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__") or isinstance(data, memoryview):
        return np.asarray(data)
    if isinstance(data, Iterable) and hasattr(data, "__len__") and not isinstance(data, (set, frozenset, dict)):
        return np.asarray(data)
    return data


def _to_tensor(array: Any, device: DeviceSpec, requires_grad: bool = False) -> Tensor:
    """Return `array` as a tensor on `device`; no copy on the CPU."""
    resolved = resolve(device)
    if resolved is META:
        if MODES.tracer is not None:
            return from_array(array)  # a traced model may use its values
        array = MetaArray(array.shape, array.dtype)
    elif resolved is not CPU:
        xp = namespace(resolved)
        with xp.cuda.Device(resolved.index):
            array = xp.asarray(array)
    result = Tensor(array, Storage.fresh(resolved))
    return result.requires_grad_() if requires_grad else result


def as_tensor(data: Any, dtype: DType | None = None, device: DeviceSpec = None) -> Tensor:
    """Convert `data` to a tensor, sharing memory if possible."""
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    if isinstance(data, np.ndarray) and data.dtype.isnative and min(data.strides, default=0) >= 0:
        shared = from_numpy(data)
        return shared.to(dtype=dtype, device=resolve(device))
    if hasattr(data, "__dlpack__") and not isinstance(data, (np.ndarray, np.generic)):
        return from_dlpack(data).to(dtype=dtype, device=device)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: DeviceSpec = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Convert `obj` to a tensor. `copy`: True always copies, False never, None only if needed.

    Raises:
        ArrayError: a copy is needed but `copy` is False.
    """
    if isinstance(obj, Tensor):
        result = obj.detach() if not requires_grad and obj.requires_grad else obj
        result = result.to(dtype=dtype, device=device)
    else:
        result = as_tensor(obj, dtype, device)
    source = obj._array if isinstance(obj, Tensor) else obj
    foreign = hasattr(obj, "__dlpack__") and not isinstance(obj, (Tensor, np.ndarray, np.generic))
    shares = foreign or (isinstance(source, np.ndarray) and np.may_share_memory(result._array, source))
    if copy is False and not shares and result is not obj:
        raise ArrayError("asarray(): changing the dtype or device needs a copy. Omit copy to allow it.")
    if copy and (shares or result is obj):
        result = result.clone()
    return result.detach().requires_grad_() if requires_grad and not result.requires_grad else result


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Create a tensor that shares the memory of a NumPy array.

    Raises:
        ArrayError: the array has non-native byte order or a negative stride.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy() takes a NumPy array, not {type(ndarray).__name__}. Use as_tensor().")
    dtypes.from_numpy(ndarray.dtype)
    if not ndarray.dtype.isnative:
        raise ArrayError(
            f"from_numpy(): the array has non-native byte order ({ndarray.dtype.str}), so its memory cannot be shared.",
            in_code="Use engine.tensor(array), which copies.",
        )
    if any(step < 0 for step in ndarray.strides):
        raise ArrayError(
            "from_numpy(): the array has a negative stride, which tensors do not support.",
            in_code="Use engine.tensor(array), or array.copy().",
        )
    if not ndarray.flags.writeable:
        _warn_about_readonly()
    return _mark_exposed(from_array(ndarray))


@functools.cache
def _warn_about_readonly() -> None:
    text = "The given NumPy array is not writable: writing to the tensor will raise. This warning appears once."
    warnings.warn(EngineWarning(text, in_code="To write, copy the array, or use engine.tensor(array)."), stacklevel=3)


def from_array(array: Any) -> Tensor:
    """Return a NumPy or CuPy array as a tensor that shares its memory."""
    if isinstance(array, np.ndarray):
        dtypes.from_numpy(array.dtype)
        return Tensor(array, Storage(CPU))
    namespace_of(array)
    return Tensor(array, Storage(Device("cuda", array.device.id)))


def _mark_exposed(tensor: Tensor) -> Tensor:
    tensor._storage.expose()
    return tensor


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Create a 1-D tensor that shares the memory of a buffer.

    Raises:
        ArrayError: the size is not a multiple of the element size, or less than `count` elements.
    """
    dtype = dtypes.as_dtype("frombuffer", dtype)
    try:
        array = np.frombuffer(buffer, dtype.numpy, count, offset)
    except ValueError as error:
        raise ArrayError(f"frombuffer(): {error}") from None
    if not array.flags.writeable:
        _warn_about_readonly()
    return _mark_exposed(from_array(array)).requires_grad_(requires_grad)


def from_dlpack(ext_tensor: Any, *, device: DeviceSpec = None, copy: bool | None = None) -> Tensor:
    """Create a tensor that shares the memory of another library's tensor or array, through the DLPack protocol."""
    if isinstance(ext_tensor, Tensor):
        return ext_tensor.detach()
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    dlpack_device = ext_tensor.__dlpack_device__()
    if dlpack_device[0] == _CUDA:
        dtypes_found = from_array(namespace(Device("cuda", dlpack_device[1])).from_dlpack(ext_tensor))
    else:
        dtypes_found = from_array(_host_array(ext_tensor))
    dtypes_found = _mark_exposed(dtypes_found).to(device) if device is not None else _mark_exposed(dtypes_found)
    return dtypes_found.clone() if copy else dtypes_found


class _Capsule:
    """DLPack exporter for a bare capsule, which older libraries pass; main memory only."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


_CUDA = 2
"""DLPack device type of CUDA."""


def _host_array(source: Any) -> np.ndarray[Any, Any]:
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ArrayError(f"from_dlpack(): NumPy cannot take {type(source).__name__}'s memory: {error}") from None
