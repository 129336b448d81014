"""The runs of a project: from this process, from earlier ones, and from other running processes.

Curves of a `Run` come from events if this process trains it, else from metrics.jsonl, which a `MetricsFollower` reads
while it grows.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from engine import fit
from engine.system.files import open_regular
from studio.document.document_errors import FileError
from studio.document.files.project_files import load
from studio.document.model import Document
from studio.training.diagnosis.divergence import LOSS_PROBLEMS
from studio.training.run_progress import RunProgress
from studio.training.runs.curves import Array, Axis, CurveColumn, CurveTable
from studio.training.runs.event_json import result_metrics
from studio.training.runs.metric_points import MetricKind, MetricPoints, MetricSource, PointReader, Rewind, is_auxiliary
from studio.training.runs.run_locks import is_run_locked
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import GRAPH_FILE, METRICS_FILE, RUN_FILE

_CHUNK = 1 << 18
"""Bytes decoded at once: a few milliseconds, after which other threads can run."""

UNFINISHED = ("stopped", "failed", "interrupted")


@dataclass(frozen=True, slots=True)
class Curve:
    """One quantity of a run: positions of its points on the axes, and their values."""

    table: CurveTable
    column: CurveColumn
    batches: int

    def __len__(self) -> int:
        return len(self.column)

    def x(self, axis: Axis) -> Array:
        """Positions of the points on an axis; for epochs a new array, see `places`."""
        unit = self.unit(axis)
        return self.positions(axis) if unit == 1 else self.positions(axis) / unit

    def positions(self, axis: Axis) -> Array:
        """The positions in a finer unit, without any computation."""
        return self.table.positions(axis)

    def unit(self, axis: Axis) -> float:
        """Number of `places` units per axis unit."""
        return float(max(self.batches, 1)) if axis == "epoch" else 1.0


@dataclass(eq=False, slots=True)
class Run:
    """One run of the project, from any process."""

    number: int
    folder: Path | None = None
    """None if the run is not written to disk."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Content of run.json."""
    document: Document | None = None
    """The trained document, once loaded by `read_document`."""
    state: str = "running"
    """"idle", "running", "paused", "done", "stopped", "failed", or "interrupted" if its process is gone."""
    is_own: bool = False
    """Whether this process trains or trained it."""
    is_shown: bool = True
    color: int | None = None
    """Index of its color in the palette; None while not shown."""
    last: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Metrics of the last epoch or validation (train_loss, val_accuracy, …), with epoch and step."""
    best: Mapping[str, Any] = field(default_factory=dict[str, Any])
    compiled: bool | None = None
    """Whether steps are compiled; None before the start and for runs of other processes."""
    compile_state: fit.CompileState | None = None
    """Current compile state of the steps."""
    read_error: str = ""
    """Read errors, for display."""
    version: int = 0
    """Incremented when curves change."""
    _tables: dict[MetricSource, CurveTable] = field(default_factory=dict[MetricSource, CurveTable])
    _reader: PointReader = field(default_factory=PointReader)

    # -- metadata

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or f"Run {self.number}")

    @property
    def note(self) -> str:
        return str(self.metadata.get("note") or "")

    @property
    def chosen_color(self) -> int | None:
        """Palette index chosen by the user; None for an automatic color."""
        found = self.metadata.get("color")
        return found if type(found) is int and found >= 0 else None

    @property
    def loss_problem(self) -> str:
        """What is wrong with the losses, in a word: "diverged"; empty if nothing was found. `message` explains it."""
        return LOSS_PROBLEMS.get(str(self.metadata.get("loss_problem") or ""), "")

    @property
    def is_live(self) -> bool:
        return self.state in ("running", "paused")

    @property
    def started(self) -> datetime | None:
        return _time(self.metadata.get("started"))

    @property
    def ended(self) -> datetime | None:
        return _time(self.metadata.get("ended"))

    @property
    def settings(self) -> Mapping[str, Any]:
        """Epochs, steps, device, seed, compile."""
        return _mapping(self.metadata.get("settings"))

    @property
    def device(self) -> str:
        return str(self.settings.get("device", ""))

    @property
    def progress(self) -> RunProgress:
        return self._reader.progress

    @property
    def step(self) -> int:
        """Completed batches, as far as known."""
        return max(self.progress.step, int(self.last.get("step") or 0))

    def read_document(self) -> Document:
        """Load the trained document. Raises FileError if its file is damaged."""
        if self.document is None:
            if self.folder is None:
                raise FileError(self.name, "", "has no saved graph", "Choose another run.")
            self.document = load(self.folder / GRAPH_FILE)
        return self.document

    # -- curves

    @property
    def quantities(self) -> Sequence[str]:
        """Quantities in display order: losses, metrics, learning rates, throughput."""
        found = dict.fromkeys(name for table in self._tables.values() for name in table.columns)
        return tuple(sorted(found, key=lambda name: (name != "loss", not name.startswith("loss/"), is_auxiliary(name))))

    @property
    def points(self) -> int:
        return sum(len(column) for table in self._tables.values() for column in table.columns.values())

    def curve(self, quantity: str, kind: MetricKind) -> Curve | None:
        """The curve of a quantity; for training by batch, or by epoch if there are no batch values."""
        for source in ("steps", "epochs") if kind == "train" else ("validation",):
            table = self._tables.get(source)
            if table is not None and quantity in table.columns:
                # The first epoch of a stream has unknown length; use the batches so far.
                batches = self.progress.batches or self.progress.batch
                return Curve(table, table.columns[quantity], batches)
        return None

    def values(self, source: MetricSource) -> dict[str, tuple[float, ...]]:
        """All values from a source by quantity: of training batches, training epochs or validations."""
        table = self._tables.get(source)
        return {} if table is None else {name: tuple(map(float, each.values)) for name, each in table.columns.items()}

    def take(self, events: Iterable[fit.TrainingEvent]) -> None:
        """Add events of this process."""
        events = list(events)
        for event in events:
            if isinstance(event, fit.Step):
                continue
            match event:
                case fit.Started():
                    self.compiled = event.compiled
                case fit.CompileState():
                    self.compile_state = event
                case fit.Epoch() | fit.Validated():
                    self.last = {"epoch": event.epoch, "step": event.step, **result_metrics(event)}
                    self.best = self.last if event.best else self.best
                case _:
                    pass
        self.add(self._reader.take(events))

    def add(self, parts: Iterable[MetricPoints | Rewind]) -> None:
        """Add points."""
        for part in parts:
            self.version += 1
            if isinstance(part, Rewind):
                self._cut(part.step)
            else:
                self._tables.setdefault(part.source, CurveTable()).extend(part.steps, part.seconds, part.values)

    def apply_update(self, update: MetricsUpdate) -> None:
        """Apply an update from a MetricsFollower."""
        if self.is_own:
            return
        self.add(update.parts)
        self._reader.progress = update.progress
        self.read_error = update.read_error

    def describe(self, metadata: Mapping[str, Any], state: str) -> None:
        """Update from run.json. The state of a run of this process is not changed."""
        self.metadata = metadata
        if not self.is_own:
            self.state = state
        if not (self.is_own and self.last):
            self.last, self.best = _mapping(metadata.get("last")), _mapping(metadata.get("best"))

    def _cut(self, step: int) -> None:
        time = 0.0
        for table in self._tables.values():
            table.cut(step)
            if len(table):
                time = max(time, float(table.positions("seconds")[-1]))
        self._reader.resume_at(step, time)


@dataclass(frozen=True, slots=True)
class MetricsUpdate:
    """New points from metrics.jsonl."""

    parts: tuple[MetricPoints | Rewind, ...]
    progress: RunProgress
    read_error: str
    is_complete: bool
    """Whether the end of the file was reached."""


class MetricsFollower:
    """Read metrics.jsonl of a run incrementally while it grows. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / METRICS_FILE
        self._decoder = msgspec.json.Decoder()
        self._begin()

    def _begin(self) -> None:
        self._reader = PointReader()
        self._offset = 0
        self._broken = 0
        """Number of lines that are not valid JSON."""

    def read(self) -> MetricsUpdate:
        """Read the next chunk; takes a few milliseconds."""
        parts: list[MetricPoints | Rewind] = []
        try:
            with open_regular(self._path) as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._offset:  # the run was resumed from an earlier position
                    self._begin()
                    parts.append(Rewind(-1))
                file.seek(self._offset)
                data = file.read(_CHUNK)
        except OSError as error:
            read_error = str(FileError.from_os_error(self._path, "cannot be read", error))
            return MetricsUpdate((), self._reader.progress, read_error, is_complete=True)
        is_complete = self._offset + len(data) >= size
        end = data.rfind(b"\n") + 1
        if not end and len(data) == _CHUNK:  # valid lines are shorter
            end, self._broken = len(data), self._broken + 1
            data = b""
        self._offset += end
        parts += self._reader.take_lines(self._decoded(data[:end]))
        return MetricsUpdate(tuple(parts), self._reader.progress, self._read_error(), is_complete)

    def _decoded(self, data: bytes) -> list[Any]:
        try:
            return self._decoder.decode_lines(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return list(self._one_by_one(data))

    def _one_by_one(self, data: bytes) -> Iterator[Any]:
        for line in data.splitlines():
            try:
                if line.strip():
                    yield self._decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._broken += 1

    def _read_error(self) -> str:
        damaged = self._reader.damaged + self._broken
        if not damaged:
            return ""
        lines = "1 line" if damaged == 1 else f"{damaged:,} lines"
        return f"{lines} of {METRICS_FILE} cannot be read and {'is' if damaged == 1 else 'are'} skipped."


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Metadata and state of a run folder."""

    folder: Path
    metadata: Mapping[str, Any]
    state: str
    read_error: str = ""


class RunFolder:
    """Scan the folder of a project's runs. Not thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[int, int, StoredRun]] = {}

    def scan(self) -> list[StoredRun]:
        """List the runs, oldest first. Only changed files are read."""
        try:
            folders = [Path(entry.path) for entry in os.scandir(self.folder) if entry.is_dir()]
        except OSError:
            folders = []
        found = {folder: one for folder in folders if (one := self._scan_folder(folder)) is not None}
        self._known = found
        return sorted((_with_live_state(one) for _, _, one in found.values()), key=_start_order)

    def _scan_folder(self, folder: Path) -> tuple[int, int, StoredRun] | None:
        path = folder / RUN_FILE
        try:
            stamp = path.stat()
            cached = self._known.get(folder)
            if cached is not None and cached[:2] == (stamp.st_mtime_ns, stamp.st_size):
                return cached
            metadata = read_metadata(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return 0, 0, StoredRun(folder, {}, "failed", f"{RUN_FILE} cannot be read: {error.strerror or error}.")
        except FileError as error:
            return 0, 0, StoredRun(folder, {}, "failed", f"{RUN_FILE} {error.problem}.")
        return stamp.st_mtime_ns, stamp.st_size, StoredRun(folder, metadata, str(metadata.get("state", "")))


def _with_live_state(found: StoredRun) -> StoredRun:
    """A "running" run without a lock was interrupted."""
    if found.state == "running" and not is_run_locked(found.folder):
        return StoredRun(found.folder, found.metadata, "interrupted", found.read_error)
    return found


def _start_order(found: StoredRun) -> tuple[str, str]:
    return str(found.metadata.get("started", "")), found.folder.name


def run_from_stored(stored: StoredRun, used_numbers: Collection[int]) -> Run:
    """Create a Run without curves. If its number is taken, as in merged folders, it gets the next free number."""
    number = stored.metadata.get("number")
    if not isinstance(number, int) or number in used_numbers:
        number = max(used_numbers, default=0) + 1
    run = Run(number, stored.folder)
    run.describe(stored.metadata, stored.state)
    run.read_error = stored.read_error
    return run


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone()
    except (ValueError, OverflowError, OSError):  # the last two for years out of range
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


__all__ = [
    "UNFINISHED",
    "Curve",
    "MetricsFollower",
    "StoredRun",
    "MetricsUpdate",
    "Run",
    "RunFolder",
    "run_from_stored",
]
