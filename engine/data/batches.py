"""Batches for training and for validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

from engine.data.joint_loader import EpochLength, JointLoader, Order
from engine.data.loader import THREADS, DataLoader
from engine.data.sample_stream import SampleStream, StreamBatchSampler
from engine.data.sampler import ContiguousSampler
from engine.data.samples import Samples
from engine.data.splits import Splits
from engine.errors import DataError
from engine.registry import DATASETS, Range, Size

AnyLoader: TypeAlias = DataLoader | JointLoader


class Loaders:
    """The data loaders of a training run.

    Args:
        train: loader of training batches
        validation: loader of validation batches, if any
        files: files that the samples are read from
    """

    def __init__(
        self,
        train: DataLoader | JointLoader,
        validation: DataLoader | JointLoader | None = None,
        files: tuple[Path, ...] = (),
    ) -> None:
        self.train = train
        self.validation = validation
        self.files = files


@DATASETS.register(
    category="Loader", title="Loader", outputs=("input", "target"), tags=("DataLoader", "batch", "shuffle", "minibatch")
)
class Batches(Loaders):
    """Group samples into batches. Training samples are shuffled each epoch; validation samples keep their order.

    A stream has no known number of batches. It is shuffled within a buffer.

    For networks that carry a state from batch to batch, `contiguous` cuts the samples into `batch_size` parts: row i of
    each batch, in training and in validation, is the next sample of part i.

    Args:
        splits: training and validation samples
        batch_size: samples per batch
        shuffle: shuffle the training samples in each epoch
        drop_last: drop the last training batch of an epoch if it is smaller than batch_size
        workers: threads that prepare batches in advance; 0 prepares them between training steps; results do not
            depend on it
        contiguous: continue each row of a batch in the next batch, without shuffling; fewer than batch_size samples at
            the end are dropped
    """

    def __init__(
        self,
        splits: Splits,
        batch_size: Size = 64,
        shuffle: bool = True,
        drop_last: bool = False,
        workers: Annotated[int, Range(ge=0, le=64)] = 0,
        contiguous: bool = False,
    ) -> None:
        self.splits = splits
        validation = splits.validation
        order = "contiguous" if contiguous else "random" if shuffle else "sequential"
        train = _loader(splits.train, batch_size, order, drop_last, workers)
        order = "contiguous" if contiguous else "sequential"
        validation_loader = None if validation is None else _loader(validation, batch_size, order, False, workers)
        super().__init__(train, validation_loader, splits.files)


class JointBatches(Loaders):
    """Batches of several data sources in lockstep. There is validation if all of them have validation samples.

    Args:
        loaders: the batches of each source
        epoch: which loader determines the length of an epoch; with longest, shorter ones start again
        order: each loader is shuffled separately, or all of them in the same order
    """

    def __init__(
        self, loaders: Sequence[Batches], epoch: EpochLength = "longest", order: Order = "independent"
    ) -> None:
        self.loaders = tuple(loaders)
        train = JointLoader([cast("DataLoader", each.train) for each in self.loaders], epoch, order)
        parts = [each.validation for each in self.loaders if isinstance(each.validation, DataLoader)]
        is_validated = len(parts) == len(self.loaders) and all(len(part) for part in parts)
        files = tuple(dict.fromkeys(file for each in self.loaders for file in each.files))
        super().__init__(train, JointLoader(parts, epoch, order) if is_validated else None, files)


def _loader(
    samples: Samples,
    batch_size: int,
    order: Literal["random", "sequential", "contiguous"],
    drop_last: bool,
    workers: int,
) -> DataLoader:
    # Reading, decoding and NumPy release the GIL; threads start faster than processes and share the samples.
    context = THREADS if workers else None
    shuffle = order == "random"
    if isinstance(samples.stream, SampleStream):
        if order == "contiguous":
            raise DataError(
                "a stream cannot be read as contiguous rows, because its length is unknown. Turn contiguous off, or "
                "stream off at the source."
            )
        sampler = StreamBatchSampler(samples.stream, batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(samples, batch_sampler=sampler, num_workers=workers, multiprocessing_context=context)
    return DataLoader(
        samples,
        batch_size,
        shuffle,
        ContiguousSampler(samples, batch_size) if order == "contiguous" else None,
        drop_last=drop_last,
        num_workers=workers,
        multiprocessing_context=context,
    )
