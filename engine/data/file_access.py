"""Reading of data files: errors that name the file, and checks of the free memory."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import psutil

from engine.errors import DataError
from engine.system.files import check_regular

DEFLATE_RATIO = 1032
"""Maximum compression ratio of DEFLATE: 258 bytes in two bits."""


class ReadErrorContext:
    """Context manager that turns read errors into a DataError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FileNotFoundError):
            raise DataError(f"{self.path}: file not found. Check the path.") from None
        if isinstance(error, (EOFError, zlib.error, gzip.BadGzipFile)):
            message = f"{self.path}: damaged or incomplete gzip data ({error}). Download the file again."
            raise DataError(message) from None
        if isinstance(error, OSError):
            raise DataError(f"{self.path}: cannot be read: {error.strerror or error}.") from None


def check_memory(path: Path | str, size: int, remedy: str) -> None:
    """Raises DataError if `size` bytes exceed the free memory."""
    available = psutil.virtual_memory().available
    if size > available:
        raise DataError(
            f"{path}: needs {format_bytes(size)} of memory, but {format_bytes(available)} are free. {remedy}"
        )


def required_path(title: str, argument: str, path: str, kind: str) -> Path:
    """The path of an existing regular file or folder. Raises DataError if `path` is empty or does not exist."""
    if not path:
        raise DataError(f"{title}: no {kind} selected. Set {argument}.")
    found = Path(path)
    if kind == "folder":
        if not os.path.isdir(path):
            raise DataError(f"{path}: folder not found. Check the path.")
        return found
    with ReadErrorContext(found):
        check_regular(found)
    return found


def format_bytes(count: float) -> str:
    """A size in binary units, such as ``1.5 MiB``."""
    power = min((max(int(count), 1).bit_length() - 1) // 10, 4)
    return f"{count / 1024**power:.{min(power, 1)}f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
