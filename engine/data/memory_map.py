"""Memory-mapped arrays. They are pickled as path and offset, so that worker processes map the same file.

Reading a mapped page beyond the end of a truncated file kills the process (SIGBUS). `TruncationGuard` therefore checks
the file size before each batch, which takes a microsecond. A file truncated between this check and the copy still kills
the process. Reading rows with system calls would prevent that, but is many times slower for small rows.
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
    """A read-only memory map of an array in a file. Raises DataError if the file cannot be opened or is too short."""
    with ReadErrorContext(path), open_regular(path) as file:
        try:
            return np.memmap(file, dtype, "r", offset, shape, order)
        except ValueError as error:
            raise DataError(f"{path}: changed while it was opened ({error}). Restore the file.") from None


class TruncationGuard:
    """Detects truncation of the files behind memory-mapped arrays after construction.

    Args:
        arrays: any arrays; those that are not memory-mapped are ignored
    """

    def __init__(self, *arrays: NDArray[Any]) -> None:
        maps = {id(base_map): base_map for array in arrays if (base_map := _base_memory_map(array)) is not None}
        self._maps = [(base_map.base, base_map.base.size(), str(base_map.filename)) for base_map in maps.values()]

    def check(self) -> None:
        """Raises DataError if a file has become shorter."""
        for base, before, path in self._maps:
            if (now := base.size()) < before:
                raise DataError(
                    f"{path}: was truncated from {format_bytes(before)} to {format_bytes(now)} during "
                    "reading. Restore the file and resume the run from its last checkpoint. "
                    "To replace a file, write a new one and rename it."
                )


def to_pickle(array: NDArray[Any]) -> Any:
    """A picklable replacement of an array: file and offset if memory-mapped, otherwise the array itself."""
    base_map = _base_memory_map(array)
    if base_map is None or not array.size:
        return array
    start = array.__array_interface__["data"][0] - base_map.__array_interface__["data"][0]
    return _ArrayLocation(str(base_map.filename), base_map.offset + start, array.dtype, array.shape, array.strides)


def from_pickle(value: Any) -> NDArray[Any]:
    """Restore an array from the result of `to_pickle`."""
    return value.array() if isinstance(value, _ArrayLocation) else value


def _base_memory_map(array: NDArray[Any]) -> Any:
    """The memory map that contains an array; None if the array is not memory-mapped."""
    base_map: Any = array
    while isinstance(base_map, np.ndarray) and not isinstance(base_map.base, mmap.mmap):
        base_map = base_map.base
    return base_map if isinstance(base_map, np.memmap) and base_map.filename is not None else None


class _ArrayLocation:
    """Path, offset and layout of an array in a file."""

    def __init__(
        self, path: str, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.path = path
        self.offset = offset
        self.dtype = dtype
        self.shape = shape
        self.strides = strides

    def array(self) -> NDArray[Any]:
        """Map the array. Raises DataError if the file is missing or too short."""
        base_map = open_memory_map(Path(self.path), np.uint8)
        try:
            return np.ndarray(self.shape, self.dtype, base_map, self.offset, self.strides)
        except (TypeError, ValueError):
            raise DataError(f"{self.path}: has become shorter since it was opened. Restore the file.") from None
