"""Batches for training and for validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from engine.data.loader import THREADS, DataLoader
from engine.data.sample_stream import SampleStream, StreamBatchSampler
from engine.data.samples import Samples
from engine.data.splits import Splits
from engine.registry import DATASETS, Range, Size


class Loaders:
    """What a training gets its batches from.

    Args:
        train: batches to train with
        validation: batches to validate with, if there are any
        files: where their samples come from
    """

    def __init__(self, train: DataLoader, validation: DataLoader | None = None, files: tuple[Path, ...] = ()) -> None:
        self.train = train
        self.validation = validation
        self.files = files


@DATASETS.register(
    category="Loader", title="Loader", outputs=("input", "target"), tags=("DataLoader", "batch", "shuffle", "minibatch")
)
class Batches(Loaders):
    """Cut samples into batches: training samples in a new random order each epoch, validation samples in order.

    Of a stream nobody knows how many batches there are before it has ended; its random order is that of a buffer.

    Args:
        splits: the samples
        batch_size: samples in a batch
        shuffle: take the training samples in a new random order each epoch
        drop_last: leave out the last training batch of an epoch if it is smaller
        workers: threads that read and transform batches ahead of time; 0 does it between the training steps. The
            numbers do not depend on it
    """

    def __init__(
        self,
        splits: Splits,
        batch_size: Size = 64,
        shuffle: bool = True,
        drop_last: bool = False,
        workers: Annotated[int, Range(ge=0, le=64)] = 0,
    ) -> None:
        self.splits = splits
        validation = splits.validation
        train = _loader(splits.train, batch_size, shuffle, drop_last, workers)
        held = None if validation is None else _loader(validation, batch_size, False, False, workers)
        super().__init__(train, held, splits.files)


def _loader(samples: Samples, batch_size: int, shuffle: bool, drop_last: bool, workers: int) -> DataLoader:
    # Reading, decoding and NumPy give the interpreter free, and threads neither start slowly nor copy the samples.
    context = THREADS if workers else None
    if isinstance(samples.stream, SampleStream):
        order = StreamBatchSampler(samples.stream, batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(samples, batch_sampler=order, num_workers=workers, multiprocessing_context=context)
    return DataLoader(
        samples, batch_size, shuffle, drop_last=drop_last, num_workers=workers, multiprocessing_context=context
    )
