"""Several data loaders in lockstep: each step has one batch of each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from engine.data.loader import DataLoader
from engine.errors import DataError
from engine.random import Generator, default_generator

EpochLength: TypeAlias = Literal["longest", "shortest"]
Order: TypeAlias = Literal["independent", "paired"]


class JointLoader:
    """The batches of several loaders in lockstep, joined to one list per step.

    An epoch ends with the longest loader, and shorter ones start again in a new order; or it ends with the shortest.
    Order and random numbers of each loader depend on seed, epoch and its position in the list only. Loaders of one
    batch size give batches of one size: the larger ones of a step are cut to the smallest.

    Args:
        loaders: loaders of known length, whose batches are lists of tensors
        epoch: which loader determines the length of an epoch
        order: each loader is shuffled separately, or all of them in the same order, so that samples with one index are
            in one step

    Raises:
        DataError: a loader has no batch, or no known length, or paired loaders differ in their numbers of samples.
    """

    def __init__(
        self, loaders: Sequence[DataLoader], epoch: EpochLength = "longest", order: Order = "independent"
    ) -> None:
        self.loaders = tuple(loaders)
        self.epoch: EpochLength = epoch
        self.order: Order = order
        self.dataset = _SampleCount(self.loaders)
        first = self.loaders[0]
        self.batch_size, self.batch_sampler, self.drop_last = first.batch_size, first.batch_sampler, first.drop_last
        for number, loader in enumerate(self.loaders, start=1):
            try:
                count = len(loader)
            except TypeError:
                raise DataError(f"loader {number} of {len(self.loaders)} is a stream of unknown length.") from None
            if not count:
                raise DataError(f"loader {number} of {len(self.loaders)} has no batch. Lower its batch_size.")
        sizes = [(len(loader.dataset), loader.batch_size) for loader in self.loaders]
        if order == "paired" and len(set(sizes)) > 1:
            listed = ", ".join(f"{count:,} in batches of {size}" for count, size in sizes)
            raise DataError(f"paired loaders need equal numbers of samples and batch sizes, but have {listed}.")
        self._start: tuple[int, int, int] | None = None

    def __len__(self) -> int:
        return (max if self.epoch == "longest" else min)(map(len, self.loaders))

    def set_epoch(self, epoch: int, seed: int, skip: int = 0) -> None:
        """Set the epoch and seed that the next pass depends on, and the number of steps to skip."""
        self._start = (epoch, seed, skip)

    def in_order(self) -> JointLoader:
        """The same samples in the order of the data, independent of passes of this loader."""
        return JointLoader([DataLoader(each.dataset, each.batch_size) for each in self.loaders], self.epoch, self.order)

    def __iter__(self) -> Iterator[list[Any]]:
        start, self._start = self._start, None
        if start is None and self.order == "paired":
            start = (0, _seed(default_generator), 0)
        skip = 0 if start is None else start[2]
        sources = [
            iter(loader) if start is None else _passes(loader, self._seed(number, start[1]), len(self), start[0], skip)
            for number, loader in enumerate(self.loaders)
        ]
        return self._steps(sources, len(self) - skip)

    def _seed(self, number: int, seed: int) -> int:
        """The seed of a loader."""
        return seed if number == 0 or self.order == "paired" else _seed(Generator(seed).fork("loader", number))

    def _steps(self, sources: list[Iterator[Any]], count: int) -> Iterator[list[Any]]:
        for _ in range(count):
            parts: list[list[Any]] = []
            for number, loader in enumerate(self.loaders):  # the error of a batch is traced to its loader by `number`
                batch = next(sources[number], None)
                if batch is None:
                    sources[number] = iter(loader)
                    batch = next(sources[number])
                parts.append(batch)
            yield self._joined(parts)

    def _joined(self, parts: list[list[Any]]) -> list[Any]:
        rows = [len(part[0]) for part in parts]
        joined: list[Any] = []
        for part, loader in zip(parts, self.loaders, strict=True):
            same = (count for count, other in zip(rows, self.loaders, strict=True) if _are_equal(other, loader))
            limit = min(same)
            joined += part if len(part[0]) == limit else [tensor[:limit] for tensor in part]
        return joined


def in_order(loader: DataLoader | JointLoader) -> DataLoader | JointLoader:
    """The samples of a loader in the order of the data, independent of its passes."""
    return loader.in_order() if isinstance(loader, JointLoader) else DataLoader(loader.dataset, loader.batch_size)


class _SampleCount:
    """Number of samples of all loaders together."""

    def __init__(self, loaders: Sequence[DataLoader]) -> None:
        self._loaders = loaders

    def __len__(self) -> int:
        return sum(len(loader.dataset) for loader in self._loaders)


def _seed(generator: Generator) -> int:
    """A 63-bit seed."""
    return int(generator.bits(1)[0]) >> 1


def _passes(loader: DataLoader, seed: int, steps: int, epoch: int, skip: int) -> Iterator[Any]:
    """The batches of a loader from a step of an epoch on, in as many passes as the epoch needs."""
    count = len(loader)
    passes = -(-steps // count)
    first, skipped = divmod(skip, count)
    for index in range(first, passes):
        loader.set_epoch(epoch * passes + index, seed, skipped if index == first else 0)
        yield from loader


def _are_equal(loader: DataLoader, other: DataLoader) -> bool:
    return loader.batch_size == other.batch_size


__all__ = ["EpochLength", "JointLoader", "Order", "in_order"]
