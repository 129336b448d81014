"""Batches of the training loop: their number, sizes, timing and mean loss."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from engine.data.batches import AnyLoader
from engine.data.dataset import IterableDataset
from engine.errors import DataError
from engine.fit.task import Task
from engine.tensors import Tensor


class LossMean:
    """Sample-weighted means of batch losses: of their sum, and by name.

    The arguments are the values of `state`; states of older versions have no values by name.
    """

    def __init__(self, total: float = 0.0, count: int = 0, by_name: Mapping[str, float] | None = None) -> None:
        self.total = total
        self.count = count
        self._by_name = {} if by_name is None and not count else by_name

    def add(self, losses: Mapping[str, float], samples: int) -> None:
        self.total += sum(losses.values()) * samples
        self.count += samples
        if self._by_name is not None:
            sums = {name: self._by_name.get(name, 0.0) + value * samples for name, value in losses.items()}
            self._by_name = {**self._by_name, **sums}

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else float("nan")

    @property
    def by_name(self) -> dict[str, float]:
        """Means by name; empty after loading a state of an older version."""
        return {name: total / self.count for name, total in (self._by_name or {}).items()}

    @property
    def state(self) -> list[Any]:
        return [self.total, self.count, None if self._by_name is None else dict(self._by_name)]


class TimedBatches:
    """Batches moved to the task's device, with timing from the request of a batch until `stop`.

    Args:
        batches: the remaining batches
        task: provides the device
        count: number of remaining batches; None for streams
    """

    def __init__(self, batches: Iterator[Any], task: Task, count: int | None) -> None:
        self._batches = batches
        self._task = task
        self._count = count
        self._ahead: deque[Any] = deque()
        """Batches of a stream that were read ahead."""
        self._start = 0.0
        self._waited = 0.0
        self.waiting = 0.0
        """Seconds spent waiting for the last batch."""
        self.stopped = 0.0
        """Time of the last `stop`, of `time.perf_counter`."""

    def remaining(self, limit: int = 1) -> int:
        """Number of remaining batches, at most `limit`. Reads that many ahead from a stream."""
        if self._count is not None:
            return min(self._count, limit)
        self._read(limit)
        return min(len(self._ahead), limit)

    def next(self) -> Any:
        """The next batch. Raises DataError if there is none."""
        self._start = time.perf_counter() - self._waited
        self._read(1)
        if not self._ahead:
            raise DataError("the data has fewer batches than its length.")
        if self._count is not None:
            self._count -= 1
        return self._task.to_device(self._ahead.popleft())

    def stop(self) -> float:
        """Total seconds of the last batch."""
        self.waiting, self._waited = self._waited, 0.0
        self.stopped = time.perf_counter()
        return self.stopped - self._start

    @contextmanager
    def excluded(self) -> Iterator[None]:
        """Do not count the time of the block."""
        began = time.perf_counter()
        yield
        self._start += time.perf_counter() - began

    def _read(self, count: int) -> None:
        before = time.perf_counter()
        self._ahead.extend(islice(self._batches, max(count - len(self._ahead), 0)))
        self._waited += time.perf_counter() - before


def check_finite(batch: Any) -> None:
    """After a non-finite loss: raise DataError if the batch itself contains NaN or infinity."""
    if found := nonfinite_values(batch):
        raise DataError(
            f"{found}, so the loss is not finite. Add Fill missing or Clip, or drop these samples; "
            "the statistics of the data show where they are."
        )


def nonfinite_values(batch: Any) -> str:
    """How many values of a batch are NaN or infinite, as the start of a sentence; empty if all are finite."""
    parts = [part for part in batch if isinstance(part, Tensor)] if isinstance(batch, (list, tuple)) else []
    for part, name in zip(parts, ("inputs", "targets"), strict=False):
        if not part.dtype.is_floating_point or not part.ndim:
            continue
        wrong = ~np.isfinite(part.detach().cpu().numpy())
        if wrong.any():
            samples = int(wrong.reshape(len(wrong), -1).any(1).sum())
            return (
                f"the {name} of {samples} of {len(wrong)} samples in a batch contain {int(wrong.sum())} values "
                "that are NaN or infinite"
            )
    return ""


def is_stream(loader: AnyLoader) -> bool:
    """Whether the number of batches is known only at the end."""
    # The length of an IterableDataset can be wrong.
    return isinstance(loader.dataset, IterableDataset) or batch_count(loader) is None


def count_batches(loader: AnyLoader) -> int | None:
    """Batches per epoch, if known beforehand. Raises DataError if there are none."""
    count = batch_count(loader)
    if count == 0 and not is_stream(loader):
        samples = len(loader.dataset)
        raise DataError(
            f"{samples} training samples give no batch of {loader.batch_size}, and drop_last drops smaller ones. "
            f"Set batch_size to {samples} or less."
            if samples
            else "there are no training samples. Choose other data."
        )
    return count


def empty_stream_error(loader: AnyLoader, epoch: int, part: str = "training") -> DataError:
    """The error for a stream without batches in an epoch, counted from 0."""
    batching: Any = loader if loader.batch_sampler is None else loader.batch_sampler
    if getattr(batching, "drop_last", False):
        remedy = (
            f"It ended before a batch of {batching.batch_size} was complete. Lower batch_size, or turn off drop_last."
        )
    elif epoch:
        remedy = "A stream must restart when it is iterated again: create its iterator in __iter__."
    else:
        remedy = "Choose other data."
    return DataError(f"the stream of {part} samples gave no batch in epoch {epoch + 1}. {remedy}")


def count_samples(loader: AnyLoader) -> int | None:
    """Number of samples; None if unknown."""
    try:
        return len(loader.dataset)
    except TypeError:
        return None


def batch_count(loader: AnyLoader) -> int | None:
    """Batches per epoch; None if unknown."""
    try:
        return len(loader)
    except TypeError:
        return None


def batch_size(batch: Any) -> int:
    """Number of samples in a batch."""
    if isinstance(batch, Tensor):
        return batch.shape[0] if batch.ndim else 1
    parts = list(batch.values()) if isinstance(batch, Mapping) else batch
    return batch_size(parts[0])


__all__ = [
    "LossMean",
    "TimedBatches",
    "batch_size",
    "check_finite",
    "nonfinite_values",
    "count_batches",
    "count_samples",
    "is_stream",
    "batch_count",
    "empty_stream_error",
]
