"""Batches from a data set."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np

from engine.data.collate import default_collate, default_convert
from engine.data.dataset import IterableDataset, fetch, samples
from engine.data.sampler import BatchSampler, RandomSampler, SequentialSampler, check_batch_size, grouped
from engine.random import Generator


class DataLoader:
    """Goes through a data set in batches, once per iteration. The arguments are PyTorch's.

    Batches are made in the calling thread, whatever the arguments about worker processes say; they are taken so that
    programs run. Array-backed data sets are indexed once a batch, without Python per sample.

    Args:
        dataset: anything with `__getitem__` and `__len__`, or an IterableDataset
        batch_size: samples in a batch; None gives single samples
        shuffle: new random order in each pass
        sampler: the order, instead of `shuffle`
        batch_sampler: lists of sample numbers, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`
        num_workers: taken with a warning; batches are made in the calling thread
        collate_fn: list of samples → batch; `default_collate` unless given. With batch_size None: sample → sample
        pin_memory: taken; batches are ordinary memory
        drop_last: leave out the last batch if it is smaller
        generator: where the order comes from; the default generator unless given

    Raises:
        ValueError: arguments that exclude each other.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.multiprocessing_context = multiprocessing_context
        self.collate_fn = collate_fn
        self.generator = generator
        self.in_order = in_order
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last.")
            batch_size = None
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle exclude each other; the sampler decides the order.")
        if batch_size is not None:
            check_batch_size(batch_size)
        elif drop_last:
            raise ValueError("DataLoader: drop_last needs a batch_size.")
        self.batch_size = batch_size
        self.drop_last = drop_last
        if isinstance(dataset, IterableDataset):
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError("DataLoader: an IterableDataset has its own order; leave out shuffle and samplers.")
            self.sampler = self.batch_sampler = None
            return
        default = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = default if sampler is None else sampler
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __len__(self) -> int:
        """Batches in a pass. Raises TypeError where the data set cannot know."""
        if isinstance(self.dataset, IterableDataset):
            if isinstance(self.dataset, Sized):
                size, batch = len(self.dataset), self.batch_size or 1
                return size // batch if self.drop_last else -(-size // batch)
            raise TypeError("an IterableDataset does not know how many batches it gives; iterate it to find out")
        order: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return len(order)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            return self._stream(self.dataset)
        if self.batch_sampler is None:
            assert self.sampler is not None
            convert = self.collate_fn or default_convert
            return (convert(self.dataset[index]) for index in self.sampler)
        if self.collate_fn is not None:
            return self._collated(self.collate_fn, self.batch_sampler)
        if isinstance(self.batch_sampler, BatchSampler):
            return (fetch(self.dataset, indices) for indices in self.batch_sampler.arrays())
        return (fetch(self.dataset, np.asarray(indices, np.int64)) for indices in self.batch_sampler)

    def set_epoch(self, epoch: int, seed: int) -> None:
        """Make the next pass that of epoch `epoch` of `seed`, whatever was drawn before; so a run can be continued."""
        if isinstance(self.sampler, RandomSampler):
            self.sampler.generator = Generator(seed).fork("order", epoch)

    def _collated(self, collate_fn: Callable[[Any], Any], batches: Iterable[list[int]]) -> Iterator[Any]:
        for indices in batches:
            yield collate_fn(samples(self.dataset, indices))

    def _stream(self, dataset: IterableDataset) -> Iterator[Any]:
        if self.batch_size is None:
            yield from map(self.collate_fn or default_convert, dataset)
            return
        collate = self.collate_fn or default_collate
        for group in grouped(dataset, self.batch_size):
            if len(group) == self.batch_size or not self.drop_last:
                yield collate(group)


def get_worker_info() -> None:
    """What a worker process knows of itself: None, since batches are made in the calling thread."""


def _check_workers(
    num_workers: Any, timeout: float, prefetch_factor: int | None, persistent_workers: bool, context: Any
) -> None:
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"DataLoader: num_workers must be a whole number from 0, not {num_workers!r}.")
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout must be at least 0 seconds, not {timeout!r}.")
    if num_workers > 0:
        warnings.warn(
            f"DataLoader: num_workers={num_workers} has no effect yet: batches are made in the calling thread.",
            stacklevel=3,
        )
        return
    given = {"prefetch_factor": prefetch_factor, "persistent_workers": persistent_workers}
    for name, value in (given | {"multiprocessing_context": context}).items():
        if value:
            raise ValueError(f"DataLoader: {name}={value!r} needs worker processes. Leave it out, or set num_workers.")
