"""Deferred arrays: placeholders for results that `engine.compiler` records instead of computing."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from engine.modes import MODES


class Flags(NamedTuple):
    """Memory flags of an array, like `ndarray.flags`."""

    c_contiguous: bool
    f_contiguous: bool
    writeable: bool


class Form(NamedTuple):
    """Shape, dtype and memory layout of an array."""

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]
    owns: bool
    """The array is not a view."""
    flags: Flags

    @classmethod
    def of(cls, array: Any) -> Form:
        flags = array.flags
        writeable = bool(getattr(flags, "writeable", True))  # CuPy arrays are always writeable
        contiguous = Flags(bool(flags.c_contiguous), bool(flags.f_contiguous), writeable)
        return cls(tuple(array.shape), array.dtype, tuple(array.strides), array.base is None, contiguous)


class Deferred(np.lib.mixins.NDArrayOperatorsMixin):
    """Array of a tensor whose op was recorded. Reading its values runs the recording."""

    __slots__ = ("__weakref__", "dtype", "form", "owners", "segment", "shape", "slot", "value")

    def __init__(
        self, segment: Any, slot: int, form: Form, value: Any = None, owners: list[weakref.ref[Any]] | None = None
    ) -> None:
        self.segment = segment
        """Recording that computes this array."""
        self.slot = slot
        self.form = form
        self.shape, self.dtype = form.shape, form.dtype
        self.value = value
        """Computed array, or None."""
        self.owners = [] if owners is None else owners
        """Tensors that receive the computed array in place of this object."""

    def real(self) -> Any:
        """Return the computed array. If it is not computed yet, this ends the recording: a graph break."""
        if self.segment is not None:
            self.segment.demand(self.slot)
        return self.value

    def settle(self) -> None:
        """Assign the computed array to the tensors that hold this object."""
        for owner in self.owners:
            tensor = owner()
            if tensor is not None and tensor._array is self:
                tensor._array = self.value
        self.owners.clear()

    # -- attributes that need no values

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return self.form.strides

    @property
    def flags(self) -> Flags:
        return self.form.flags

    @property
    def base(self) -> Any:
        return None if self.form.owns else self

    def __len__(self) -> int:
        return self.shape[0]

    # -- attributes that need values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.real(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        arrays = [one.real() if isinstance(one, Deferred) else one for one in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self.real()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.real()[index] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.real(), name)

    def __repr__(self) -> str:
        return f"Deferred(slot={self.slot}, shape={self.shape}, dtype={self.dtype})"


def adopt(tensor: Any) -> None:
    """Register a tensor that shares the array of another, so that it receives the computed array."""
    array = tensor._array
    if type(array) is Deferred:
        array.owners.append(weakref.ref(tensor))


def settled(tensor: Any) -> Any:
    """Return the array of a tensor after running pending computations and writes."""
    array = tensor._array
    if type(array) is Deferred:
        array = tensor._array = array.real()
    elif MODES.capture is not None:
        MODES.capture.on_memory_access(tensor)
    return array


__all__ = ["Deferred", "Flags", "Form", "adopt", "settled"]
