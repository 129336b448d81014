"""Writing a file so that at every moment, a crash included, the old or the new content is there, whole."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write(path: Path, data: bytes) -> os.stat_result:
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
    temporary = target.with_name(f".gradwire-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if existing is not None:
                _take_over(existing, target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


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
