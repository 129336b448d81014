"""Tensor memory: storages that views share, with version counters."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from engine.backend import Device, address, is_pinned
from engine.modes import MODES


class Storage:
    """What views of one memory share: how often it was written to, and where it lives."""

    __slots__ = ("_exposed", "device", "version")

    _exposed: bool | Storage
    """Whether somebody beside the engine holds the memory, or the storage that knows."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.version = 0
        """How often it was written to; negative in an inference tensor, which autograd does not follow."""

    @classmethod
    def fresh(cls, device: Device) -> Storage:
        """For a tensor that is not made by an op: an inference tensor's, in `inference_mode()`."""
        storage = cls(device)
        if MODES.inference:
            storage.mark_inference()
        return storage

    @property
    def is_exposed(self) -> bool:
        """Whether somebody beside the engine holds the memory, and may read and write it at any time."""
        found = getattr(self, "_exposed", False)
        return found if type(found) is bool else found.is_exposed

    def expose(self) -> None:
        found = getattr(self, "_exposed", False)
        if type(found) is bool:
            self._exposed = True
        else:
            found.expose()

    def alias(self) -> Storage:
        """The same memory with a count of writes of its own."""
        found = Storage(self.device)
        found._exposed = self
        return found

    def mark_inference(self) -> None:
        self.version = -(1 << 60)


class UntypedStorage:
    """The memory behind a tensor, as bytes."""

    __slots__ = ("_array", "device")

    def __init__(self, array: Any, device: Device) -> None:
        self._array = whole(array)
        self.device = device

    def data_ptr(self) -> int:
        """Where it begins; equal for tensors that share memory."""
        return address(self._array)

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._array.nbytes

    size = __len__ = nbytes

    def tolist(self) -> list[int]:
        """Every byte."""
        return np.frombuffer(self._array.tobytes(), np.uint8).tolist()

    def is_shared(self) -> bool:
        """Whether processes that are forked write to the same memory."""
        return is_shared(self._array)

    def is_pinned(self) -> bool:
        """Whether a GPU can read it without a detour."""
        return is_pinned(self._array)

    def __repr__(self) -> str:
        return f"engine.UntypedStorage(device={self.device}) of size {self.nbytes()}"


def whole(array: Any) -> Any:
    """The array that owns the memory of a view."""
    while type(array.base) is type(array):
        array = array.base
    return array


def is_shared(array: Any) -> bool:
    """Whether the memory is mapped so that forked processes share it."""
    base = whole(array).base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def shared_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers in memory that forked processes share."""
    memory = mmap.mmap(-1, max(array.nbytes, 1))
    copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy
