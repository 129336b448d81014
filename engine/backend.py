"""Devices and the array library behind each: NumPy for the CPU, CuPy for CUDA, neither for meta.

The only file that imports cupy, and only when a CUDA device is requested.
"""

from __future__ import annotations

import importlib
import re
import threading
from types import ModuleType, TracebackType
from typing import Any, ClassVar

import numpy as np

from engine.errors import DeviceError


class Device:
    """The device of a tensor: "cpu", "cuda", "cuda:1", or "meta" (shape and dtype, no data).

    Equal devices are the same object. As a context manager, a device is the default for tensors created inside.
    """

    __slots__ = ("_outer", "index", "type")
    _instances: ClassVar[dict[str, Device]] = {}

    type: str
    index: int | None

    def __new__(cls, type: str | Device | int = "cpu", index: int | None = None) -> Device:
        if isinstance(type, Device):
            return type
        name = f"cuda:{type}" if isinstance(type, int) else type
        match = re.fullmatch(r"(cpu|cuda|meta)(?::(\d+))?", name)
        if match is None or (index is not None and match[2]):
            raise DeviceError(f"unknown device {name!r}. Use 'cpu', 'cuda', 'cuda:N' or 'meta'.")
        number = int(match[2]) if match[2] else index
        if match[1] == "cuda":
            number = number or 0
        key = match[1] if number is None or match[1] != "cuda" else f"cuda:{number}"
        device = cls._instances.get(key)
        if device is None:
            device = cls._instances[key] = super().__new__(cls)
            device.type, device.index = match[1], number if match[1] == "cuda" else None
        return device

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __enter__(self) -> Device:
        _local.devices = (*_local.devices, self)
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        _local.devices = _local.devices[:-1]


CPU = Device("cpu")
META = Device("meta")


class _Local(threading.local):
    devices: tuple[Device, ...] = ()


_local = _Local()
_default: Device = CPU


def default_device() -> Device:
    """Return the device of tensors that are created without `device`."""
    return _local.devices[-1] if _local.devices else _default


def set_default_device(device: str | Device | int | None) -> None:
    """Set the device of tensors that are created without `device`; None is the CPU."""
    global _default
    _default = CPU if device is None else resolve(device)


class MetaArray:
    """Shape and dtype of an array without data. Sizes may be symbolic."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


def namespace(device: Device) -> ModuleType:
    """Return NumPy or CuPy. Raises DeviceError for an unavailable CUDA device, and for meta."""
    if device is CPU:
        return np
    if device is META:
        raise DeviceError("a meta tensor has no data. Create it on 'cpu' or 'cuda' to compute with it.")
    return _cupy()


def namespace_of(array: Any) -> ModuleType:
    """Return the library of `array`: NumPy or CuPy."""
    return np if isinstance(array, (np.ndarray, np.generic)) else _cupy()


def cuda_available() -> bool:
    """Return whether CuPy is installed and finds a GPU."""
    try:
        return _cupy().cuda.runtime.getDeviceCount() > 0
    except Exception:  # noqa: BLE001 - CuPy's exceptions cannot be named without importing it
        return False


def resolve(name: str | Device | int | None) -> Device:
    """Return the device for a name; "auto" is CUDA if available, else the CPU. Raises DeviceError if unavailable."""
    if name is None:
        return default_device()
    if name == "auto":
        return Device("cuda") if cuda_available() else CPU
    device = Device(name)
    if device.type == "cuda":
        count = _cupy().cuda.runtime.getDeviceCount()
        if device.index is not None and device.index >= count:
            raise DeviceError(
                f"{device} does not exist: this machine has {count} CUDA device(s). Use 'cpu' or a lower index."
            )
    return device


def to_host(array: Any) -> np.ndarray[Any, Any]:
    """Return `array` as a NumPy array, without a copy if it is one."""
    return array if isinstance(array, np.ndarray) else _cupy().asnumpy(array)


def address(array: Any) -> int:
    """Return the memory address of the first element of `array`."""
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def elements_from(owner: Any, dtype: Any, offset: int) -> Any:
    """Return the contiguous memory of `owner` as one dimension of `dtype`, from element `offset` of that dtype on.

    A view can have another item size than the array that owns its memory.
    """
    memory = owner.reshape(-1).view(np.uint8)[offset * dtype.itemsize :]
    return memory[: memory.size // dtype.itemsize * dtype.itemsize].view(dtype)


def pinned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy in pinned (page-locked) memory. Raises DeviceError without CUDA."""
    memory = _cupy().cuda.alloc_pinned_memory(max(array.nbytes, 1))
    copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy


def is_pinned(array: Any) -> bool:
    """Return whether the memory of `array` is pinned by `pinned`."""
    while isinstance(array, np.ndarray):
        array = array.base
    owner = array.obj if isinstance(array, memoryview) else array
    return type(owner).__name__ == "PinnedMemoryPointer"


def _cupy() -> ModuleType:
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            "CUDA needs CuPy, which is not installed. "
            "Install the extra 'gpu' (pip install 'gradwire[gpu]') or use 'cpu'."
        ) from error
