"""Streams: samples in sequence, without an index, for data sets that are too large to list first."""

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

_RECORDS_PER_DRAW = 1024


class SampleStream(Samples):
    """Samples in sequence. Subclasses implement `records`, and `arrays` and `targets` for arrays of records.

    A record describes how to read one sample, such as file and offset. A resumed run skips records without reading
    their samples. Arrays of records replace the row indices of other samples.

    Args:
        fields: names and NumPy dtypes of the fields of a record, besides its number
        buffer: size of the shuffle buffer in records
    """

    def __init__(self, fields: list[tuple[str, str]], buffer: int) -> None:
        self.dtype = np.dtype([("number", "i8"), *fields])
        self.buffer = buffer
        self._first: tuple[int, NDArray[Any]] | None = None

    @abstractmethod
    def records(self, generator: Generator | None) -> Iterator[Record]:
        """All records of a pass, without numbers. With a generator, shuffle what needs no buffer, such as shards."""

    @property
    def stream(self) -> SampleStream:
        return self

    def __len__(self) -> int:
        raise TypeError("a stream has no length because its number of samples is unknown")

    def numbered(self, generator: Generator | None) -> Iterator[Record]:
        """The numbered records of a pass; with a generator, shuffled in the buffer."""
        records = ((number, *record) for number, record in enumerate(self.records(generator)))
        return records if generator is None else _shuffled(records, self.buffer, generator)

    def block(self, records: list[Record]) -> NDArray[Any]:
        """Records as a structured array, for `arrays`."""
        return np.array(records, self.dtype)

    def first(self, limit: int) -> NDArray[Any]:
        """The first `limit` records, cached."""
        if self._first is None or self._first[0] != limit:
            self._first = limit, self.block(list(islice(self.numbered(None), limit)))
        return self._first[1]


class StreamBatchSampler:
    """A `batch_sampler` that groups the records of a stream. It has no length.

    Args:
        stream: stream of samples
        batch_size: samples per batch
        shuffle: shuffle in the stream's buffer, differently in each pass
        drop_last: drop the last batch if it is smaller
        generator: random generator; the default generator if None
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


def first_samples(samples: Samples, limit: int) -> Samples:
    """Indexable samples: the first `limit` samples of a stream; other samples unchanged."""
    if isinstance(samples, SampleStream):
        return PickedSamples(samples, samples.first(limit))
    if samples.stream is None:
        return samples
    other = copy.copy(samples)
    other.sources = tuple(first_samples(source, limit) for source in samples.sources)
    return other


def _shuffled(records: Iterator[Record], size: int, generator: Generator) -> Iterator[Record]:
    """Shuffle in a buffer: each new record replaces a random one, which is yielded."""
    buffer = list(islice(records, size))
    if len(buffer) == size:
        while fresh := list(islice(records, _RECORDS_PER_DRAW)):
            for index, record in zip(generator.integers(0, size, len(fresh)).tolist(), fresh, strict=True):
                buffer[index], drawn = record, buffer[index]
                yield drawn
    for index in generator.permutation(len(buffer)).tolist():
        yield buffer[index]


__all__ = ["Record", "SampleStream", "StreamBatchSampler", "first_samples"]
