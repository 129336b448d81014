"""Samples that come one after the other, as they are too many to be listed before they are read."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.sampler import batched_lists, check_batch_size
from engine.data.samples import PickedSamples, Samples
from engine.random import Generator, default_generator

Record = tuple[Any, ...]

_DRAWN_AT_ONCE = 1024


class SampleStream(Samples):
    """Samples without numbers. Subclasses give `records`, and `arrays` and `targets` of records.

    A record says all that it takes to read one sample, and is cheap to come by: those before the place where a training
    goes on are gone past without reading samples. Arrays of records stand where other samples have row numbers.

    Args:
        fields: what a record holds beside its number: names and NumPy dtypes
        buffer: how many records are drawn from where a random order is asked for
    """

    def __init__(self, fields: list[tuple[str, str]], buffer: int) -> None:
        self.dtype = np.dtype([("number", "i8"), *fields])
        self.buffer = buffer
        self._first: tuple[int, NDArray[Any]] | None = None

    @abstractmethod
    def records(self, generator: Generator | None) -> Iterator[Record]:
        """All of them, without numbers; with a generator, what can be shuffled without holding samples is."""

    @property
    def stream(self) -> SampleStream:
        return self

    def __len__(self) -> int:
        raise TypeError("a stream does not know how many samples it has; iterate it to find out")

    def numbered(self, generator: Generator | None) -> Iterator[Record]:
        """The records of a pass; with a generator in an order that is drawn from the buffer as they come."""
        records = ((number, *record) for number, record in enumerate(self.records(generator)))
        return records if generator is None else _shuffled(records, self.buffer, generator)

    def block(self, records: list[Record]) -> NDArray[Any]:
        """Records as an array, which `arrays` takes."""
        return np.array(records, self.dtype)

    def first(self, most: int) -> NDArray[Any]:
        """Records of the first samples. They are remembered."""
        if self._first is None or self._first[0] != most:
            self._first = most, self.block(list(islice(self.numbered(None), most)))
        return self._first[1]


class StreamBatchSampler:
    """Cuts a stream into batches of records: a `batch_sampler` of which the length is not known.

    Args:
        stream: what is cut
        batch_size: samples in a batch
        shuffle: draw them from the stream's buffer, in another order in each pass
        drop_last: leave out the last batch if it is smaller
        generator: where the order comes from; the default generator unless given
    """

    def __init__(
        self,
        stream: SampleStream,
        batch_size: int,
        *,
        shuffle: bool = False,
        drop_last: bool = False,
        generator: Generator | None = None,
    ) -> None:
        check_batch_size(batch_size)
        self.stream = stream
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.generator = generator

    def __iter__(self) -> Iterator[NDArray[Any]]:
        generator = (self.generator or default_generator) if self.shuffle else None
        for records in batched_lists(self.stream.numbered(generator), self.batch_size):
            if len(records) == self.batch_size or not self.drop_last:
                yield self.stream.block(records)


def first_samples(samples: Samples, most: int) -> Samples:
    """Samples that have numbers: of a stream the first ones, others as they are."""
    if isinstance(samples, SampleStream):
        return PickedSamples(samples, samples.first(most))
    if samples.stream is None:
        return samples
    other = copy.copy(samples)
    other.sources = tuple(first_samples(source, most) for source in samples.sources)
    return other


def _shuffled(records: Iterator[Record], size: int, generator: Generator) -> Iterator[Record]:
    """Each new record takes the place of one that is drawn from those that are held."""
    held = list(islice(records, size))
    if len(held) == size:
        while fresh := list(islice(records, _DRAWN_AT_ONCE)):
            for place, record in zip(generator.integers(0, size, len(fresh)).tolist(), fresh, strict=True):
                held[place], drawn = record, held[place]
                yield drawn
    for place in generator.permutation(len(held)).tolist():
        yield held[place]


__all__ = ["Record", "SampleStream", "StreamBatchSampler", "first_samples"]
