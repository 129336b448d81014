"""Open files that users name. Every reader of the engine and the studio opens them here.

Only regular files are opened: reading from a device, a pipe or a socket may block for ever or never end.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from io import BufferedReader
from typing import TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]


def open_regular(path: PathLike) -> BufferedReader:
    """Open a regular file for reading. Symbolic links are followed.

    Raises:
        OSError: it is a folder, a device, a pipe or a socket, its name cannot be one of a file, or the system refuses.
    """
    check_regular(path)  # first, as opening alone can block, or change the state of a device
    return open(path, "rb", opener=_opened)


def check_regular(path: PathLike) -> os.stat_result:
    """Return the status of a regular file, for libraries that open files themselves.

    Raises:
        OSError: as `open_regular` does, without opening anything.
    """
    try:
        found = os.stat(path)
    except ValueError:  # a null character, or a surrogate that encodes no byte
        raise _refusal(errno.EINVAL, "its name contains characters that are not allowed", path) from None
    _refuse_irregular(found, path)
    return found


def read_regular(path: PathLike, max_bytes: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes; the size is checked before reading.

    Raises:
        OSError: as `open_regular` does, or the file is larger.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise _refusal(errno.EINVAL, f"it has {size:,} bytes, but at most {max_bytes:,} are read", path)
        return file.read(size)


def _opened(path: str, flags: int) -> int:
    """Opener for `open` that checks that the file is still the same regular file."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        _refuse_irregular(os.fstat(descriptor), path)
        if sys.platform != "win32":
            os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_irregular(found: os.stat_result, path: PathLike) -> None:
    # On Windows, too: NUL, CON and COM1 are character devices, and \\.\pipe\… are pipes.
    if stat.S_ISDIR(found.st_mode):
        raise _refusal(errno.EISDIR, "it is a folder, not a file", path)
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(errno.EINVAL, f"it is {_kind(found.st_mode)}, not a file", path)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _refusal(number: int, reason: str, path: PathLike) -> OSError:
    """Return an OSError; its subclass depends on the error number."""
    return OSError(number, reason, os.fspath(path))


__all__ = ["PathLike", "check_regular", "open_regular", "read_regular"]
