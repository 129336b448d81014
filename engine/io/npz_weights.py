"""Weights in NumPy archives. Never unpickles."""

from __future__ import annotations

from functools import partial
from typing import Any

from numpy.typing import NDArray

from engine.data.numpy_files import StoredArray, read_array_headers
from engine.errors import DataError, WeightsError
from engine.io.byte_source import FileSource
from engine.io.stored_tensor import StoredTensor, WeightsFile


def open_npz(source: FileSource) -> WeightsFile:
    """The arrays of a .npz file whose directory was checked. Raises WeightsError."""
    try:
        arrays = read_array_headers(source.path)
    except DataError as error:
        raise WeightsError(str(error)) from None
    tensors = {name: StoredTensor(each.shape, _native(each), partial(_read, each)) for name, each in arrays.items()}
    return WeightsFile(source.name, tensors)


def _native(array: StoredArray) -> Any:
    return array.dtype.newbyteorder("=")


def _read(array: StoredArray) -> NDArray[Any]:
    try:
        return array.read().astype(_native(array), order="C")
    except DataError as error:
        raise WeightsError(str(error)) from None


__all__ = ["open_npz"]
