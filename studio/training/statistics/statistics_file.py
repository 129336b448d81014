"""Writes the statistics of a run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.io import atomic_file
from studio.document.document_errors import FileError
from studio.training.statistics.statistics_format import (
    STATISTICS_FILE,
    StatisticsHeader,
    encode_header,
    encode_record,
    is_intact,
    read_header,
    record_type,
    renumber,
    same_layout,
)
from studio.training.statistics.step_statistics import StatisticsLayout

MAX_BYTES = 200 * 2**20
"""Maximum size of a file. When it is reached, every second step is removed, and from then on stored."""
_MAX_PENDING = 16 * 2**20
"""Maximum bytes of unwritten records in memory."""
_UNREAD_BYTES = 2048
"""What an unread record takes in memory besides its numbers."""
_CHUNK = 4 * 2**20


class _Record(NamedTuple):
    """A record that is not written yet."""

    step: int
    read: Callable[[], NDArray[np.float32]]
    has_gradients: bool


class StatisticsFile:
    """Append records to the statistics of a run. Records that cannot be written are kept and written later.

    `append` is called by the training; `write` by another thread.

    Args:
        folder: folder of the run; records that it has are continued if their columns are the same
        layout: the columns
        max_bytes: maximum size of the file
    """

    def __init__(self, folder: Path, layout: StatisticsLayout, *, max_bytes: int = MAX_BYTES) -> None:
        self.path = folder / STATISTICS_FILE
        self.dropped = 0
        """Number of records lost because the memory limit was reached, or because their numbers could not be read."""
        self._layout = layout
        self._max_bytes = max(max_bytes, len(encode_header(layout, 1)) + 4 * record_type(layout).itemsize)
        self._interval = 1
        """At most one record is stored for this number of steps."""
        self._lock = threading.Lock()
        self._pending: list[_Record] = []
        self._max_pending = _MAX_PENDING // (record_type(layout).itemsize + _UNREAD_BYTES)
        self._last: int | None = None
        """The last step that is stored."""
        self._header: StatisticsHeader | None = None
        """None until the file exists."""
        self._length = 0
        """Bytes of the file up to the last complete record."""

    def append(self, step: int, numbers: NDArray[np.float32], *, has_gradients: bool) -> None:
        """Queue a record."""
        self.append_deferred(step, lambda: numbers, has_gradients=has_gradients)

    def append_deferred(self, step: int, read: Callable[[], NDArray[np.float32]], *, has_gradients: bool) -> None:
        """Queue a record whose numbers are read when it is written. It is skipped if the interval has grown."""
        with self._lock:
            if len(self._pending) > self._max_pending:
                self.dropped += 1
            else:
                self._pending.append(_Record(step, read, has_gradients))

    def write(self) -> None:
        """Write queued records. Raises OSError and FileError; the file then ends with the last complete record."""
        with self._lock:
            pending = list(self._pending)
        if pending:
            header = self._header or self._open()
            last = self._last
            try:
                written = self._write(self._kept(pending))
            except BaseException:
                self._last = last
                raise
            with self._lock:
                del self._pending[: len(pending)]
            if written > self._max_bytes:
                self._thin(header)

    def _kept(self, records: list[_Record]) -> list[bytes]:
        """The records to store: the first of each interval."""
        kept: list[bytes] = []
        for step, read, has_gradients in records:
            if _is_kept(step, self._last, self._interval):
                try:
                    kept.append(encode_record(step, read(), has_gradients=has_gradients))
                except Exception:  # noqa: BLE001 - such as lack of memory: later records are still written
                    self.dropped += 1
                else:
                    self._last = step
        return kept

    def _open(self) -> StatisticsHeader:
        """Create the file, or continue the existing one."""
        try:
            with self.path.open("r+b") as file:
                header = read_header(file, self.path)
                if header is not None and same_layout(header.layout, self._layout):
                    count = _drop_damaged_end(file, header)
                    self._last = _step_of(file, header, count - 1) if count else None
                    self._interval = header.interval
                    self._header, self._length = header, header.position(count)
                    return header
        except (FileNotFoundError, FileError):
            pass  # a damaged file is replaced
        return self._create()

    def _create(self) -> StatisticsHeader:
        text = encode_header(self._layout, self._interval)
        atomic_file.write(self.path, text)
        self._last = None
        return self._reopened()

    def _reopened(self) -> StatisticsHeader:
        with self.path.open("rb") as file:
            header = read_header(file, self.path)
            assert header is not None, "it was just written"
            self._header, self._length = header, os.fstat(file.fileno()).st_size
            return header

    def _write(self, records: list[bytes]) -> int:
        """Append records. Returns the size of the file."""
        with self.path.open("r+b", buffering=0) as file:
            file.seek(self._length)
            data = memoryview(b"".join(records))
            try:
                while data:
                    data = data[file.write(data) :]
            except OSError:
                with suppress(OSError):  # otherwise the next records overwrite the rest
                    file.truncate(self._length)
                raise
            self._length = file.tell()
        return self._length

    def _thin(self, header: StatisticsHeader) -> None:
        """Double the interval until at most half of the file is left."""
        before = header.count(self._length)
        with self.path.open("rb") as file:
            newest = _step_of(file, header, before - 1)
            self._interval = max(self._interval, newest - _step_of(file, header, before - 2))
        while True:
            self._interval *= 2
            with self.path.open("rb") as old, atomic_file.replacing(self.path) as new:
                new.write(encode_header(self._layout, self._interval))
                last: int | None = None
                count = 0
                for records in _records(old, header, before):
                    kept = np.zeros(len(records), bool)
                    for index, step in enumerate(records["step"].tolist()):
                        if _is_kept(step, last, self._interval):
                            kept[index], last = True, step
                    new.write(records[kept].tobytes())
                    count += int(kept.sum())
            header = self._reopened()
            self._last = last
            if count <= before // 2 + 1:
                return


def truncate_statistics(folder: Path, step: int) -> None:
    """Remove the records after a step, because a resumed run trains those steps again. Raises OSError.

    A damaged file is left as it is, and replaced when new records are written.
    """
    path = folder / STATISTICS_FILE
    try:
        with path.open("r+b") as file:
            header = read_header(file, path)
            if header is None:
                return
            low, high = 0, _drop_damaged_end(file, header)
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if _step_of(file, header, middle) <= step else (low, middle)
            renumber(file)
            file.truncate(header.position(low))
    except (FileNotFoundError, FileError):
        return


def _is_kept(step: int, last: int | None, interval: int) -> bool:
    """Whether a step is the first one of its interval."""
    return last is None or step // interval > last // interval


def _drop_damaged_end(file: BinaryIO, header: StatisticsHeader) -> int:
    """Remove an incomplete or damaged end, as after a crash. Returns the number of records."""
    count, size = header.count(os.fstat(file.fileno()).st_size), header.record.itemsize
    while count:
        file.seek(header.position(count - 1))
        if is_intact(file.read(size)):
            break
        count -= 1
    file.truncate(header.position(count))
    return count


def _step_of(file: BinaryIO, header: StatisticsHeader, index: int) -> int:
    file.seek(header.position(index))
    return int.from_bytes(file.read(8), "little", signed=True)


def _records(file: BinaryIO, header: StatisticsHeader, count: int) -> Iterator[NDArray[Any]]:
    most = max(_CHUNK // header.record.itemsize, 1)
    file.seek(header.begin)
    for first in range(0, count, most):
        size = min(most, count - first)
        yield np.frombuffer(file.read(size * header.record.itemsize), header.record)


__all__ = ["MAX_BYTES", "StatisticsFile", "truncate_statistics"]
