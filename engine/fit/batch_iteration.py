"""Batches as the loop goes through them: how many, how large, how long they take, and the mean of their losses."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from engine.data.dataset import IterableDataset
from engine.data.loader import DataLoader
from engine.errors import DataError
from engine.fit.task import Task
from engine.tensors import Tensor


class LossMean:
    """Means of batch losses, each weighing as many samples as it has: of all together, and of each by its name.

    Takes what `state` has given; old states know nothing of each.
    """

    def __init__(self, total: float = 0.0, count: int = 0, each: Mapping[str, float] | None = None) -> None:
        self.total = total
        self.count = count
        self._each = {} if each is None and not count else each

    def add(self, losses: Mapping[str, float], samples: int) -> None:
        self.total += sum(losses.values()) * samples
        self.count += samples
        if self._each is not None:
            sums = {name: self._each.get(name, 0.0) + value * samples for name, value in losses.items()}
            self._each = {**self._each, **sums}

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else float("nan")

    @property
    def each(self) -> dict[str, float]:
        """By name; nothing after an old state."""
        return {name: total / self.count for name, total in (self._each or {}).items()}

    @property
    def state(self) -> list[Any]:
        return [self.total, self.count, None if self._each is None else dict(self._each)]


class TimedBatches:
    """Batches on their device, and the time from asking for one until `stop`.

    Args:
        batches: those that are still to come
        task: says on which device
        count: how many they are; None for a stream, of which only its end tells
    """

    def __init__(self, batches: Iterator[Any], task: Task, count: int | None) -> None:
        self._batches = batches
        self._task = task
        self._count = count
        self._ahead: deque[Any] = deque()
        """Batches of a stream that were read to see whether they are there."""
        self._began = 0.0
        self._waited = 0.0
        self.waiting = 0.0
        """Seconds that the last batch took to come."""

    def left(self, most: int = 1) -> int:
        """How many are still to come, counted up to `most`. Reads so many of a stream."""
        if self._count is not None:
            return min(self._count, most)
        self._read(most)
        return min(len(self._ahead), most)

    def next(self) -> Any:
        """The next batch. Raises DataError if there is none."""
        self._began = time.perf_counter() - self._waited
        self._read(1)
        if not self._ahead:
            raise DataError("the data gave fewer batches than they were said to have.")
        if self._count is not None:
            self._count -= 1
        return self._task.to_device(self._ahead.popleft())

    def stop(self) -> float:
        """Seconds that the last batch took in all."""
        self.waiting, self._waited = self._waited, 0.0
        return time.perf_counter() - self._began

    def _read(self, count: int) -> None:
        before = time.perf_counter()
        self._ahead.extend(islice(self._batches, max(count - len(self._ahead), 0)))
        self._waited += time.perf_counter() - before


def check_finite(batch: Any) -> None:
    """For a batch of which the loss is no number: raises DataError if its own numbers are why."""
    parts = [part for part in batch if isinstance(part, Tensor)] if isinstance(batch, (list, tuple)) else []
    for part, name in zip(parts, ("inputs", "targets"), strict=False):
        if not part.dtype.is_floating_point or not part.ndim:
            continue
        wrong = ~np.isfinite(part.detach().cpu().numpy())
        if wrong.any():
            samples = int(wrong.reshape(len(wrong), -1).any(1).sum())
            raise DataError(
                f"the {name} of {samples} of {len(wrong)} samples in a batch hold {int(wrong.sum())} numbers that are "
                "NaN or infinite, so that the loss is no number. Add Fill missing or Clip, or leave these samples out; "
                "statistics of the data tell where they are."
            )


def is_stream(loader: DataLoader) -> bool:
    """Whether only the end of its batches tells how many there are."""
    # An IterableDataset that tells a length may be wrong about it.
    return isinstance(loader.dataset, IterableDataset) or batch_count(loader) is None


def count_batches(loader: DataLoader) -> int | None:
    """In an epoch, as far as they are known beforehand. Raises DataError if there are none."""
    count = batch_count(loader)
    if count == 0 and not is_stream(loader):
        samples = len(loader.dataset)
        raise DataError(
            f"{samples} training samples give no batch of {loader.batch_size}, as drop_last leaves out smaller ones. "
            f"Set batch_size to {samples} or less."
            if samples
            else "there are no training samples. Choose data that have some."
        )
    return count


def empty_stream_error(loader: DataLoader, epoch: int, part: str = "training") -> DataError:
    """What is wrong with a stream that gave nothing in an epoch, counted from 0."""
    cut: Any = loader if loader.batch_sampler is None else loader.batch_sampler
    if getattr(cut, "drop_last", False):
        why = f"It ended before there was one of {cut.batch_size}. Lower batch_size, or turn drop_last off."
    elif epoch:
        why = "A stream that is iterated again has to begin anew: make its iterator in __iter__."
    else:
        why = "Choose data that have some."
    return DataError(f"the stream of {part} samples gave no batch in epoch {epoch + 1}. {why}")


def count_samples(loader: DataLoader) -> int | None:
    """None if they are not counted beforehand."""
    try:
        return len(loader.dataset)
    except TypeError:
        return None


def batch_count(loader: DataLoader) -> int | None:
    """Batches in a pass, as far as they are known beforehand."""
    try:
        return len(loader)
    except TypeError:
        return None


def batch_size(batch: Any) -> int:
    """How many samples a batch has."""
    if isinstance(batch, Tensor):
        return batch.shape[0] if batch.ndim else 1
    parts = list(batch.values()) if isinstance(batch, Mapping) else batch
    return batch_size(parts[0])


__all__ = [
    "LossMean",
    "TimedBatches",
    "batch_size",
    "check_finite",
    "count_batches",
    "count_samples",
    "is_stream",
    "batch_count",
    "empty_stream_error",
]
