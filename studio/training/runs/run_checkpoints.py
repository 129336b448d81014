"""Checkpoints of a run: all that its next steps depend on, in files of which the last ones are kept.

A file is what `engine.save` writes: safetensors with a checksum, and nothing in it that could be executed.
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
from studio.training.runs.background_writer import BackgroundWriter

FOLDER = "checkpoints"
_RETRY_SECONDS = 2.0
_NAME = re.compile(r"step-(\d+)\.safetensors")
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_SHARE = 0.01
"""Of the time of a training that its checkpoints may take."""
_FIRST_SECONDS = 1.0
"""Until the first checkpoint; each pause after it is twice as long as the one before, up to the usual one."""


class CheckpointManager:
    """Decides when a run's checkpoints are due, and has them written.

    Args:
        folder: the run's
        writer: what writes them
        seconds: from one to the next at least; less at first, more where they would take a hundredth of the time
        steps: a checkpoint after each so many batches as well, however long that takes
        keep: how many are kept, the newest ones
        begun: the batch that the training begins after
        before: writes what a checkpoint must not be ahead of, in the writer's thread; raises OSError or FileError
    """

    def __init__(
        self,
        folder: Path,
        writer: BackgroundWriter,
        *,
        seconds: float,
        steps: int | None,
        keep: int,
        begun: int = 0,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder / FOLDER
        self._writer = writer
        self._before = before
        self._seconds, self._steps, self._keep = seconds, steps, keep
        self._pause = min(_FIRST_SECONDS, seconds)
        self._last = self._tried = time.monotonic()
        self._step = begun
        """That the last one is of."""
        self._snapshot_cost = 0.0

    def is_due(self, step: int, *, after: fit.Event) -> bool:
        """Whether one should be made now. While another is being written, only those of `steps` are."""
        if self._steps is not None and isinstance(after, fit.Step) and step % self._steps == 0:
            return True
        if step == self._step or self._writer.is_busy:
            return False
        return time.monotonic() - self._last >= max(self._pause, self.cost / _SHARE)

    @property
    def cost(self) -> float:
        """Seconds of computing that the last one took, in the training's thread and in the writer's."""
        return self._snapshot_cost + self._writer.cost

    def make(self, step: int, snapshot: Callable[[], Mapping[str, Any]]) -> None:
        """Take a snapshot now, and have it written. Waits for the one before it, as memory holds no more than one."""
        self._writer.wait()
        self._writer.forget(FOLDER)
        began = time.perf_counter()
        content = snapshot()
        self._snapshot_cost = time.perf_counter() - began
        self._last, self._step = time.monotonic(), step
        self._pause = min(2 * self._pause, self._seconds)
        self._writer.put(FOLDER, lambda: self._write(step, content))

    def retry(self) -> None:
        """Have the last one written if it could not be, not too often."""
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
        return f"Checkpoints are written again. If the run is interrupted, it goes on from batch {step:,} ({path})."

    def _left(self) -> str:
        """What is there to go on from when a checkpoint could not be written."""
        last = next(list_checkpoints(self._folder.parent), None)
        left = (
            "there is no checkpoint yet, so the run would restart from epoch 0"
            if last is None
            else f"the run would go on from batch {last[0]:,} ({last[1].name}), the last good checkpoint"
        )
        return f"Training goes on, and tries the next checkpoint as usual; if it is interrupted before, {left}."


def list_checkpoints(folder: Path) -> Iterator[tuple[int, Path]]:
    """The checkpoints in a run's folder with their steps, newest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in (folder / FOLDER).glob("step-*.safetensors"))
    return iter(sorted(((int(name[1]), path) for name, path in found if name), reverse=True))


def newest_checkpoint(folder: Path) -> tuple[Path | None, dict[str, Any] | None, str]:
    """The file and the content of the newest sound checkpoint of a run, if there is one, and what is wrong with newer
    ones.
    """
    wrong: list[str] = []
    for _, path in list_checkpoints(folder):
        try:
            content = read_checkpoint(path)
        except FileError as error:
            wrong.append(f"{path.name} {error.problem}")
        else:
            told = f"The one before {'it' if len(wrong) == 1 else 'them'}, {path.name}, is used."
            return path, content, f"{path.parent}: {'; '.join(wrong)}. {told}" if wrong else ""
    return None, None, f"{folder / FOLDER}: no checkpoint is sound: {'; '.join(wrong)}." if wrong else ""


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
    """What `engine.fit.Training.state_dict` gives."""

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
    """What `Record.place` gives."""

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
    """What a checkpoint holds. Raises FileError if it is damaged."""
    content = load_file(path)
    if not is_checkpoint(content):
        raise FileError(str(path), "", "is no checkpoint of a run", "Choose one in the folder of a run.")
    return validate_checkpoint(content, path)


def is_checkpoint(content: Any) -> bool:
    """Whether a file holds a checkpoint rather than weights."""
    return isinstance(content, dict) and {"training", "metrics"} <= content.keys()


def validate_checkpoint(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """The content of a checkpoint's file. Raises FileError if something in it is missing or of another type."""
    try:
        msgspec.convert(content, _Checkpoint)
    except (msgspec.ValidationError, RecursionError, AttributeError, TypeError) as error:  # a tensor for an object
        raise FileError(str(path), "", f"is a damaged checkpoint ({error})", "Use another one.") from None
    return content


def load_file(path: Path) -> Any:
    """What a file of weights or a checkpoint holds. Raises FileError if it cannot be read."""
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
