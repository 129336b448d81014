"""File locks of runs: one while a run folder is written, and one while a new run gets its number.

Both are locks of the operating system, which end with their process; see `engine.io.file_locks`.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from engine.io import file_locks
from studio.document.document_errors import FileError

LOCK_FILE = "run.lock"
_NUMBERING = ".gradwire-numbers.lock"
_WAIT_SECONDS = 1.0
"""Longest wait for a process that only checks the lock."""
_NUMBERING_SECONDS = 30.0
_POLL_SECONDS = 0.01


class FileLock:
    """A lock file of this process; `release` removes it.

    Args:
        path: created if missing
        seconds: longest wait for another holder

    Raises:
        BlockingIOError: another holder keeps the lock.
        OSError: the file cannot be created.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self.is_enforced = True
        """False on file systems without locks; the file then only names its writer."""
        ends = time.monotonic() + seconds
        while (descriptor := self._try()) is None:
            if time.monotonic() > ends:
                raise BlockingIOError(str(path))
            time.sleep(_POLL_SECONDS)
        self._descriptor: int | None = descriptor
        with suppress(OSError):  # the content is only for messages
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(_holder()).encode())

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if sys.platform == "win32":  # Windows does not remove files that others have open
            os.close(descriptor)
            with suppress(OSError):
                self._path.unlink()
            return
        with suppress(OSError):
            if file_locks.is_at(descriptor, self._path):
                self._path.unlink()
        os.close(descriptor)

    def _try(self) -> int | None:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except PermissionError:
            if sys.platform == "win32" and self._path.exists():  # it is being removed
                return None
            raise
        is_locked = False
        try:
            # The previous holder may have removed the file after it was opened here.
            is_locked = file_locks.try_lock(descriptor) and file_locks.is_at(descriptor, self._path)
        except OSError as error:
            if error.errno not in file_locks.UNSUPPORTED:
                raise
            is_locked, self.is_enforced = True, False
        finally:
            if not is_locked:
                os.close(descriptor)
        return descriptor if is_locked else None


class RunLock(FileLock):
    """Lock of a run folder. Raises FileError if another process holds it, and OSError."""

    def __init__(self, folder: Path) -> None:
        try:
            super().__init__(folder / LOCK_FILE, _WAIT_SECONDS)
        except BlockingIOError:
            raise locked_error(folder) from None


@contextmanager
def numbering_lock(runs: Path) -> Iterator[None]:
    """Lock for assigning the number of a new run. Raises FileError."""
    path = runs / _NUMBERING
    try:
        lock = FileLock(path, _NUMBERING_SECONDS)
    except BlockingIOError:
        problem = f"has been locked by {_describe_holder(_read(path))} for {_NUMBERING_SECONDS:.0f} seconds"
        raise FileError(str(path), "", problem, "Try again, or stop that process.") from None
    except OSError:  # the parent of an output folder can be read-only
        yield
        return
    try:
        yield
    finally:
        lock.release()


def is_run_locked(folder: Path) -> bool:
    """Whether a process is writing this run."""
    return is_locked(folder / LOCK_FILE)


def is_locked(path: Path) -> bool:
    """Whether a process holds this lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:  # usually because the file does not exist
        return False
    try:
        return not file_locks.try_lock(descriptor, shared=True)
    except OSError:
        return _may_be_alive(_read(path))
    finally:
        os.close(descriptor)


def locked_error(folder: Path) -> FileError:
    """The error for a run that is being written."""
    path = folder / LOCK_FILE
    holder = _read(path)
    remedy = "Wait until the run has ended, or stop it."
    if holder.get("host") not in (None, platform.node()):
        remedy += f" If that process no longer exists, delete {LOCK_FILE} there."
    return FileError(str(folder), "", f"is being trained by {_describe_holder(holder)}", remedy)


def _holder() -> dict[str, Any]:
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"process": os.getpid(), "host": platform.node(), "since": since}


def _describe_holder(holder: dict[str, Any]) -> str:
    if not holder:
        return "another process"
    if (holder.get("process"), holder.get("host")) == (os.getpid(), platform.node()):
        return "this process"
    return f"process {holder.get('process')} on {holder.get('host')} since {holder.get('since')}"


def _read(path: Path) -> dict[str, Any]:
    """The holder written in a lock file; empty if unreadable."""
    try:
        holder = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _may_be_alive(holder: dict[str, Any]) -> bool:
    """On file systems without locks: whether the process named in the file may still be running."""
    number = holder.get("process")
    return isinstance(number, int) and (holder.get("host") != platform.node() or psutil.pid_exists(number))


__all__ = ["LOCK_FILE", "FileLock", "RunLock", "locked_error", "is_run_locked", "is_locked", "numbering_lock"]
