"""Batches as the loop goes through them: how many, how large, how long they take, and the mean of their losses."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from engine.data.loader import DataLoader
from engine.errors import DataError
from engine.fit.task import Task
from engine.tensor import Tensor


class Mean:
    """A mean of batch losses, each weighing as many samples as it has."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.count = 0

    def add(self, value: float, samples: int) -> None:
        self.sum += value * samples
        self.count += samples

    @property
    def value(self) -> float:
        return self.sum / self.count if self.count else float("nan")


class Timed:
    """Batches on their device, and the time from asking for one until `stop`."""

    def __init__(self, batches: Iterator[Any], task: Task) -> None:
        self._batches = batches
        self._task = task
        self._began = 0.0
        self.waiting = 0.0
        """Seconds that the last batch took to come."""

    def next(self) -> Any:
        self._began = time.perf_counter()
        try:
            batch = next(self._batches)
        except StopIteration:
            raise DataError("the data gave fewer batches than they were said to have.") from None
        self.waiting = time.perf_counter() - self._began
        return self._task.to_device(batch)

    def stop(self) -> float:
        return time.perf_counter() - self._began


def check_numbers(batch: Any) -> None:
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


def count_batches(loader: DataLoader) -> int:
    """In an epoch. Raises DataError if there are none."""
    count = len(loader)
    if count == 0:
        samples = len(loader.dataset)
        raise DataError(
            f"{samples} training samples give no batch of {loader.batch_size}, as drop_last leaves out smaller ones. "
            f"Set batch_size to {samples} or less."
            if samples
            else "there are no training samples. Choose data that have some."
        )
    return count


def batch_size(batch: Any) -> int:
    """How many samples a batch has."""
    if isinstance(batch, Tensor):
        return batch.shape[0] if batch.ndim else 1
    parts = list(batch.values()) if isinstance(batch, Mapping) else batch
    return batch_size(parts[0])


__all__ = ["Mean", "Timed", "batch_size", "count_batches"]
