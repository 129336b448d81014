"""Operating system locks on open files. The system releases them when the process ends.

Linux and macOS lock the whole file (`flock`), Windows a byte far beyond the content, so that the file stays readable.
On network file systems such as NFS, locks only work between machines if server and mount support them.
"""

from __future__ import annotations

import errno
import os
import sys

UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})
"""Error numbers of file systems without locks."""

if sys.platform == "win32":
    import msvcrt

    _LOCKED_ERRORS = frozenset({errno.EACCES, errno.EDEADLK})
    _BYTE = 1 << 30
    """The byte that is locked."""

    def _lock(descriptor: int, shared: bool) -> None:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    _LOCKED_ERRORS = frozenset({errno.EWOULDBLOCK, errno.EACCES})

    def _lock(descriptor: int, shared: bool) -> None:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file, unless it is locked through another descriptor, of any process. Closing the file unlocks it.

    Args:
        descriptor: of a file open for reading and writing; for reading is enough if `shared`
        shared: tolerate other shared locks, except on Windows

    Returns:
        Whether the file is locked now.

    Raises:
        OSError: the file system has no locks (`UNSUPPORTED`), or the descriptor is bad.
    """
    try:
        _lock(descriptor, shared)
    except OSError as error:
        if error.errno in _LOCKED_ERRORS:
            return False
        raise
    return True


def is_at(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Whether a path still refers to this open file; false if the file was removed or replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


__all__ = ["UNSUPPORTED", "is_at", "try_lock"]
