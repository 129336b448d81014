"""Arrays that lie in files. Pickled they are a place in a file, so that worker processes map them too.

Who reads a page of a map that its file no longer has is killed by the system, without a word (SIGBUS). A `Watch` asks
for the size of the file before each batch, which takes a microsecond. What is left is a file that is cut off in the few
microseconds between that and the copy. Reading the rows by system calls would leave nothing, but takes many times as
long as copying small ones from a map.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.file_access import ReadErrorContext, format_bytes
from engine.errors import DataError
from engine.system.files import open_regular


def open_memory_map(
    path: Path, dtype: Any, offset: int = 0, shape: tuple[int, ...] | None = None, order: Literal["C", "F"] = "C"
) -> NDArray[Any]:
    """A read-only memory map of an array in a file. Raises DataError if the file cannot be opened, or is too short."""
    with ReadErrorContext(path), open_regular(path) as file:
        try:
            return np.memmap(file, dtype, "r", offset, shape, order)
        except ValueError as error:
            raise DataError(f"{path}: has changed while it was opened ({error}). Put it back as it was.") from None


class TruncationGuard:
    """Says when the files of arrays were cut off. The first size is that of the files now.

    Args:
        arrays: of any kind; those that lie in files count
    """

    def __init__(self, *arrays: NDArray[Any]) -> None:
        maps = {id(whole): whole for array in arrays if (whole := _whole(array)) is not None}
        self._watched = [(whole.base, whole.base.size(), str(whole.filename)) for whole in maps.values()]

    def check(self) -> None:
        """Raises DataError if a file is shorter than it was."""
        for base, before, path in self._watched:
            if (now := base.size()) < before:
                raise DataError(
                    f"{path}: was truncated from {format_bytes(before)} to {format_bytes(now)} during "
                    "reading. Restore the file and resume the run from its last checkpoint. "
                    "To replace a file, write a new one and rename it."
                )


def to_pickle(array: NDArray[Any]) -> Any:
    """What is to be pickled in the place of an array: where it lies in a file, or else the array itself."""
    whole = _whole(array)
    if whole is None or not array.size:
        return array
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return _Place(str(whole.filename), whole.offset + start, array.dtype, array.shape, array.strides)


def from_pickle(value: Any) -> NDArray[Any]:
    """The array that `referenced` was given."""
    return value.array() if isinstance(value, _Place) else value


def _whole(array: NDArray[Any]) -> Any:
    """The memory map that an array is a view of; None if it is of none."""
    whole: Any = array
    while isinstance(whole, np.ndarray) and not isinstance(whole.base, mmap.mmap):
        whole = whole.base
    return whole if isinstance(whole, np.memmap) and whole.filename is not None else None


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
        """Raises DataError if the file is not there any more, or too short."""
        whole = open_memory_map(Path(self.path), np.uint8)
        try:
            return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)
        except (TypeError, ValueError):
            raise DataError(f"{self.path}: is shorter than it was. Put the file back as it was.") from None
