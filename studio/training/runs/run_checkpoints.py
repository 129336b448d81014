"""Checkpoints of a run: the complete training state, written periodically; only the newest are kept.

A checkpoint is a file written by `engine.save`: safetensors with a checksum, without executable content.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta

import engine
from engine import Tensor, fit
from engine.errors import WeightsError
from engine.io import atomic_file
from engine.io.checkpoint import dumps
from studio.document.document_errors import FileError
from studio.document.files.validation_messages import validation_problem
from studio.training.runs.background_writer import BackgroundWriter

FOLDER = "checkpoints"
_RETRY_SECONDS = 2.0
_NAME = re.compile(r"step-(\d+)\.safetensors")
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_SHARE = 0.01
"""Maximum fraction of the training time spent on checkpoints."""
_FIRST_SECONDS = 1.0
"""Interval before the first checkpoint; it doubles after each checkpoint up to the configured interval."""


class CheckpointManager:
    """Schedule the checkpoints of a run and write them in the background.

    Args:
        folder: the run folder
        writer: the background writer
        seconds: minimum interval; shorter at the start, longer if checkpoints would take over 1% of the time
        steps: additional checkpoint interval in batches
        keep: number of checkpoints to keep
        begun: step at which training starts
        before: writes results that a checkpoint must not be ahead of, in the writer's thread; raises OSError or
            FileError
    """

    def __init__(
        self,
        folder: Path,
        writer: BackgroundWriter,
        *,
        seconds: float,
        steps: int | None,
        keep: int,
        first_step: int = 0,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder / FOLDER
        self._writer = writer
        self._before = before
        self._seconds, self._steps, self._keep = seconds, steps, keep
        self._pause = min(_FIRST_SECONDS, seconds)
        self._last = self._tried = time.monotonic()
        self._step = first_step
        """Step of the last checkpoint."""
        self._snapshot_cost = 0.0

    def should_checkpoint(self, step: int, *, after: fit.TrainingEvent) -> bool:
        """Whether to make a checkpoint now. While one is being written, only the `steps` interval counts."""
        if self._steps is not None and isinstance(after, fit.Step) and step % self._steps == 0:
            return True
        if step == self._step or self._writer.is_busy:
            return False
        return time.monotonic() - self._last >= max(self._pause, self.cost / _SHARE)

    @property
    def cost(self) -> float:
        """CPU seconds of the last checkpoint, in the training thread and in the writer's thread."""
        return self._snapshot_cost + self._writer.cost

    def make(self, step: int, snapshot: Callable[[], Mapping[str, Any]]) -> None:
        """Take a snapshot and queue it for writing. Waits for the previous one, to hold only one in memory."""
        self._writer.wait()
        self._writer.discard_failed(FOLDER)
        began = time.perf_counter()
        content = snapshot()
        self._snapshot_cost = time.perf_counter() - began
        self._last, self._step = time.monotonic(), step
        self._pause = min(2 * self._pause, self._seconds)
        self._writer.put(FOLDER, lambda: self._write(step, content))

    def retry(self) -> None:
        """Retry a failed checkpoint, at most every two seconds."""
        if time.monotonic() - self._tried > _RETRY_SECONDS:
            self._tried = time.monotonic()
            self._writer.retry(FOLDER)

    def _write(self, step: int, content: Mapping[str, Any]) -> str:
        path = self._folder / f"step-{step:09d}.safetensors"
        try:
            self._before()
            self._folder.mkdir(exist_ok=True)
            atomic_file.write(path, dumps(content, str(path)))
        except (OSError, FileError) as error:
            found = FileError.from_os_error(path, "cannot be written", error) if isinstance(error, OSError) else error
            raise FileError(str(path), "", found.problem, f"{self._left()} {found.remedy}") from None
        for _, old in list(list_checkpoints(self._folder.parent))[self._keep :]:
            with suppress(OSError):
                old.unlink()
        return f"Writing checkpoints succeeded. An interrupted run resumes from batch {step:,} ({path})."

    def _left(self) -> str:
        """The consequence of a failed checkpoint, for the message."""
        last = next(list_checkpoints(self._folder.parent), None)
        left = (
            "restarts from epoch 0, because there is no checkpoint yet"
            if last is None
            else f"resumes from batch {last[0]:,} ({last[1].name}), the last valid checkpoint"
        )
        return f"Training continues and retries. If it is interrupted before, the run {left}."


def list_checkpoints(folder: Path) -> Iterator[tuple[int, Path]]:
    """Steps and files of the checkpoints in a run folder, newest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in (folder / FOLDER).glob("step-*.safetensors"))
    return iter(sorted(((int(name[1]), path) for name, path in found if name), reverse=True))


def newest_checkpoint(folder: Path) -> tuple[Path | None, dict[str, Any] | None, str]:
    """Find the newest valid checkpoint of a run.

    Returns:
        Its file and content, or None twice, and a message about damaged newer checkpoints.
    """
    wrong: list[str] = []
    for _, path in list_checkpoints(folder):
        try:
            content = read_checkpoint(path)
        except FileError as error:
            wrong.append(f"{path.name} {error.problem}")
        else:
            message = f"Using the previous checkpoint, {path.name}."
            return path, content, f"{path.parent}: {'; '.join(wrong)}. {message}" if wrong else ""
    return None, None, f"{folder / FOLDER}: no checkpoint is valid: {'; '.join(wrong)}." if wrong else ""


class _Optimizer(TypedDict):
    steps: int
    groups: list[dict[str, Any]]
    state: dict[int, dict[str, Any]]


class _Modules(TypedDict):
    model: dict[str, Tensor]


class _Task(TypedDict):
    modules: _Modules
    optimizers: dict[str, _Optimizer]
    schedulers: dict[str, dict[str, Any]]
    scaler: dict[str, Any]
    metrics: dict[str, dict[str, Tensor]]
    sums: list[Tensor]


class _Training(TypedDict):
    """The content of `engine.fit.Training.state_dict`."""

    task: _Task
    epoch: _Count
    batch: _Count
    step: _Count
    batches: NotRequired[_Count | None]
    mean: list[float | dict[str, float] | None]
    judge: dict[str, float]
    pending: bool
    random: list[int]
    seconds: tuple[float, float]


class _Metrics(TypedDict):
    """The content of `RunRecord.position`."""

    step: _Count
    metrics: _Count
    about: dict[str, Any]


class _Fingerprint(TypedDict):
    path: str
    sha256: str


class _Checkpoint(TypedDict):
    training: _Training
    metrics: _Metrics
    data: list[_Fingerprint]
    graph: NotRequired[str]


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint. Raises FileError if it is damaged."""
    content = load_file(path)
    if not is_checkpoint(content):
        raise FileError(
            str(path), "", "is not a checkpoint of a run", "Choose a file in the checkpoints folder of a run."
        )
    return validate_checkpoint(content, path)


def is_checkpoint(content: Any) -> bool:
    """Whether loaded content is a checkpoint rather than weights."""
    return isinstance(content, dict) and {"training", "metrics"} <= content.keys()


def validate_checkpoint(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Check the fields of a checkpoint. Raises FileError if one is missing or has the wrong type."""
    try:
        msgspec.convert(content, _Checkpoint)
    except (
        msgspec.ValidationError,
        RecursionError,
        AttributeError,
        TypeError,
    ) as error:  # a tensor instead of an object
        found = str(error)
        if isinstance(error, msgspec.ValidationError):
            found = str(validation_problem(error, content, _Checkpoint, ""))
        raise FileError(str(path), "", f"is a damaged checkpoint ({found})", "Use another checkpoint.") from None
    return content


def load_file(path: Path) -> Any:
    """Load a weights file or checkpoint. Raises FileError if it cannot be read."""
    try:
        return engine.load(path)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be read", error) from None
    except WeightsError as error:
        problem, _, remedy = str(error).removeprefix(f"{path}: ").rpartition(". ")
        raise FileError(str(path), "", problem, remedy) from None


__all__ = [
    "FOLDER",
    "CheckpointManager",
    "validate_checkpoint",
    "is_checkpoint",
    "load_file",
    "newest_checkpoint",
    "read_checkpoint",
    "list_checkpoints",
]
