"""An append-only file of lines that buffers in memory while the disk cannot be written."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

_MAX_PENDING = 64 * 2**20
"""Maximum bytes of unwritten lines in memory."""
_READ_SIZE = 1 << 16


class JsonlFile:
    """Append lines to a file. Lines that cannot be written stay in memory and are written later, in order.

    Readers see only complete lines: a partially written line is removed. Thread-safe.

    Args:
        path: created if missing
        length: the file is truncated to this many bytes
        most: maximum bytes of unwritten lines

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path, length: int = 0, *, max_pending: int = _MAX_PENDING) -> None:
        self.path = path
        self.dropped = 0
        """Number of lines lost because the memory limit was reached."""
        self._max_pending = max_pending
        self._lock = threading.Lock()
        self._pending = bytearray()
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._descriptor: int | None = descriptor
        self._written = _complete_lines_length(descriptor, length)
        os.ftruncate(descriptor, self._written)

    @property
    def length(self) -> int:
        """Bytes of all lines, including unwritten ones."""
        with self._lock:
            return self._written + len(self._pending)

    def append(self, line: bytes, *, droppable: bool) -> None:
        """Queue a line. Droppable lines are lost if the memory limit is reached."""
        with self._lock:
            if droppable and len(self._pending) + len(line) > self._max_pending:
                self.dropped += 1
            else:
                self._pending += line

    def write(self) -> None:
        """Write queued lines. Raises OSError; the file then ends with the last complete line."""
        with self._lock:
            if self._descriptor is not None and self._pending:
                self._write(self._descriptor)

    def close(self) -> None:
        """Close the file. Queued lines are lost: call `write` before."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None:
                os.close(descriptor)

    def _write(self, descriptor: int) -> None:
        done = 0
        os.lseek(descriptor, self._written, os.SEEK_SET)
        try:
            while done < len(self._pending):
                done += os.write(descriptor, bytes(self._pending[done : done + _MAX_PENDING]))
        except OSError:
            done = self._pending.rfind(b"\n", 0, done) + 1
            with suppress(OSError):  # otherwise the next lines overwrite the rest
                os.ftruncate(descriptor, self._written + done)
            raise
        finally:
            self._written += done
            del self._pending[:done]


def _complete_lines_length(descriptor: int, length: int) -> int:
    """Number of bytes before `length` that are complete lines."""
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
