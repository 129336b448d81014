"""Runs for other programs: all points as CSV, or as TensorBoard's event files."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from studio.document.errors import FileError
from studio.training.runs.curves import Array
from studio.training.runs.history import Run
from studio.training.runs.points import Kind

COLUMNS = ("run", "quantity", "kind", "step", "epoch", "seconds", "value")
_KINDS: tuple[Kind, ...] = ("train", "validation")
INSTALL = 'pip install "gradwire[tensorboard]"'


def write_csv(runs: Sequence[Run], path: Path) -> None:
    """One row for each point: run, quantity, kind, step, epoch, seconds, value. Raises FileError."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            table_of(runs, file)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be written", error) from None


def table_of(runs: Sequence[Run], file: IO[str]) -> None:
    """The same into an open file. Numbers have all their digits."""
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    for run in runs:
        for quantity, kind, axes, values in _curves(run):
            for step, epoch, seconds, value in zip(*(axis.tolist() for axis in axes), values.tolist(), strict=True):
                table.writerow((run.name, quantity, kind, int(step), f"{epoch:.6g}", f"{seconds:.6g}", repr(value)))


def write_tensorboard(runs: Sequence[Run], folder: Path) -> None:
    """Event files: a folder for each run, in it one for training and one for validation. Raises FileError.

    TensorBoard keeps numbers in single precision.
    """
    tensorboard = _TensorBoard()
    taken: set[str] = set()
    for run in runs:
        name = _fresh(run, taken)
        for kind in _KINDS:
            try:
                tensorboard.write(run, kind, folder / name / kind)
            except OSError as error:
                raise FileError.from_os_error(folder, "cannot be written", error) from None


class _TensorBoard:
    """What of the package is needed; it works without TensorFlow."""

    def __init__(self) -> None:
        try:
            self._event: Any = importlib.import_module("tensorboard.compat.proto.event_pb2").Event
            self._summary: Any = importlib.import_module("tensorboard.compat.proto.summary_pb2").Summary
            self._writer: Any = importlib.import_module("tensorboard.summary.writer.event_file_writer").EventFileWriter
        except ImportError:
            raise FileError("TensorBoard", "", "is not installed", f"Install it: {INSTALL}") from None

    def write(self, run: Run, kind: Kind, folder: Path) -> None:
        began = 0.0 if run.started is None else run.started.timestamp()
        curves = [curve for curve in _curves(run) if curve[1] == kind]
        if not curves:
            return
        writer = self._writer(str(folder))
        for quantity, _, (steps, _, seconds), values in curves:
            for step, time, value in zip(steps.tolist(), seconds.tolist(), values.tolist(), strict=True):
                summary = self._summary(value=[self._summary.Value(tag=quantity, simple_value=value)])
                writer.add_event(self._event(wall_time=began + time, step=int(step), summary=summary))
        writer.close()


def _curves(run: Run) -> Iterator[tuple[str, Kind, tuple[Array, Array, Array], Array]]:
    """Quantity, kind, places along the three axes, values; without points that have no value at all."""
    for quantity in run.quantities:
        for kind in _KINDS:
            curve = run.curve(quantity, kind)
            if curve is not None and len(curve):
                yield quantity, kind, (curve.x("step"), curve.x("epoch"), curve.x("seconds")), curve.column.values


def _fresh(run: Run, taken: set[str]) -> str:
    """A folder's name that no other run has."""
    plain = "".join(letter if letter.isalnum() or letter in " -_" else "_" for letter in run.name).strip() or "run"
    name, number = plain, 2
    while name.casefold() in taken:
        name, number = f"{plain} {number}", number + 1
    taken.add(name.casefold())
    return name


__all__ = ["COLUMNS", "INSTALL", "table_of", "write_csv", "write_tensorboard"]
