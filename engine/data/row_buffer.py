"""A buffer for rows of numbers that moves to a temporary file when it grows."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import psutil
from numpy.typing import NDArray

from engine.data.file_access import format_bytes
from engine.errors import DataError

IN_MEMORY = 32 * 2**20
"""Maximum bytes in memory; larger buffers go to a file, which the system caches."""

_PREFIX = "rows-"
_SPARE = 2**26
"""Bytes to leave free on the disk."""


class RowBuffer:
    """Collects rows. The file is in Gradwire's cache folder or `$GRADWIRE_TABLES` and is deleted with the array.

    Args:
        width: numbers per row
        dtype: dtype of the numbers
        name: source of the rows, for errors
    """

    def __init__(self, width: int, dtype: Any, name: str) -> None:
        self._width = width
        self._dtype = np.dtype(dtype)
        self._name = name
        self._pieces: list[NDArray[Any]] = []
        self._pending_bytes = 0
        self._count = 0
        self._path: Path | None = None

    def append(self, rows: NDArray[Any]) -> None:
        """Append N×width numbers. Raises DataError if the disk is full."""
        piece = np.ascontiguousarray(rows, self._dtype).reshape(-1, self._width)
        self._pieces.append(piece)
        self._pending_bytes += piece.nbytes
        self._count += len(piece)
        if self._pending_bytes > IN_MEMORY:
            self._write()

    def finish(self) -> NDArray[Any]:
        """All rows, read-only if in a file. No rows can be appended afterwards."""
        if self._path is None:
            empty = np.empty((0, self._width), self._dtype)
            return np.concatenate(self._pieces) if self._pieces else empty
        self._write()
        array = np.memmap(self._path, self._dtype, "r", 0, (self._count, self._width))
        weakref.finalize(array, _remove, self._path)
        self._path = None
        return array

    def drop(self) -> None:
        """Discard all rows after an error."""
        self._pieces = []
        if self._path is not None:
            _remove(self._path)

    def _write(self) -> None:
        try:
            if self._path is None:
                folder = _prepare_folder()
                handle, name = tempfile.mkstemp(".bin", f"{_PREFIX}{os.getpid()}-", folder)
                os.close(handle)
                self._path = Path(name)
            if shutil.disk_usage(self._path.parent).free < self._pending_bytes + _SPARE:
                raise OSError("not enough free space")
            with self._path.open("ab") as file:
                for piece in self._pieces:
                    file.write(piece.data)
        except OSError as error:
            self.drop()
            raise DataError(
                f"{self._name}: too large for memory, and {format_bytes(self._pending_bytes)} cannot be written to "
                f"{_cache_folder()} ({error.strerror or error}). Free disk space, or set GRADWIRE_TABLES to another "
                "folder."
            ) from None
        self._pieces, self._pending_bytes = [], 0


def _cache_folder() -> Path:
    chosen = os.environ.get("GRADWIRE_TABLES")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gradwire", appauthor=False)) / "tables"


def _prepare_folder() -> Path:
    """The folder of the files. Removes files of processes that no longer exist."""
    folder = _cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f"{_PREFIX}*"):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not psutil.pid_exists(int(owner)):
            _remove(path)
    return folder


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # Windows keeps a mapped file; the next start removes it
        return
