"""What a pickle of PyTorch describes, as inert data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

DTYPES = {
    name: np.dtype(getattr(np, name))
    for name in (
        *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
} | {
    name: np.dtype(getattr(ml_dtypes, name))
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
}
"""NumPy dtype by PyTorch's name."""

MAX_DIMENSIONS = 64
"""NumPy's limit."""
MAX_EXPANDED_BYTES = 1 << 30
"""Largest size of a tensor whose elements overlap, such as the result of `expand`."""


class PickleError(ValueError):
    """A pickle that is damaged. The text completes "FILE: is damaged: …"."""


class RefusedError(ValueError):
    """Content that is not read. The text completes "FILE: …" and ends with what to do."""


class Record:
    """A value that only describes other values. It occurs in arguments, never in a result."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Constructor(Record):
    """An allowed global that a pickle calls, and the function that checks the arguments and makes the value."""

    name: str
    build: Callable[[tuple[Any, ...], TensorFactory], Any]


@dataclass(frozen=True, slots=True)
class DTypeRecord(Record):
    """A dtype of PyTorch that the engine does not have."""

    name: str


@dataclass(frozen=True, slots=True)
class StorageType(Record):
    """Type of a storage; without dtype, a storage of bytes."""

    dtype: np.dtype[Any] | None


@dataclass(frozen=True, slots=True)
class TensorType(Record):
    """The class of a tensor, as an argument."""


@dataclass(frozen=True, slots=True)
class StorageRecord(Record):
    """Memory that tensors share."""

    key: str
    dtype: np.dtype[Any] | None
    """None for bytes."""
    numel: int

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.numel * (1 if self.dtype is None else self.dtype.itemsize)


class Arguments(tuple[Any, ...], Record):
    """A tuple with a record in it: arguments of a constructor."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor: a view of a storage that lies within it. Strides and offset count elements."""

    storage: StorageRecord
    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    requires_grad: bool
    is_parameter: bool = False

    @property
    def extent(self) -> int:
        """Number of elements of the storage from the first to the last one of the tensor."""
        return _extent(self.shape, self.strides)

    def view_of(self, elements: NDArray[Any], first: int) -> NDArray[Any]:
        """The tensor as a view of elements of its storage. `first` is the index of its first element."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        strides = tuple(step * elements.itemsize for step in self.strides)
        return np.ndarray(self.shape, self.dtype, elements, first * elements.itemsize, strides)

    @property
    def memory(self) -> tuple[Any, ...]:
        """Equal for tensors that are the same view of the same storage, such as tied weights."""
        return self.storage.key, self.dtype, self.offset, self.shape, self.strides


class TensorFactory(Protocol):
    """Makes the tensors of a result."""

    def tensor(self, record: TensorRecord) -> Any: ...

    def parameter(self, data: Any, requires_grad: bool) -> Any:
        """A parameter with the data of a tensor that `tensor` returned."""
        ...

    def is_tensor(self, value: Any) -> bool: ...


def checked_tensor(
    storage: Any, dtype: np.dtype[Any], offset: Any, shape: Any, strides: Any, requires_grad: Any
) -> TensorRecord:
    """A tensor whose elements all lie within its storage. Raises PickleError."""
    if not isinstance(storage, StorageRecord):
        raise PickleError(f"a tensor has a {type(storage).__name__} in place of a storage")
    sizes, steps = _sizes(shape), _sizes(strides)
    if len(sizes) != len(steps) or len(sizes) > MAX_DIMENSIONS:
        raise PickleError(f"a tensor has {len(sizes)} sizes and {len(steps)} strides")
    if not is_size(offset) or not isinstance(requires_grad, bool):
        raise PickleError(f"a tensor has offset {str(offset)[:40]} and requires_grad {str(requires_grad)[:40]}")
    count = math.prod(sizes)
    available = storage.size // dtype.itemsize
    needed = offset + _extent(sizes, steps)
    if count and needed > available:
        raise PickleError(
            f"a tensor of shape {sizes}, strides {steps} and offset {offset} needs {needed:,} elements, but its "
            f"storage {storage.key!r} has {available:,}"
        )
    if count > available and count * dtype.itemsize > MAX_EXPANDED_BYTES:
        raise PickleError(f"a tensor of shape {sizes} repeats the {available:,} elements of its storage too often")
    return TensorRecord(storage, dtype, offset, sizes, steps, requires_grad)


def is_size(value: Any) -> bool:
    """Whether a value is a whole number from 0 to 2**63 - 1."""
    return type(value) is int and 0 <= value < 1 << 63


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 0 if 0 in shape else sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) + 1


def _sizes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple) or not all(is_size(size) for size in value):
        raise PickleError("a tensor has sizes or strides that are not tuples of whole numbers from 0")
    return tuple(value)
