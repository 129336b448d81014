"""Tensor memory: storages that views share, with version counters."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from engine.backend import Device, address, is_pinned
from engine.modes import MODES


class Storage:
    """State that all views of one memory share: version counter and device."""

    __slots__ = ("_exposed", "device", "version")

    _exposed: bool | Storage
    """Whether code outside the engine has access to the memory, or the storage that holds this flag."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.version = 0
        """Number of in-place writes; negative for an inference tensor, which autograd cannot use."""

    @classmethod
    def fresh(cls, device: Device) -> Storage:
        """Return a storage for a tensor that no op created; an inference tensor's storage in `inference_mode()`."""
        storage = cls(device)
        if MODES.inference:
            storage.mark_inference()
        return storage

    @property
    def is_exposed(self) -> bool:
        """Return whether code outside the engine may read and write the memory at any time."""
        found = getattr(self, "_exposed", False)
        return found if type(found) is bool else found.is_exposed

    def expose(self) -> None:
        found = getattr(self, "_exposed", False)
        if type(found) is bool:
            self._exposed = True
        else:
            found.expose()

    def alias(self) -> Storage:
        """Return a storage of the same memory with a separate version counter."""
        found = Storage(self.device)
        found._exposed = self
        return found

    def mark_inference(self) -> None:
        self.version = -(1 << 60)


class UntypedStorage:
    """Memory of a tensor, as bytes."""

    __slots__ = ("_array", "device")

    def __init__(self, array: Any, device: Device) -> None:
        self._array = memory_owner(array)
        self.device = device

    def data_ptr(self) -> int:
        """Return the address of the memory; equal for tensors that share it."""
        return address(self._array)

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._array.nbytes

    size = __len__ = nbytes

    def tolist(self) -> list[int]:
        """Return all bytes as a list."""
        return np.frombuffer(self._array.tobytes(), np.uint8).tolist()

    def is_shared(self) -> bool:
        """Return whether the memory is shared with forked processes."""
        return is_shared(self._array)

    def is_pinned(self) -> bool:
        """Return whether the memory is pinned."""
        return is_pinned(self._array)

    def __repr__(self) -> str:
        return f"engine.UntypedStorage(device={self.device}) of size {self.nbytes()}"


def memory_owner(array: Any) -> Any:
    """Return the array that owns the memory of a view."""
    while type(array.base) is type(array):
        array = array.base
    return array


def is_shared(array: Any) -> bool:
    """Return whether the memory is mapped as shared between forked processes."""
    base = memory_owner(array).base
    return isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)


def shared_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy in memory that forked processes share."""
    memory = mmap.mmap(-1, max(array.nbytes, 1))
    copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy
