"""Writing a file so that at every moment, a crash included, the old or the new content is there, whole.

The new content is written to a temporary file beside it, `.gradwire-<16 hex digits>.tmp`. One that a killed process
left behind is removed when another process first writes to that folder.
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
"""Windows refuses to remove a file that is open; this is for the moment between closing and renaming one."""
_cleaned: set[Path] = set()
"""Folders where this process has looked for what killed processes left."""


def write(path: Path, data: bytes | bytearray) -> os.stat_result:
    """Replace the content of `path`, or make it. Links are followed; permissions and owner are kept.

    Returns what the file is like now. Raises OSError, also for a file marked read-only, with the old content in
    place and nothing left over.
    """
    with replacing(path) as file:
        file.write(data)
        file.flush()
        return os.fstat(file.fileno())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """The same for a content that is written bit by bit: it takes the place of the old one at the end of the block.

    Whatever the block is left by, an exception included, nothing is left over.
    """
    target = Path(os.path.realpath(path))
    existing = _replaceable(target)
    _clean(target.parent)
    temporary, file = _open_temporary(target.parent)
    try:
        with file:
            if existing is not None:
                _take_over(existing, target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":  # which cannot rename open files; elsewhere the file stays locked until then
                os.replace(temporary, target)
        if sys.platform == "win32":
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _open_temporary(folder: Path) -> tuple[Path, BinaryIO]:
    """A new temporary file, locked, so that others see that its process is alive."""
    while True:
        path = folder / f".gradwire-{secrets.token_hex(8)}.tmp"
        file = open(path, "xb")  # noqa: SIM115 - closed by the caller
        if sys.platform == "win32":
            return path, file
        try:
            is_ours = file_locks.try_lock(file.fileno()) and file_locks.is_at(file.fileno(), path)
        except OSError as error:
            is_ours = error.errno in file_locks.UNSUPPORTED
        if is_ours:
            return path, file
        file.close()  # another process took it for abandoned before it was locked


def _clean(folder: Path) -> None:
    """Remove temporary files of processes that are gone."""
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_abandoned(entry.path)


def _remove_abandoned(path: str) -> None:
    """Remove a temporary file unless a process still writes it. Raises OSError where that cannot be known."""
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


def _replaceable(target: Path) -> os.stat_result | None:
    """What is known of the file that is there. Raises OSError for one that must not be replaced."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a device or pipe, not a file", str(target))
    # Replacing needs no right to write the file, and the superuser has every right: look at the mark itself too.
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return found


def _take_over(existing: os.stat_result, target: Path, temporary: Path) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # only the superuser can give files away
            os.chown(temporary, existing.st_uid, existing.st_gid)
    shutil.copystat(target, temporary)


def _sync_folder(folder: Path) -> None:
    """Make the replacement itself last; some file systems do not offer it."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
