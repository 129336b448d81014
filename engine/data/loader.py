"""The DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

from engine.backend import cuda_available
from engine.data.batch_fetching import (
    IterableDatasetFetcher,
    MapDatasetFetcher,
    batch_random_state,
    set_augmentation_seed,
    set_epoch,
)
from engine.data.dataset import IterableDataset
from engine.data.pin_memory import pin_batch
from engine.data.sampler import BatchSampler, RandomSampler, SequentialSampler, check_batch_size
from engine.data.workers.prefetch_iterator import PrefetchIterator
from engine.data.workers.worker_messages import PassStart, WorkerSetup
from engine.data.workers.worker_pool import LoaderWorkers, ProcessWorkers, start_method
from engine.data.workers.worker_threads import ThreadWorkers
from engine.random import Generator, default_generator, drawing_from

THREADS = "threads"


@dataclass
class _Position:
    """The progress of a pass and the state at its start."""

    batches: int
    """Batches returned so far, including skipped ones."""
    start: dict[str, Any]


class DataLoader:
    """Iterates over a data set in batches. The arguments are those of PyTorch.

    Samples, their order and the random numbers of the engine's default generator depend on `generator`, but not on
    `num_workers`. Array-backed data sets are indexed once per batch; for those, no worker or one worker thread is
    usually faster than processes.

    Args:
        dataset: anything with `__getitem__` and `__len__`, or an IterableDataset
        batch_size: samples per batch; None returns single samples
        shuffle: shuffle in each pass
        sampler: sample indices, instead of `shuffle`
        batch_sampler: lists of sample indices, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`
        num_workers: worker processes that make batches in advance; 0 makes them in the calling thread
        collate_fn: list of samples → batch, by default `default_collate`; with batch_size None: sample → sample
        pin_memory: copy batches to pinned memory if there is a GPU
        drop_last: drop the last batch if it is smaller
        timeout: seconds to wait for a batch of a worker; 0 waits forever
        worker_init_fn: called in each worker with its index before it makes batches
        multiprocessing_context: "forkserver" or "spawn", as in `multiprocessing`, or "threads" for worker threads; by
            default "forkserver" on Linux and "spawn" elsewhere
        generator: random generator of order and seeds; the default generator if None
        prefetch_factor: batches that each worker makes in advance, 2 by default
        persistent_workers: keep workers for the next pass
        pin_memory_device: ignored; memory is pinned for all GPUs
        in_order: return batches in order; otherwise as they become ready

    Raises:
        ValueError: mutually exclusive arguments.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Any] | None = None,
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
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        threads = multiprocessing_context == THREADS
        self.multiprocessing_context = start_method(multiprocessing_context) if num_workers and not threads else None
        self.collate_fn = collate_fn
        self.generator = generator
        self.in_order = in_order
        self._threads = threads
        self._worker_pool: LoaderWorkers | None = None
        self._passes = 0
        self._next: dict[str, Any] = {}
        self._position: _Position | None = None
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler cannot be combined with batch_size, shuffle, sampler or drop_last."
                )
            batch_size = None
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle cannot be combined. Set one of them.")
        if batch_size is not None:
            check_batch_size(batch_size)
        elif drop_last:
            raise ValueError("DataLoader: drop_last requires batch_size. Set batch_size.")
        self.batch_size = batch_size
        self.drop_last = drop_last
        if isinstance(dataset, IterableDataset):
            if shuffle or sampler is not None or batch_sampler is not None:
                raise ValueError("DataLoader: an IterableDataset cannot be shuffled. Remove shuffle and samplers.")
            self.sampler = self.batch_sampler = None
            return
        default = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = default if sampler is None else sampler
        if batch_sampler is None and batch_size is not None:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __len__(self) -> int:
        """Batches per pass. Raises TypeError if the data set has no length."""
        if isinstance(self.dataset, IterableDataset):
            if isinstance(self.dataset, Sized):
                size, batch = len(self.dataset), self.batch_size or 1
                return size // batch if self.drop_last else -(-size // batch)
            raise TypeError("the number of batches is unknown because the IterableDataset has no __len__")
        order: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return len(order)

    def __iter__(self) -> Iterator[Any]:
        begun, self._next = self._next, {}
        start = begun or {"random": self._states()}
        position = self._position = _Position(begun.get("batches", 0), start)
        seed, order = self._begin_pass(start, again=bool(begun))
        if "epoch" not in start:
            set_augmentation_seed(self.dataset, seed)
        if self.num_workers:
            return self._counted(self._from_workers(seed, order, position), position)
        return self._counted(self._local_batches(seed, order, position.batches), position)

    # -- position

    def set_epoch(self, epoch: int, seed: int, skip: int = 0) -> None:
        """Set the epoch and seed that the next pass depends on, so that a run can be resumed.

        Args:
            epoch: index of the epoch
            seed: random seed; order and random numbers depend on seed and epoch only
            skip: batches to skip at the start. Their samples are not read, except those of an IterableDataset
        """
        self._next = {"epoch": epoch, "seed": seed, "batches": skip}
        for sampler in self._samplers():
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)
            elif isinstance(getattr(sampler, "generator", self), Generator | None):
                sampler.generator = Generator(seed).fork("order", epoch)
        set_epoch(self.dataset, epoch, seed)

    def state_dict(self) -> dict[str, Any]:
        """The position in the current pass as plain numbers: batches returned, and the random state at its start.

        Prefetched batches do not count. Between passes, the number of batches is 0.
        """
        if self._position is None:
            return {"batches": 0} | (self._next or {"random": self._states()})
        return {**self._position.start, "batches": self._position.batches}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue at the position of a `state_dict` in the next pass, without reading the samples before it.

        Custom samplers without a `generator` attribute must repeat their order.
        """
        if "epoch" in state_dict:
            self.set_epoch(state_dict["epoch"], state_dict["seed"], state_dict["batches"])
        else:
            self._next = dict(state_dict)

    def _samplers(self) -> list[Any]:
        """The samplers that determine the order."""
        found = (self.sampler, self.batch_sampler, getattr(self.batch_sampler, "sampler", None))
        return list({id(sampler): sampler for sampler in found if sampler is not None}.values())

    def _generators(self) -> dict[str, Generator]:
        """The generators of order and seeds, except the default generator."""
        owners = [self, *self._samplers()]
        found = ((str(key), getattr(owner, "generator", None)) for key, owner in enumerate(owners))
        return {key: generator for key, generator in found if isinstance(generator, Generator)}

    def _states(self) -> dict[str, list[int]]:
        """The states of these generators and of the default generator."""
        generators = {"default": default_generator, **self._generators()}
        return {key: list(generator.get_state()) for key, generator in generators.items()}

    # -- a pass

    def _begin_pass(self, start: dict[str, Any], *, again: bool) -> tuple[int, Iterator[Any]]:
        """The random seed of a pass, and the sample indices of its batches."""
        if "epoch" in start:
            return _seed(Generator(start["seed"]).fork("batches", start["epoch"])), self._order()
        if not again:
            return _seed(self.generator or default_generator), self._order()
        states: dict[str, Any] = dict(start["random"])
        with drawing_from(Generator(*states.pop("default"))):  # keeps the state of the program's default generator
            for key, owner in enumerate([self, *self._samplers()]):
                if str(key) not in states:
                    continue
                if isinstance(owner.generator, Generator):  # in place: several owners may share it
                    owner.generator.set_state(states[str(key)])
                else:
                    owner.generator = Generator(*states[str(key)])
            return _seed(self.generator or default_generator), self._order()

    def _order(self) -> Iterator[Any]:
        """The sample indices of each batch, or single indices; None for each batch of a stream."""
        if isinstance(self.dataset, IterableDataset):
            return repeat(None)
        if self.batch_sampler is None:
            assert self.sampler is not None
            return iter(self.sampler)
        if self.collate_fn is None and isinstance(self.batch_sampler, BatchSampler):
            return self.batch_sampler.arrays()
        return iter(self.batch_sampler)

    def _source(self) -> MapDatasetFetcher | IterableDatasetFetcher:
        if isinstance(self.dataset, IterableDataset):
            return IterableDatasetFetcher(self.dataset, self.collate_fn, self.batch_size, self.drop_last)
        return MapDatasetFetcher(self.dataset, self.collate_fn, self.batch_sampler is not None)

    def _counted(self, batches: Iterator[Any], position: _Position) -> Iterator[Any]:
        """Count and pin the batches without keeping a reference to them."""
        pins = self.pin_memory and cuda_available()
        while found := list(islice(batches, 1)):
            position.batches += 1
            yield pin_batch(found.pop()) if pins else found.pop()
        if self._position is position:
            self._position = None

    def _local_batches(self, seed: int, order: Iterator[Any], skip: int) -> Iterator[Any]:
        source = self._source()
        source.begin()
        first = 0 if isinstance(source, IterableDatasetFetcher) else skip
        for number, indices in enumerate(islice(order, first, None), start=first):
            with batch_random_state(seed, number):
                try:
                    made = [source(indices, skip=number < skip)]
                except StopIteration:
                    return
            if number >= skip:
                yield made.pop()

    def _from_workers(self, seed: int, order: Iterator[Any], start: _Position) -> Iterator[Any]:
        """Start the pass in workers immediately, before the first `next`."""
        first = 0 if isinstance(self.dataset, IterableDataset) else start.batches
        epoch = (start.start["epoch"], start.start["seed"]) if "epoch" in start.start else None
        self._passes += 1
        pool = self._worker_pool or self._start_workers(seed)
        prefetch = PrefetchIterator(
            pool,
            self.num_workers,
            PassStart(self._passes, seed, epoch),
            islice(order, first, None),
            first=first,
            first_returned=start.batches,
            ahead=self.prefetch_factor or 2,
            in_order=self.in_order,
            timeout=self.timeout,
        )
        if self.persistent_workers:
            self._worker_pool = pool
        return self._prefetched_batches(pool, prefetch)

    def _start_workers(self, seed: int) -> LoaderWorkers:
        work = WorkerSetup(self._source(), self.num_workers, self.worker_init_fn, seed)
        return (
            ThreadWorkers(work)
            if self._threads
            else ProcessWorkers(work, self.multiprocessing_context, self.prefetch_factor or 2)
        )

    def _prefetched_batches(self, pool: LoaderWorkers, prefetch: PrefetchIterator) -> Iterator[Any]:
        try:
            yield from prefetch
        except GeneratorExit:  # the caller stopped early; persistent workers drop open requests at the next pass
            raise
        except BaseException:
            self._worker_pool = None
            pool.close()
            raise
        finally:
            if self._worker_pool is not pool:
                pool.close()


def _seed(generator: Generator) -> int:
    """A 63-bit seed, so that adding a worker index does not overflow 64 bits."""
    return int(generator.bits(1)[0]) >> 1


def _check_workers(
    num_workers: Any, timeout: float, prefetch_factor: int | None, persistent_workers: bool, context: Any
) -> None:
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(f"DataLoader: num_workers must be an integer of at least 0, not {num_workers!r}.")
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout must be at least 0 seconds, not {timeout!r}.")
    if num_workers:
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError(f"DataLoader: prefetch_factor must be at least 1, not {prefetch_factor!r}.")
        return
    worker_options = {"prefetch_factor": prefetch_factor, "persistent_workers": persistent_workers}
    for name, value in (worker_options | {"multiprocessing_context": context}).items():
        if value:
            raise ValueError(f"DataLoader: {name}={value!r} requires workers. Set num_workers, or remove {name}.")
