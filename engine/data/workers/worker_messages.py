"""Messages between a DataLoader and its workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.data.batch_fetching import IterableDatasetFetcher, MapDatasetFetcher
from engine.data.workers.packing import pack, unpack
from engine.data.workers.shared_memory import MemorySpan
from engine.system.syntax import format_traceback


class WorkerSetup(NamedTuple):
    """The arguments of a new worker."""

    source: MapDatasetFetcher | IterableDatasetFetcher
    workers: int
    init: Callable[[int], None] | None
    seed: int


class PassStart(NamedTuple):
    """To a worker: start a pass over the data and drop requests of earlier passes."""

    number: int
    seed: int
    """Random seed of the batches."""
    epoch: tuple[int, int] | None
    """Epoch and seed for the data set's `set_epoch`; None if the loader's `set_epoch` was not called."""


class Request(NamedTuple):
    """To a worker: make a batch."""

    pass_number: int
    number: int
    indices: Any
    skip: bool = False
    """Whether to advance a stream without collating and returning this batch."""
    segment: int | None = None
    """Shared memory segment for its arrays."""
    dropped: tuple[int, ...] = ()
    """Segments to unmap."""


class Reply(NamedTuple):
    """To the loader: the result of a request."""

    pass_number: int
    number: int
    content: Any = None
    """The packed batch, or a PickledError."""
    is_end: bool = False
    """Whether the stream has ended."""
    segment: int | None = None
    """Shared memory segment with the arrays of the batch."""
    spans: tuple[MemorySpan, ...] = ()
    new_size: int = 0
    """Size in bytes of a new segment, which is sent after the reply; 0 if no segment was allocated."""


STARTED = Reply(-1, -1)
"""The first reply of each worker process: it has imported the program's main module."""


class PickledError(NamedTuple):
    """A pickled exception and the text of its traceback."""

    error: bytes
    text: str

    @classmethod
    def of(cls, error: Exception) -> PickledError:
        return cls(_packed(error), format_traceback(error))

    def exception(self, worker: str) -> Exception:
        """The exception, with the worker and its traceback as a note."""
        error = unpack(self.error)
        error.add_note(f"In {worker} of a DataLoader:\n\n{self.text}")
        return error


def _packed(error: Exception) -> bytes:
    """The pickled exception; if that fails, one of its type with the message only; if that fails, a RuntimeError."""
    notes = getattr(error, "__notes__", [])
    message = f"{type(error).__name__}: {error}"
    for candidate in (lambda: error, lambda: _MessageOnlyError(type(error), str(error), notes)):
        try:
            content, _ = pack(candidate())
            if type(unpack(content)) is type(error):
                return content
        except Exception:  # noqa: BLE001 - pickling a foreign exception may raise anything
            continue
    return pack(_MessageOnlyError(RuntimeError, message, notes))[0]


class _MessageOnlyError:
    """Unpickles as an exception without calling its constructor, whose arguments are unknown."""

    def __init__(self, error_type: type[Exception], message: str, notes: list[str]) -> None:
        self.parts = error_type, message, notes

    def __reduce__(self) -> Any:
        return _rebuild_error, self.parts


def _rebuild_error(error_type: type[Exception], message: str, notes: list[str]) -> Exception:
    error = error_type.__new__(error_type, message)
    for note in notes:
        error.add_note(note)
    return error
