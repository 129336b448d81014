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
    """The data loaders of a training run.

    Args:
        train: loader of training batches
        validation: loader of validation batches, if any
        files: files that the samples are read from
    """

    def __init__(self, train: DataLoader, validation: DataLoader | None = None, files: tuple[Path, ...] = ()) -> None:
        self.train = train
        self.validation = validation
        self.files = files


@DATASETS.register(
    category="Loader", title="Loader", outputs=("input", "target"), tags=("DataLoader", "batch", "shuffle", "minibatch")
)
class Batches(Loaders):
    """Group samples into batches. Training samples are shuffled each epoch; validation samples keep their order.

    A stream has no known number of batches. It is shuffled within a buffer.

    Args:
        splits: training and validation samples
        batch_size: samples per batch
        shuffle: shuffle the training samples in each epoch
        drop_last: drop the last training batch of an epoch if it is smaller than batch_size
        workers: threads that prepare batches in advance; 0 prepares them between training steps; results do not
            depend on it
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
        validation_loader = None if validation is None else _loader(validation, batch_size, False, False, workers)
        super().__init__(train, validation_loader, splits.files)


def _loader(samples: Samples, batch_size: int, shuffle: bool, drop_last: bool, workers: int) -> DataLoader:
    # Reading, decoding and NumPy release the GIL; threads start faster than processes and share the samples.
    context = THREADS if workers else None
    if isinstance(samples.stream, SampleStream):
        order = StreamBatchSampler(samples.stream, batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(samples, batch_sampler=order, num_workers=workers, multiprocessing_context=context)
    return DataLoader(
        samples, batch_size, shuffle, drop_last=drop_last, num_workers=workers, multiprocessing_context=context
    )
