"""Writes the folder of a run.

graph.gradwire        the trained document
run.json              settings, versions, machine, data and results
statistics.bin        figures of tensors at measured steps, see `studio.training.statistics.statistics_format`
metrics.jsonl         one JSON object per line, see `studio.training.runs.event_json`
weights.safetensors   weights at the end of the run
best.safetensors      weights of the best validation
checkpoints/          the newest checkpoints, for resuming
run.lock              locked while a process writes the run
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine import Tensor, fit
from engine.io import atomic_file, save_file
from studio.document.document_errors import FileError
from studio.document.files.project_format import dumps
from studio.document.model import Document
from studio.training.runs.background_writer import BackgroundWriter
from studio.training.runs.event_json import event_to_json, result_metrics
from studio.training.runs.jsonl_file import JsonlFile
from studio.training.runs.run_locks import RunLock, numbering_lock
from studio.training.runs.run_metadata import read_metadata

RUN_FILE, METRICS_FILE, GRAPH_FILE = "run.json", "metrics.jsonl", "graph.gradwire"
WEIGHTS_FILE, BEST_FILE = "weights.safetensors", "best.safetensors"

_TOKEN = secrets.token_hex(8)
"""Identifies this process; process numbers are reused."""

_ANNOTATIONS = ("number", "name", "note", "color")

_LINES_PER_EPOCH = 1000
"""Maximum number of step lines per epoch; further steps are thinned out."""
_SECONDS = 2.0
"""Interval between writes of results."""


def create_run_folder(runs: Path) -> Path:
    """Create a new run folder, named after the current time, in `runs`. Raises FileError."""
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    number = 1
    while True:
        folder = runs / f"{stamp}-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not runs.is_dir():
                raise FileError(str(runs), "", "is a file, not a folder", "Choose another output folder.") from None
            number += 1
        except OSError as error:
            raise FileError.from_os_error(folder, "cannot be created", error) from None
        else:
            return folder


_OF_ONE_RUN = ("last", "best", "ended", "message", "loss_problem")
"""Fields that a resumed run does not keep."""


class RunRecord:
    """Write the folder of a run.

    The constructor writes the graph and the settings, and raises FileError if that fails. Later write errors do not
    end the run: the content is kept and retried, and the writer reports it in `messages`.

    Args:
        folder: created if missing; must not contain another run
        document: the trained document
        settings: resolved settings
        writer: the background writer for weights
        position: for a resumed run, its position from `position()`; `folder` is then the folder of that run
        lock: lock of the folder if it is already held; the record takes it over
    """

    def __init__(
        self,
        folder: Path,
        document: Document,
        settings: Mapping[str, Any],
        writer: BackgroundWriter,
        position: Mapping[str, Any] | None = None,
        lock: RunLock | None = None,
    ) -> None:
        self.folder = folder
        self._lock = lock
        self.graph = dumps(document)
        """Text of the document."""
        self._writer = writer
        self._lines: JsonlFile | None = None
        self._written = time.monotonic()
        self._best: tuple[dict[str, Tensor], dict[str, str]] | None = None
        """Best weights not yet written, with their metadata: short epochs do not write every time."""
        self._batches: int | None = None
        """Batches per epoch, if known."""
        self._is_stream = False
        self._metadata: dict[str, Any] = {
            "started": _now(),
            "state": "running",
            "settings": dict(settings),
            "process": process_record(),
        }
        try:
            self._open(position)
        except BaseException:
            self.release()
            raise

    def _open(self, position: Mapping[str, Any] | None) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = self._lock or RunLock(self.folder)
            if position is None:
                self._start()
            else:
                self._resume(position)
        except FileExistsError:
            raise FileError(str(self.folder), "", "is a file, not a folder", "Choose another output folder.") from None
        except OSError as error:
            raise FileError.from_os_error(self.folder, "cannot be written", error) from None

    def _start(self) -> None:
        if (self.folder / RUN_FILE).exists():
            remedy = "Choose another output folder, or delete that run."
            raise FileError(str(self.folder), "", "already contains a run", remedy)
        (self.folder / GRAPH_FILE).write_text(self.graph, encoding="utf-8")
        self._lines = JsonlFile(self.folder / METRICS_FILE)
        with numbering_lock(self.folder.parent):
            self._metadata["number"] = next_number(self.folder.parent)
            self._write_metadata()

    def _resume(self, position: Mapping[str, Any]) -> None:
        """Continue a resumed run. Lines after the checkpoint are removed, because those steps are trained again."""
        metadata = read_metadata(self.folder / RUN_FILE)
        resumed = [*metadata.get("resumed", []), {"at": _now(), "step": position.get("step", 0)}]
        kept = {name: value for name, value in metadata.items() if name not in _OF_ONE_RUN}
        self._metadata = {
            **kept,
            **position.get("about", {}),
            **self._metadata,
            "started": metadata.get("started", _now()),
        }
        self._metadata["resumed"] = resumed
        self._lines = JsonlFile(self.folder / METRICS_FILE, position.get("metrics", 0))
        self._write_metadata()

    @property
    def is_locked(self) -> bool:
        """Whether the lock is enforced; some file systems have no locks."""
        return self._lock is not None and self._lock.is_enforced

    @property
    def data(self) -> list[dict[str, Any]]:
        """Fingerprints of the data files."""
        return self._metadata.get("data", [])

    def describe(self, **metadata: Any) -> None:
        """Add fields to run.json."""
        self._metadata.update(metadata)
        self._writer.run_now(RUN_FILE, self._write_metadata)

    def write_event(self, event: fit.TrainingEvent, weights: Callable[[], Mapping[str, Tensor]]) -> None:
        """Record an event. `weights` returns the current weights; it is called only for the best validation."""
        match event:
            case fit.Started():
                self._batches = event.batches
                self._is_stream = event.train_samples is None
                if self._lines is not None and not self._lines.length:
                    self._append(event)
            case fit.Step():
                if self._is_kept(event):
                    # Without streams, the step time can be computed from the throughput.
                    self._append(event, {"seconds": event.seconds} if self._is_stream else {})
            case fit.Epoch() | fit.Validated():
                if isinstance(event, fit.Epoch):
                    self._batches = event.batches
                self._append(event)
                self._take_results(event, weights)
            case fit.Done():
                self._append(event)
            case fit.ValidationStep():
                pass
            case fit.CompileState():
                self._metadata["compile"] = {name: getattr(event, name) for name in fit.CompileState.__slots__}

    def _is_kept(self, step: fit.Step) -> bool:
        """Whether to write a step. For epochs of unknown length, the interval doubles as the epoch grows."""
        if self._batches is None:
            return step.batch % (1 << (step.batch // _LINES_PER_EPOCH).bit_length()) == 0
        return step.batch % -(-self._batches // _LINES_PER_EPOCH) == 0

    def position(self, step: int) -> dict[str, Any]:
        """Position of the record, stored in the checkpoint of `step`. Call `flush` before writing that checkpoint."""
        self._queue_best()
        length = 0 if self._lines is None else self._lines.length
        metadata = {name: self._metadata[name] for name in ("last", "best") if name in self._metadata}
        return {"step": step, "metrics": length, "about": metadata}

    def flush(self) -> None:
        """Write pending metrics and best weights: a checkpoint must not be ahead of them.

        Can be called from the writer's thread. Raises OSError and FileError.
        """
        if self._lines is not None:
            self._lines.write()
        self._writer.rerun_failed(BEST_FILE)

    def finish(
        self, state: str, weights: Mapping[str, Tensor], message: str | None = None, *, seconds: float
    ) -> tuple[str, ...]:
        """Write the weights and the final state, and release the lock.

        Args:
            seconds: how long to retry failed writes

        Returns:
            Names of the files that could not be written.
        """
        metadata = _weights_metadata(self._metadata.get("last", {}))
        self._queue_best()
        self._write_lines()
        if weights:
            self._writer.run_now(WEIGHTS_FILE, lambda: self._save(WEIGHTS_FILE, weights, metadata))
        self._writer.wait()
        self._metadata.update(state=state, ended=_now(), **({"message": message} if message else {}))
        self._writer.run_now(RUN_FILE, self._write_metadata)
        lost = self._writer.finish(seconds)
        self.release()
        dropped = 0 if self._lines is None else self._lines.dropped
        return (*lost, f"{dropped:,} lines of {METRICS_FILE}") if dropped else tuple(lost)

    def close(self) -> None:
        """Close metrics.jsonl."""
        self._write_lines()
        if self._lines is not None:
            self._lines.close()

    def release(self) -> None:
        """Close metrics.jsonl and release the lock. The writer must have finished its jobs."""
        self.close()
        if self._lock is not None:
            self._lock.release()

    def _append(self, event: fit.TrainingEvent, more: Mapping[str, float] = MappingProxyType({})) -> None:
        if self._lines is not None:
            text = json.dumps({**(event_to_json(event) or {}), **more}, ensure_ascii=False) + "\n"
            self._lines.append(text.encode(), droppable=isinstance(event, fit.Step))
            if time.monotonic() - self._written > _SECONDS:
                self._write_waiting()

    def _take_results(self, event: fit.Epoch | fit.Validated, weights: Callable[[], Mapping[str, Tensor]]) -> None:
        last = {"epoch": event.epoch, "step": event.step, **result_metrics(event)}
        self._metadata["last"] = last
        if event.best:
            self._metadata["best"] = last
            self._best = {name: tensor.clone() for name, tensor in weights().items()}, _weights_metadata(last)
        self._write_lines()

    def _write_waiting(self) -> None:
        """Write pending results."""
        self._written = time.monotonic()
        self._write_lines()
        self._queue_best()
        self._writer.run_now(RUN_FILE, self._write_metadata)

    def _queue_best(self) -> None:
        """Queue the best weights for writing, or retry the last failed write."""
        best, self._best = self._best, None
        if best is None:
            self._writer.retry(BEST_FILE)
        else:
            self._writer.put(BEST_FILE, lambda: self._write_best(best))

    def _write_best(self, best: tuple[dict[str, Tensor], dict[str, str]]) -> str:
        try:
            self._save(BEST_FILE, *best)
        except FileError as error:
            kept = "Training continues. The best weights are kept in memory, and writing is retried."
            raise FileError(error.path, "", error.problem, f"{kept} {error.remedy}") from None
        return f"Writing the best weights succeeded: {self.folder / BEST_FILE}."

    def _write_lines(self) -> None:
        lines = self._lines
        if lines is not None:
            self._writer.run_now(METRICS_FILE, lambda: self._write_waiting_lines(lines))

    def _write_waiting_lines(self, lines: JsonlFile) -> str:
        try:
            lines.write()
        except OSError as error:
            found = FileError.from_os_error(lines.path, "cannot be written", error)
            kept = "Training continues. Metrics are kept in memory until they can be written."
            raise FileError(found.path, "", found.problem, f"{kept} {found.remedy}") from None
        missing = f"{lines.dropped:,} step lines were lost" if lines.dropped else "no line was lost"
        return f"Writing metrics succeeded: {lines.path}; {missing}."

    def _write_metadata(self) -> str:
        path = self.folder / RUN_FILE
        self._metadata.update(_read_annotations(path))  # the run may have been renamed meanwhile
        try:
            atomic_file.write(path, _json(self._metadata))
        except OSError as error:
            raise FileError.from_os_error(path, "cannot be written", error) from None
        return f"Writing succeeded: {path}."

    def _save(self, name: str, weights: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
        path = self.folder / name
        try:
            save_file(weights, path, {"producer": "gradwire", **metadata})
        except OSError as error:
            raise FileError.from_os_error(path, "cannot be written", error) from None
        return f"Writing succeeded: {path}."


def next_number(runs: Path) -> int:
    """Number for the next run in a folder of runs."""
    numbers = (_read_annotations(path).get("number") for path in runs.glob(f"*/{RUN_FILE}"))
    return 1 + max((number for number in numbers if isinstance(number, int)), default=0)


def annotate(folder: Path, **annotations: str | int | None) -> dict[str, Any]:
    """Set the name, note or color of a run in run.json; None removes it. Returns the new content. Raises FileError."""
    path = folder / RUN_FILE
    try:
        merged = {**read_metadata(path), **annotations}
        metadata = {name: value for name, value in merged.items() if value is not None or name not in annotations}
        atomic_file.write(path, _json(metadata))
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be written", error) from None
    return metadata


def process_record() -> dict[str, Any]:
    """Identification of this process."""
    return {"number": os.getpid(), "host": platform.node(), "token": _TOKEN}


def is_this_process(record: Any) -> bool:
    """Whether a `process_record` describes this process."""
    return isinstance(record, dict) and record.get("token") == _TOKEN


def without_annotations(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The content of run.json without the user's annotations."""
    return {name: value for name, value in metadata.items() if name not in _ANNOTATIONS}


def _read_annotations(path: Path) -> dict[str, Any]:
    """The number and the annotations in a run.json; later writes keep them."""
    try:
        metadata = read_metadata(path)
    except FileError:
        return {}
    return {name: metadata[name] for name in _ANNOTATIONS if name in metadata}


def _json(metadata: Mapping[str, Any]) -> bytes:
    return (json.dumps(metadata, indent=2, ensure_ascii=False) + "\n").encode()


def _weights_metadata(last: Mapping[str, Any]) -> dict[str, str]:
    """Metadata of weights: epoch and step as text."""
    return {name: str(last[name]) for name in ("epoch", "step") if name in last}


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
