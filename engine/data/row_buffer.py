"""Rows of numbers that arrive in pieces: in memory while they are few, in a file of their own when they become many."""

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
"""Bytes that are kept in memory; more go to a file, of which the system keeps in memory what it has room for."""

_PREFIX = "rows-"
_SPARE = 2**26
"""Bytes of a disk that are left free."""


class RowBuffer:
    """Collects rows. The file lies in Gradwire's cache folder, or `$GRADWIRE_TABLES`, and goes with the array.

    Args:
        width: numbers in a row
        dtype: what they are
        name: what the rows come from, for errors
    """

    def __init__(self, width: int, dtype: Any, name: str) -> None:
        self._width = width
        self._dtype = np.dtype(dtype)
        self._name = name
        self._pieces: list[NDArray[Any]] = []
        self._held = 0
        self._count = 0
        self._path: Path | None = None

    def append(self, rows: NDArray[Any]) -> None:
        """N×width more. Raises DataError if the disk is full."""
        piece = np.ascontiguousarray(rows, self._dtype).reshape(-1, self._width)
        self._pieces.append(piece)
        self._held += piece.nbytes
        self._count += len(piece)
        if self._held > IN_MEMORY:
            self._write()

    def finish(self) -> NDArray[Any]:
        """All rows, read-only if they are in a file. Nothing can be appended any more."""
        if self._path is None:
            empty = np.empty((0, self._width), self._dtype)
            return np.concatenate(self._pieces) if self._pieces else empty
        self._write()
        array = np.memmap(self._path, self._dtype, "r", 0, (self._count, self._width))
        weakref.finalize(array, _remove, self._path)
        self._path = None
        return array

    def drop(self) -> None:
        """Forget everything, after an error."""
        self._pieces = []
        if self._path is not None:
            _remove(self._path)

    def _write(self) -> None:
        try:
            if self._path is None:
                folder = _folder()
                handle, name = tempfile.mkstemp(".bin", f"{_PREFIX}{os.getpid()}-", folder)
                os.close(handle)
                self._path = Path(name)
            if shutil.disk_usage(self._path.parent).free < self._held + _SPARE:
                raise OSError("there is no room")
            with self._path.open("ab") as file:
                for piece in self._pieces:
                    file.write(piece.data)
        except OSError as error:
            self.drop()
            raise DataError(
                f"{self._name}: is larger than what is kept in memory, and {format_bytes(self._held)} of it cannot be "
                f"written to {_place()} ({error.strerror or error}). Free some space, or set GRADWIRE_TABLES to "
                "another folder."
            ) from None
        self._pieces, self._held = [], 0


def _place() -> Path:
    chosen = os.environ.get("GRADWIRE_TABLES")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gradwire", appauthor=False)) / "tables"


def _folder() -> Path:
    """Where the files lie; those that processes left behind which were killed are removed."""
    folder = _place()
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
