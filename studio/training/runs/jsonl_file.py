"""A file that grows by lines, also while the disk does not take them for a while."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

_MAX_PENDING = 64 * 2**20
"""Bytes that may wait in memory for the disk."""
_READ_SIZE = 1 << 16


class JsonlFile:
    """Appends lines. Those that cannot be written stay in memory and are written later, in order, each once.

    A reader sees whole lines: one that was written in part is taken back. May be used by several threads.

    Args:
        path: made if it is not there
        length: of what is kept of the file; the rest is cut off
        most: bytes that may wait in memory

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, path: Path, length: int = 0, *, most: int = _MAX_PENDING) -> None:
        self.path = path
        self.dropped = 0
        """Lines that there was no memory for."""
        self._most = most
        self._lock = threading.Lock()
        self._waiting = bytearray()
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._descriptor: int | None = descriptor
        self._written = _whole_lines(descriptor, length)
        os.ftruncate(descriptor, self._written)

    @property
    def length(self) -> int:
        """Bytes of all lines, those that wait included."""
        with self._lock:
            return self._written + len(self._waiting)

    def append(self, line: bytes, *, droppable: bool) -> None:
        """Add a line to those that wait; a droppable one only if there is memory for it."""
        with self._lock:
            if droppable and len(self._waiting) + len(line) > self._most:
                self.dropped += 1
            else:
                self._waiting += line

    def write(self) -> None:
        """Write what waits. Raises OSError; the file then ends with the last line that was written whole."""
        with self._lock:
            if self._descriptor is not None and self._waiting:
                self._write(self._descriptor)

    def close(self) -> None:
        """Close the file. What still waits is lost: call `write` before."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None:
                os.close(descriptor)

    def _write(self, descriptor: int) -> None:
        done = 0
        os.lseek(descriptor, self._written, os.SEEK_SET)
        try:
            while done < len(self._waiting):
                done += os.write(descriptor, bytes(self._waiting[done : done + _MAX_PENDING]))
        except OSError:
            done = self._waiting.rfind(b"\n", 0, done) + 1
            with suppress(OSError):  # the next lines overwrite the rest otherwise
                os.ftruncate(descriptor, self._written + done)
            raise
        finally:
            self._written += done
            del self._waiting[:done]


def _whole_lines(descriptor: int, length: int) -> int:
    """How many bytes of a file are whole lines, of those before a length."""
    end = min(length, os.fstat(descriptor).st_size)
    while end > 0:
        begin = max(end - _READ_SIZE, 0)
        os.lseek(descriptor, begin, os.SEEK_SET)
        found = os.read(descriptor, end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


__all__ = ["JsonlFile"]
