"""The batch that a training would use next."""

from __future__ import annotations

from typing import Any

from engine import fit


def next_batch(task: fit.Task, epoch: int, batch: int) -> Any:
    """The batch after `batch` batches of an epoch, on the device of the task; at its end the first of the next one.

    The position of the training in the data does not change.
    """
    loader = task.setup().train
    for first in ((epoch, batch), (epoch + 1, 0)):
        loader.set_epoch(first[0], task.seed, skip=first[1])
        found = next(iter(loader), None)
        if found is not None:
            return task.to_device(found)
    raise ValueError("There is no training batch.")


__all__ = ["next_batch"]
