"""Batches for training and for validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias, cast

from engine.data.joint_loader import EpochLength, JointLoader, Order
from engine.data.loader import THREADS, DataLoader
from engine.data.sample_stream import SampleStream, StreamBatchSampler
from engine.data.samples import Samples
from engine.data.splits import Splits
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


def _loader(samples: Samples, batch_size: int, shuffle: bool, drop_last: bool, workers: int) -> DataLoader:
    # Reading, decoding and NumPy release the GIL; threads start faster than processes and share the samples.
    context = THREADS if workers else None
    if isinstance(samples.stream, SampleStream):
        order = StreamBatchSampler(samples.stream, batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(samples, batch_sampler=order, num_workers=workers, multiprocessing_context=context)
    return DataLoader(
        samples, batch_size, shuffle, drop_last=drop_last, num_workers=workers, multiprocessing_context=context
    )
