"""What a loader and its workers tell each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.data.batch_fetching import IterableDatasetFetcher, MapDatasetFetcher
from engine.data.workers.packing import pack, unpack
from engine.data.workers.shared_memory import MemorySpan
from engine.system.syntax import account_of


class WorkerSetup(NamedTuple):
    """What a worker is started with."""

    source: MapDatasetFetcher | IterableDatasetFetcher
    workers: int
    init: Callable[[int], None] | None
    seed: int


class PassStart(NamedTuple):
    """To a worker: a pass over the data begins, and batches of earlier ones are not wanted any more."""

    number: int
    seed: int
    """Of the random numbers that batches are made with."""
    epoch: tuple[int, int] | None
    """Epoch and seed that the data set is told; None if the program did not say."""


class Request(NamedTuple):
    """To a worker: make a batch."""

    pass_number: int
    number: int
    indices: Any
    wanted: bool = True
    """False if a stream is only to go past it."""
    segment: int | None = None
    """Where its arrays may be put."""
    dropped: tuple[int, ...] = ()
    """Segments that will not be used again."""


class Reply(NamedTuple):
    """To the loader: what became of a request."""

    pass_number: int
    number: int
    content: Any = None
    """The batch, packed, or a failure."""
    is_end: bool = False
    """Whether the stream has no more."""
    segment: int | None = None
    places: tuple[MemorySpan, ...] = ()
    made: int = 0
    """Bytes of the segment if it is new; it follows."""


STARTED = Reply(-1, -1)
"""What each worker process says first: it has imported the program's main module."""


class PickledError(NamedTuple):
    """An exception on its way to another process."""

    error: bytes
    text: str

    @classmethod
    def of(cls, error: Exception) -> PickledError:
        return cls(_packed(error), account_of(error))

    def exception(self, who: str) -> Exception:
        """The exception, with a note on who met it, and where."""
        error = unpack(self.error)
        error.add_note(f"In {who} of a DataLoader:\n\n{self.text}")
        return error


def _packed(error: Exception) -> bytes:
    """The exception as it is, else as one of its type without its other attributes, else as a RuntimeError."""
    notes = getattr(error, "__notes__", [])
    message = f"{type(error).__name__}: {error}"
    for packed in (lambda: error, lambda: _Plain(type(error), str(error), notes)):
        try:
            content, _ = pack(packed())
            if type(unpack(content)) is type(error):
                return content
        except Exception:  # noqa: BLE001 - whatever an exception of others does when it is copied
            continue
    return pack(_Plain(RuntimeError, message, notes))[0]


class _Plain:
    """Becomes an exception without its constructor, which may want arguments that nobody knows any more."""

    def __init__(self, kind: type[Exception], message: str, notes: list[str]) -> None:
        self.parts = kind, message, notes

    def __reduce__(self) -> Any:
        return _bare, self.parts


def _bare(kind: type[Exception], message: str, notes: list[str]) -> Exception:
    error = kind.__new__(kind, message)
    for note in notes:
        error.add_note(note)
    return error
