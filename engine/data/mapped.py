"""Arrays that lie in files. Pickled they are a place in a file, so that worker processes map them too."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray


def referenced(array: NDArray[Any]) -> Any:
    """What is to be pickled in the place of an array: where it lies in a file, or else the array itself."""
    whole: Any = array
    while isinstance(whole, np.ndarray) and not isinstance(whole.base, mmap.mmap):
        whole = whole.base
    if not isinstance(whole, np.memmap) or whole.filename is None or not array.size:
        return array
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return _Place(str(whole.filename), whole.offset + start, array.dtype, array.shape, array.strides)


def restored(value: Any) -> NDArray[Any]:
    """The array that `referenced` was given."""
    return value.array() if isinstance(value, _Place) else value


class _Place:
    """A file, and how an array lies in it."""

    def __init__(
        self, path: str, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.path = path
        self.offset = offset
        self.dtype = dtype
        self.shape = shape
        self.strides = strides

    def array(self) -> NDArray[Any]:
        whole = np.memmap(self.path, np.uint8, "r")
        return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)
