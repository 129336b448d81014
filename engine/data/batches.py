"""The node between samples and network: batches for training and for validation."""

from __future__ import annotations

from engine.data.loader import DataLoader
from engine.data.splits import Splits
from engine.registry import DATASETS, Size


@DATASETS.register(
    category="Loader", title="Loader", outputs=("input", "target"), tags=("DataLoader", "batch", "shuffle", "minibatch")
)
class Batches:
    """Cut samples into batches: training samples in a new random order each epoch, validation samples in order.

    Args:
        splits: the samples
        batch_size: samples in a batch
        shuffle: take the training samples in a new random order each epoch
        drop_last: leave out the last training batch of an epoch if it is smaller
    """

    def __init__(self, splits: Splits, batch_size: Size = 64, shuffle: bool = True, drop_last: bool = False) -> None:
        self.splits = splits
        self.train = DataLoader(splits.train, batch_size, shuffle, drop_last=drop_last)
        validation = splits.validation
        self.validation = None if validation is None else DataLoader(validation, batch_size)
