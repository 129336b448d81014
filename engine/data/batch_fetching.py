"""Fetch and collate batches from a data set, in any thread or process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

import numpy as np

from engine.data.collate import default_collate, default_convert
from engine.data.dataset import Dataset, IterableDataset, fetch, samples
from engine.data.samples import Samples
from engine.random import Generator, drawing_from

Collate = Callable[[Any], Any]


class MapDatasetFetcher:
    """Fetches batches of a map-style data set.

    Args:
        dataset: anything with `__getitem__`
        collate_fn: list of samples → batch, or sample → sample
        batched: whether batches are fetched, or single samples
    """

    def __init__(self, dataset: Any, collate_fn: Collate | None, batched: bool) -> None:
        self.dataset = dataset
        self.collate_fn = collate_fn
        self.batched = batched

    def begin(self) -> None:
        """Do nothing: samples are fetched by index."""

    def __call__(self, indices: Any, *, skip: bool = False) -> Any:
        """The batch of these indices, or the sample of one index. The loader does not request skipped batches."""
        if not self.batched:
            return self._with_note(lambda: (self.collate_fn or default_convert)(self.dataset[indices]), [indices])
        if self.collate_fn is not None:
            collate = self.collate_fn
            return self._with_note(lambda: collate(samples(self.dataset, indices)), indices)
        rows = indices if isinstance(indices, np.ndarray) else np.asarray(indices, np.int64)
        if rows.dtype.names is None:
            return self._with_note(lambda: fetch(self.dataset, rows), indices)
        return fetch(self.dataset, rows)  # stream records: their errors already name file and sample

    def _with_note(self, make: Callable[[], Any], indices: Iterable[Any]) -> Any:
        """Call `make`. An error gets a note that names the first sample that fails alone with the same type."""
        try:
            return make()
        except Exception as error:
            culprit = next((index for index in indices if self._fails(index, type(error))), None)
            name = type(self.dataset).__name__
            if culprit is not None:
                error.add_note(f"In sample {culprit} of {name}.")
            else:
                error.add_note(f"In a batch of the samples {', '.join(map(str, indices))} of {name}.")
            raise

    def _fails(self, index: int, kind: type[Exception]) -> bool:
        try:
            self.dataset[index]
        except kind:
            return True
        except Exception:  # noqa: BLE001 - a different error is not the cause
            return False
        return False


class IterableDatasetFetcher:
    """Fetches consecutive batches of an IterableDataset.

    Args:
        dataset: an iterable data set
        collate_fn: list of samples → batch, or sample → sample
        batch_size: samples per batch; None fetches single samples
        drop_last: drop the last batch if it is smaller
    """

    def __init__(
        self, dataset: IterableDataset, collate_fn: Collate | None, batch_size: int | None, drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.collate_fn = collate_fn or (default_convert if batch_size is None else default_collate)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self._iterator: Iterator[Any] = iter(())

    def begin(self) -> None:
        """Go back to the first sample."""
        self._iterator = iter(self.dataset)
        self._fetched = 0

    def __call__(self, indices: Any = None, *, skip: bool = False) -> Any:
        """The next batch; None without collating if `skip` is true. Raises StopIteration at the end."""
        size = 1 if self.batch_size is None else self.batch_size
        group: list[Any] = []
        try:
            group.extend(islice(self._iterator, size))
        except Exception as error:
            error.add_note(f"In sample {self._fetched + len(group)} of {type(self.dataset).__name__}.")
            raise
        self._fetched += len(group)
        if not group or (self.drop_last and len(group) < size):
            raise StopIteration
        if skip:
            return None
        return self.collate_fn(group[0] if self.batch_size is None else group)


def batch_random_state(seed: int, number: int) -> AbstractContextManager[None]:
    """Context in which random numbers depend only on the seed and the batch number, not on the worker."""
    return drawing_from(Generator(seed).fork("batch", number))


def set_epoch(dataset: Any, epoch: int, seed: int) -> None:
    """Call `set_epoch` on a data set and its nested data sets that have it."""
    for part in _epoch_aware_parts(dataset):
        part.set_epoch(epoch, seed)


def set_augmentation_seed(dataset: Any, seed: int) -> None:
    """Seed the augmentations of a pass that has no epoch number."""
    for part in _epoch_aware_parts(dataset):
        if isinstance(part, Samples):
            part.set_epoch(0, seed)


def _epoch_aware_parts(dataset: Any) -> Iterator[Any]:
    """The data set or nested data sets that have `set_epoch`."""
    if hasattr(dataset, "set_epoch"):
        yield dataset
        return
    parts: Any = getattr(dataset, "datasets", None) or [getattr(dataset, "dataset", None)]
    if isinstance(dataset, (Dataset, IterableDataset)) and isinstance(parts, (list, tuple, dict)):
        for part in parts.values() if isinstance(parts, dict) else parts:
            if isinstance(part, (Dataset, IterableDataset)):
                yield from _epoch_aware_parts(part)
