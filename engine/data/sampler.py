"""Samplers: the order of the samples in a pass."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.dtypes import float64
from engine.random import Generator, default_generator, words_of_integer

T_co = TypeVar("T_co", covariant=True)

CHUNK = 2**20
"""Sample indices drawn at once (8 MiB)."""


class Sampler(ABC, Generic[T_co]):
    """An iterable of sample indices. `__len__` is only needed for `len(loader)`."""

    def __init__(self, data_source: Any = None) -> None:
        super().__init__()

    @abstractmethod
    def __iter__(self) -> Iterator[T_co]: ...


class OrderedSampler(Sampler[int]):
    """A sampler that computes indices in chunks. Iteration yields Python ints, as in PyTorch."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def chunks(self) -> Iterable[NDArray[np.int64]]:
        """The sample indices of one pass. The call itself takes all random words from the generator."""

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(chunk.tolist() for chunk in self.chunks())


class SequentialSampler(OrderedSampler):
    """Samples in the order of their indices: 0, 1, 2, …"""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def chunks(self) -> Iterable[NDArray[np.int64]]:
        size = len(self)
        return (np.arange(start, min(start + CHUNK, size), dtype=np.int64) for start in range(0, size, CHUNK))


class ContiguousSampler(OrderedSampler):
    """The order in which row i of each batch follows row i of the previous one, as for truncated backpropagation.

    The samples are cut into `batch_size` contiguous parts of equal length (`batchify`, `BPTTIterator`); batch t has the
    t-th sample of each part. The samples left at the end, fewer than `batch_size`, are dropped. Use it with the same
    `batch_size`.

    Args:
        data_source: data set in the order of time; only its length is used
        batch_size: samples per batch
    """

    def __init__(self, data_source: Sized, batch_size: int) -> None:
        check_batch_size(batch_size)
        self.data_source = data_source
        self.batch_size = batch_size

    def __len__(self) -> int:
        return self._parts * self._steps

    @property
    def _parts(self) -> int:
        return min(self.batch_size, len(self.data_source))

    @property
    def _steps(self) -> int:
        return len(self.data_source) // self._parts if self._parts else 0

    def chunks(self) -> Iterable[NDArray[np.int64]]:
        starts = np.arange(self._parts, dtype=np.int64) * self._steps
        return (starts + step for step in range(self._steps))


class RandomSampler(OrderedSampler):
    """Every sample once in random order, or `num_samples` drawn with replacement.

    Args:
        data_source: data set; only its length is used
        replacement: draw each index independently, so that indices may repeat or be absent
        num_samples: number of samples to draw; the length of `data_source` if None
        generator: random generator; the default generator if None
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if num_samples is not None and num_samples < 1:
            raise ValueError(f"num_samples must be at least 1, not {num_samples}")
        self.data_source = data_source
        self.replacement = replacement
        self.num_samples = num_samples
        self.generator = generator

    def __len__(self) -> int:
        return len(self.data_source) if self.num_samples is None else self.num_samples

    def chunks(self) -> Iterable[NDArray[np.int64]]:
        generator = self.generator or default_generator
        count, size = len(self), len(self.data_source)
        if count == 0:
            return ()
        if size == 0:
            raise ValueError(f"{count} samples cannot be drawn from an empty data set")
        if self.replacement:
            drawn = generator.reserved(count * words_of_integer(size))
            return (drawn.integers(0, size, part) for part in chunk_sizes(count))
        passes = -(-count // size)
        drawn = generator.reserved(passes * -(-size // 4) * 4)  # each permutation begins with a block of four words
        return (drawn.permutation(size)[: count - size * number] for number in range(passes))


class SubsetRandomSampler(OrderedSampler):
    """The given sample indices in random order."""

    def __init__(self, indices: Iterable[int], generator: Generator | None = None) -> None:
        self.indices = np.fromiter(indices, dtype=np.int64)
        self.generator = generator

    def __len__(self) -> int:
        return len(self.indices)

    def chunks(self) -> Iterable[NDArray[np.int64]]:
        return (self.indices[(self.generator or default_generator).permutation(len(self))],)


class WeightedRandomSampler(OrderedSampler):
    """Sample indices drawn with probabilities in proportion to `weights`.

    Args:
        weights: weight of each sample, at least 0; the sum may differ from 1
        num_samples: number of samples to draw
        replacement: draw each index independently; otherwise no index repeats
        generator: random generator; the default generator if None
    """

    def __init__(
        self,
        weights: Sequence[float] | Any,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples < 1:
            raise ValueError(f"num_samples must be a positive integer, not {num_samples!r}")
        self.weights = np.asarray(weights, dtype=np.float64)
        if self.weights.ndim != 1 or not np.isfinite(self.weights).all() or (self.weights < 0).any():
            raise ValueError("weights must be a 1-D sequence of finite numbers that are at least 0")
        if (count := np.count_nonzero(self.weights)) < (1 if replacement else num_samples):
            raise ValueError(f"{num_samples} samples cannot be drawn: only {count} weights are above 0")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __len__(self) -> int:
        return self.num_samples

    def chunks(self) -> Iterable[NDArray[np.int64]]:
        generator = self.generator or default_generator
        if self.replacement:
            ends, drawn = np.cumsum(self.weights), generator.reserved(self.num_samples)
            return (
                np.searchsorted(ends, drawn.uniform(part, float64) * ends[-1], side="right")
                for part in chunk_sizes(self.num_samples)
            )
        # The indices of the smallest exponential times are a draw without replacement (Efraimidis, Spirakis, 2006).
        with np.errstate(divide="ignore"):
            times = -np.log1p(-generator.uniform(len(self.weights), float64)) / self.weights
        return (np.argsort(times, kind="stable")[: self.num_samples].astype(np.int64, copy=False),)


class DistributedSampler(OrderedSampler):
    """The samples of one replica in distributed training: every `num_replicas`-th sample of a common order.

    Args:
        dataset: data set; only its length is used
        num_replicas: number of replicas; if None, $WORLD_SIZE, which launchers set, or 1
        rank: index of this replica, from 0; if None, $RANK or 0
        shuffle: shuffle by `seed` and epoch, equally on all replicas; otherwise keep the order of the data set
        seed: random seed, equal on all replicas
        drop_last: drop samples at the end so that replicas get equally many; otherwise repeat samples from the start
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.dataset = dataset
        self.num_replicas = int(os.environ.get("WORLD_SIZE", "1")) if num_replicas is None else num_replicas
        self.rank = int(os.environ.get("RANK", "0")) if rank is None else rank
        if self.num_replicas < 1:
            raise ValueError(f"num_replicas must be at least 1, not {self.num_replicas}")
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"rank must be in 0 to {self.num_replicas - 1}, not {self.rank}")
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0

    @property
    def num_samples(self) -> int:
        """Number of samples per replica."""
        quotient, remainder = divmod(len(self.dataset), self.num_replicas)
        return quotient if self.drop_last or not remainder else quotient + 1

    @property
    def total_size(self) -> int:
        """Number of samples of all replicas."""
        return self.num_samples * self.num_replicas

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that seeds the next pass; without this call all passes have the same order."""
        self.epoch = epoch

    def chunks(self) -> Iterable[NDArray[np.int64]]:
        size = len(self.dataset)
        generator = Generator(self.seed).fork("order", self.epoch)
        order = generator.permutation(size) if self.shuffle else np.arange(size, dtype=np.int64)
        return (np.resize(order, self.total_size)[self.rank :: self.num_replicas],)


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler into lists of `batch_size`.

    Args:
        sampler: sampler of the indices
        batch_size: samples per batch
        drop_last: drop the last batch if it is smaller
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False) -> None:
        check_batch_size(batch_size)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        return (batch.tolist() for batch in self.arrays())

    def arrays(self) -> Iterator[NDArray[np.int64]]:
        """The batches as arrays."""
        if isinstance(self.sampler, OrderedSampler):
            batches = rechunk(self.sampler.chunks(), self.batch_size)
        else:
            batches = (np.asarray(group, dtype=np.int64) for group in batched_lists(self.sampler, self.batch_size))
        return (batch for batch in batches if not self.drop_last or len(batch) == self.batch_size)


def chunk_sizes(count: int) -> Iterator[int]:
    """The sizes of the chunks for `count` draws. Only the last may end within a block of the generator."""
    return (min(CHUNK, count - start) for start in range(0, count, CHUNK))


def rechunk(chunks: Iterable[NDArray[np.int64]], size: int) -> Iterator[NDArray[np.int64]]:
    """Concatenate chunks and split them into arrays of length `size`; the last may be shorter."""
    parts: list[NDArray[np.int64]] = []
    missing = size
    for chunk in chunks:
        start = 0
        while len(chunk) - start >= missing:
            parts.append(chunk[start : start + missing])
            yield parts[0] if len(parts) == 1 else np.concatenate(parts)
            start, missing, parts = start + missing, size, []
        if start < len(chunk):
            parts.append(chunk[start:])
            missing -= len(chunk) - start
    if parts:
        yield np.concatenate(parts)


def batched_lists(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Split items into lists of length `size`; the last may be shorter."""
    group: list[Any] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def check_batch_size(batch_size: Any) -> None:
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size must be a positive integer, not {batch_size!r}")
