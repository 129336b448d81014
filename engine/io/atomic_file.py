"""Atomic file writes: after a crash at any time, the file has either the old or the new content.

The new content is written to a temporary file `.gradwire-<16 hex digits>.tmp` in the same folder. Temporary files of
killed processes are removed when another process first writes to the folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engine.io import file_locks

_TEMPORARY = re.compile(r"\.gradwire-[0-9a-f]{16}\.tmp")
_STALE_SECONDS = 60.0
"""Minimum age of an abandoned file on Windows, where a closed temporary file may be about to be renamed."""
_cleaned: set[Path] = set()
"""Folders in which this process has already removed abandoned files."""


def write(path: Path, data: bytes | bytearray) -> os.stat_result:
    """Create or replace a file atomically. Follows symbolic links and keeps permissions and owner.

    Returns the status of the new file. Raises OSError, also for a read-only file; the old content is then unchanged.
    """
    with replacing(path) as file:
        file.write(data)
        file.flush()
        return os.fstat(file.fileno())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Context manager that yields a file to write and replaces `path` with it at the end of the block.

    After an exception, `path` is unchanged and the temporary file is removed.
    """
    target = Path(os.path.realpath(path))
    existing = _check_replaceable(target)
    _clean(target.parent)
    temporary, file = _open_temporary(target.parent)
    try:
        with file:
            if existing is not None:
                _copy_metadata(existing, target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":  # Windows cannot rename open files; elsewhere the lock is held until then
                os.replace(temporary, target)
        if sys.platform == "win32":
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _open_temporary(folder: Path) -> tuple[Path, BinaryIO]:
    """Create a temporary file and lock it, so that other processes do not remove it as abandoned."""
    while True:
        path = folder / f".gradwire-{secrets.token_hex(8)}.tmp"
        file = open(path, "xb")  # noqa: SIM115 - closed by the caller
        if sys.platform == "win32":
            return path, file
        try:
            is_locked = file_locks.try_lock(file.fileno()) and file_locks.is_at(file.fileno(), path)
        except OSError as error:
            is_locked = error.errno in file_locks.UNSUPPORTED
        if is_locked:
            return path, file
        file.close()  # another process removed it as abandoned before it was locked


def _clean(folder: Path) -> None:
    """Remove temporary files of processes that no longer exist."""
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_abandoned(entry.path)


def _remove_abandoned(path: str) -> None:
    """Remove a temporary file unless a process still writes it. Raises OSError if locks are not supported."""
    if sys.platform == "win32":
        if time.time() - os.stat(path).st_mtime > _STALE_SECONDS:
            os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        if file_locks.try_lock(descriptor):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _check_replaceable(target: Path) -> os.stat_result | None:
    """The status of the existing file; None if there is none. Raises OSError if it must not be replaced."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a device or pipe, not a file", str(target))
    # Renaming over a file does not require write permission, and root always has it: check the mode bits as well.
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return found


def _copy_metadata(existing: os.stat_result, target: Path, temporary: Path) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # only root can change the owner
            os.chown(temporary, existing.st_uid, existing.st_gid)
    shutil.copystat(target, temporary)


def _sync_folder(folder: Path) -> None:
    """Sync the folder so that the rename survives a crash. Not supported by some file systems."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
