"""Reads the statistics of a run, also while the run is being written."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.system.files import open_regular
from studio.document.document_errors import FileError
from studio.training.statistics.statistics_format import (
    STATISTICS_FILE,
    StatisticsHeader,
    damaged,
    is_intact,
    read_header,
    read_prefix,
)
from studio.training.statistics.step_statistics import GRADIENT, Kind, StatisticsLayout, StepStatistics

_CHUNK = 4 * 2**20
"""Bytes that are read at a time."""
_MAX_SERIES = 32
"""Series that are kept, so that later calls read only new records."""
_MAX_LOOKBACK = 64
"""Records before a step that are searched for gradients."""

Series = tuple[NDArray[np.int64], NDArray[np.float32]]


class RunStatistics:
    """The statistics of a run.

    Nothing is kept open, and memory does not grow with the run, except for the series that were asked for. A run
    without statistics has no steps. All methods are thread-safe, and raise FileError if the file is damaged or cannot
    be read.

    Args:
        folder: folder of the run
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / STATISTICS_FILE
        self._lock = threading.Lock()
        self._prefix = b""
        self._header: StatisticsHeader | None = None
        self._series: dict[tuple[str, str, str], tuple[int, list[NDArray[np.int64]], list[NDArray[np.float32]]]] = {}
        """Number of records read, and their steps and numbers, by series."""

    def layout(self) -> StatisticsLayout | None:
        """The outputs and parameters with the names of their figures; None if nothing was measured."""
        with self._open() as opened:
            return None if opened is None else opened[1].layout

    def steps(self) -> NDArray[np.int64]:
        """The measured steps, ascending."""
        return self._read_series("", "", "")[0]

    def series(self, kind: Kind, key: str, figure: str) -> Series:
        """The steps at which a figure was measured, and its values; both are empty if it never was."""
        return self._read_series(kind, key, figure)

    def at(self, step: int) -> StepStatistics | None:
        """The statistics of the last measured step up to `step`; None if there is none.

        Gradients are those of the last step at which they were measured.
        """
        with self._open() as opened:
            if opened is None:
                return None
            file, header, count = opened
            index = self._search(file, header, count, step)
            if index is None:
                return None
            begin = max(index - _MAX_LOOKBACK, 0)
            data = _read(file, header.position(begin), (index + 1 - begin) * header.record.itemsize)
        records = np.frombuffer(data, header.record)
        size = header.record.itemsize
        found = records[-1]
        if not is_intact(data[-size:]) or found["step"] > step:
            raise damaged(self.path, f"the record of step {step} was changed")
        numbers = found["numbers"].astype(np.float32)
        measured = np.flatnonzero(records["gradients"])
        at = None
        if len(measured) and is_intact(data[measured[-1] * size : (measured[-1] + 1) * size]):
            source = records[measured[-1]]
            at = int(source["step"])
            numbers = np.where(header.layout.gradient_columns, source["numbers"], numbers)
        return header.layout.statistics(int(found["step"]), lambda: numbers, at)

    # -- reading

    @contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, StatisticsHeader, int] | None]:
        """The open file, its header, and the number of records; None if there is nothing to read."""
        try:
            with open_regular(self.path) as file, self._lock:
                prefix = read_prefix(file)
                if prefix != self._prefix:
                    self._header = read_header(file, self.path)
                    self._prefix = prefix
                    self._series.clear()
                header = self._header
                yield None if header is None else (file, header, header.count(os.fstat(file.fileno()).st_size))
        except FileNotFoundError:
            yield None
        except OSError as error:
            raise FileError.from_os_error(self.path, "cannot be read", error) from None

    def _search(self, file: BinaryIO, header: StatisticsHeader, count: int, step: int) -> int | None:
        """Index of the last record up to a step."""
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            found = int.from_bytes(_read(file, header.position(middle), 8), "little", signed=True)
            low, high = (middle + 1, high) if found <= step else (low, middle)
        return low - 1 if low else None

    def _read_series(self, kind: str, key: str, figure: str) -> Series:
        """Steps and values of a figure; without a figure all steps, and no values."""
        with self._open() as opened:
            if opened is None:
                return np.empty(0, np.int64), np.empty(0, np.float32)
            file, header, count = opened
            column = header.layout.index(kind, key, figure) if kind in ("output", "parameter") else None
            if kind and column is None:
                return np.empty(0, np.int64), np.empty(0, np.float32)
            name = (kind, key, figure)
            done, steps, values = self._series.pop(name, (0, [], []))
            for records in _chunks(file, header, done, count):
                kept = records[records["gradients"] != 0] if figure == GRADIENT else records
                steps.append(kept["step"].astype(np.int64))
                if column is not None:
                    values.append(kept["numbers"][:, column].astype(np.float32))
            joined = np.concatenate(steps) if steps else np.empty(0, np.int64)
            numbers = np.concatenate(values) if values else np.empty(0, np.float32)
            if np.any(np.diff(joined) <= 0):
                raise damaged(self.path, "its steps are not in ascending order")
            while len(self._series) >= _MAX_SERIES:
                del self._series[next(iter(self._series))]
            self._series[name] = (count, [joined], [numbers])
            return joined, numbers


def _chunks(file: BinaryIO, header: StatisticsHeader, begin: int, end: int) -> Iterator[NDArray[Any]]:
    """Records of a range, some at a time."""
    most = max(_CHUNK // header.record.itemsize, 1)
    for first in range(begin, end, most):
        count = min(most, end - first)
        yield np.frombuffer(_read(file, header.position(first), count * header.record.itemsize), header.record)


def _read(file: BinaryIO, position: int, length: int) -> bytes:
    """Bytes of a file. Raises OSError if it has become shorter."""
    file.seek(position)
    data = file.read(length)
    while len(data) < length:
        more = file.read(length - len(data))
        if not more:
            raise OSError("the file became shorter while it was read")
        data += more
    return data


__all__ = ["RunStatistics", "Series"]
