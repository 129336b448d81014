"""Export of runs as CSV or as TensorBoard event files.

Exports are generators that yield the completed fraction, so that they can show progress and be cancelled. A cancelled
export leaves no files.
"""

from __future__ import annotations

import csv
import importlib
import io
import os
import secrets
import shutil
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from engine.io import atomic_file
from studio.document.document_errors import FileError
from studio.training.runs.curves import Array
from studio.training.runs.metric_points import MetricKind
from studio.training.runs.run_history import MetricsFollower, Run
from studio.training.runs.run_locks import FileLock, is_locked

COLUMNS = ("run", "quantity", "kind", "step", "epoch", "seconds", "value")
_KINDS: tuple[MetricKind, ...] = ("train", "validation")
_SECONDS = 0.05
"""Minimum time between two progress values."""
_PIECE = 1000
"""Rows per chunk."""
_LOCK = ".lock"
"""Suffix of the lock file of a temporary folder."""
INSTALL = 'pip install "gradwire[tensorboard]"'


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """A snapshot of a run for export."""

    name: str
    began: float
    """Seconds since 1970."""
    curves: tuple[tuple[str, MetricKind, Array, Array, Array, Array], ...]
    """Quantity, kind, steps, epochs, seconds, values."""


RunReader: TypeAlias = Callable[[], ExportedRun]
ExportProgress: TypeAlias = Generator[float, None, None]
"""Yields the completed fraction, 0 to 1."""


def export_snapshot(run: Run) -> ExportedRun:
    """A snapshot of the current points of a run."""
    curves: list[tuple[str, MetricKind, Array, Array, Array, Array]] = []
    for quantity in run.quantities:
        for kind in _KINDS:
            curve = run.curve(quantity, kind)
            if curve is not None and len(curve):
                steps, epochs, seconds = curve.x("step"), curve.x("epoch"), curve.x("seconds")
                curves.append((quantity, kind, steps, epochs, seconds, curve.column.values))
    return ExportedRun(run.name, 0.0 if run.started is None else run.started.timestamp(), tuple(curves))


def run_reader(run: Run) -> RunReader:
    """A function that returns the snapshot of a run: the current points if this process trains it, else the file."""
    if run.is_own or run.folder is None:
        snapshot = export_snapshot(run)
        return lambda: snapshot
    copy, follower = Run(run.number, run.folder, run.metadata), MetricsFollower(run.folder)

    def read() -> ExportedRun:
        is_complete = False
        while not is_complete:
            update = follower.read()
            copy.apply_update(update)
            is_complete = update.is_complete
        return export_snapshot(copy)

    return read


def write_csv(sources: Sequence[RunReader], path: Path) -> ExportProgress:
    """Write one row per point: run, quantity, kind, step, epoch, seconds, value. Raises FileError."""
    try:
        with atomic_file.replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            yield from _throttled(_write_rows(sources, text))
            text.detach()
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be written", error) from None


def write_csv_text(sources: Sequence[RunReader], file: IO[str]) -> None:
    """Write the CSV to an open file."""
    for _ in _write_rows(sources, file):
        pass


def write_tensorboard(sources: Sequence[RunReader], folder: Path) -> ExportProgress:
    """Write event files to RUN/train and RUN/validation folders. Raises FileError.

    TensorBoard stores values in single precision.
    """
    tensorboard = _TensorBoard()
    hidden = folder / f".gradwire-export-{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        lock = FileLock(hidden.with_suffix(_LOCK), 0)
        try:
            hidden.mkdir()
            yield from _throttled(tensorboard.write(sources, hidden))
            for file in [path for path in hidden.rglob("*") if path.is_file()]:
                target = folder / file.relative_to(hidden)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(file, target)
        finally:
            shutil.rmtree(hidden, ignore_errors=True)
            lock.release()
    except OSError as error:
        raise FileError.from_os_error(folder, "cannot be written", error) from None


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary folders of killed exports."""
    for path in folder.glob(f".gradwire-export-*{_LOCK}"):
        if is_locked(path):
            continue
        with suppress(OSError):  # another process may be doing the same
            lock = FileLock(path, 0)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            lock.release()


def _write_rows(sources: Sequence[RunReader], file: IO[str]) -> Iterator[float]:
    """Write the rows with full precision; yields the completed fraction."""
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    for index, read in enumerate(sources):
        run = read()
        for fraction, (quantity, kind, *columns) in _chunks(run):
            rows = zip(*(column.tolist() for column in columns), strict=True)
            table.writerows(
                (run.name, quantity, kind, int(step), f"{epoch:.6g}", f"{seconds:.6g}", repr(value))
                for step, epoch, seconds, value in rows
            )
            yield (index + fraction) / len(sources)


def _chunks(run: ExportedRun) -> Iterator[tuple[float, tuple[str, MetricKind, Array, Array, Array, Array]]]:
    """Yield the curves of a run in chunks, each with the completed fraction."""
    total, done = sum(len(curve[-1]) for curve in run.curves), 0
    for quantity, kind, *columns in run.curves:
        for begin in range(0, len(columns[-1]), _PIECE):
            steps, epochs, seconds, values = (column[begin : begin + _PIECE] for column in columns)
            done += len(values)
            yield done / total, (quantity, kind, steps, epochs, seconds, values)


def _throttled(fractions: Iterable[float]) -> ExportProgress:
    """Limit the rate of progress values."""
    last = time.monotonic()
    for fraction in fractions:
        if time.monotonic() - last > _SECONDS:
            last = time.monotonic()
            yield fraction


class _TensorBoard:
    """The required parts of the tensorboard package; they work without TensorFlow."""

    def __init__(self) -> None:
        try:
            self._event: Any = importlib.import_module("tensorboard.compat.proto.event_pb2").Event
            self._summary: Any = importlib.import_module("tensorboard.compat.proto.summary_pb2").Summary
            self._writer: Any = importlib.import_module("tensorboard.summary.writer.event_file_writer").EventFileWriter
        except ImportError:
            raise FileError("TensorBoard", "", "is not installed", f"Install it: {INSTALL}") from None

    def write(self, sources: Sequence[RunReader], folder: Path) -> Iterator[float]:
        used: set[str] = set()
        for index, read in enumerate(sources):
            run = read()
            name = _unique_folder_name(run.name, used)
            writers: dict[MetricKind, Any] = {}
            try:
                for fraction, (quantity, kind, steps, _, seconds, values) in _chunks(run):
                    if kind not in writers:
                        writers[kind] = self._writer(str(folder / name / kind))
                    for step, after, value in zip(steps.tolist(), seconds.tolist(), values.tolist(), strict=True):
                        summary = self._summary(value=[self._summary.Value(tag=quantity, simple_value=value)])
                        event = self._event(wall_time=run.began + after, step=int(step), summary=summary)
                        writers[kind].add_event(event)
                    yield (index + fraction) / len(sources)
            finally:
                for writer in writers.values():
                    writer.close()


def _unique_folder_name(run_name: str, used: set[str]) -> str:
    """A unique folder name."""
    base = "".join(letter if letter.isalnum() or letter in " -_" else "_" for letter in run_name).strip() or "run"
    name, number = base, 2
    while name.casefold() in used:
        name, number = f"{base} {number}", number + 1
    used.add(name.casefold())
    return name


__all__ = [
    "COLUMNS",
    "INSTALL",
    "RunReader",
    "ExportedRun",
    "ExportProgress",
    "run_reader",
    "write_csv_text",
    "export_snapshot",
    "write_csv",
    "write_tensorboard",
]
