"""Splits: training and validation samples of a data source, with shape and dtype."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from engine.data.diagnostics import Diagnostic
from engine.data.sample_stream import SampleStream, StreamBatchSampler
from engine.data.samples import Arrays, ArraySamples, MappedSamples, PickedSamples, Samples, Side, validation_split
from engine.data.transforms.compose import Compose
from engine.data.transforms.transform import Fitted, Transform
from engine.dtypes import from_numpy
from engine.errors import ShapeError
from engine.registry import Range
from engine.shape import Dim, Spec

Share = Annotated[float, Range(ge=0, lt=1)]
"""Fraction of the samples."""

_FIT_BATCH_SIZE = 256


class Splits(ABC):
    """Training and validation samples. The constructor reads headers only; samples are read on access."""

    @property
    @abstractmethod
    def input(self) -> Spec:
        """Shape and dtype of one sample's input. Sizes that differ between samples are symbolic."""

    @property
    @abstractmethod
    def target(self) -> Spec:
        """Shape and dtype of one sample's target."""

    @property
    @abstractmethod
    def classes(self) -> int | None:
        """Number of classes; None if the targets are not classes. May read the targets."""

    @property
    @abstractmethod
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes by number; empty if they have no names. May read the targets."""

    @property
    @abstractmethod
    def train(self) -> Samples: ...

    @property
    @abstractmethod
    def validation(self) -> Samples | None:
        """None if there are no validation samples."""

    @property
    def is_stream(self) -> bool:
        """Whether the samples are a stream of unknown length."""
        return False

    @property
    def discontinuity(self) -> str:
        """Why a sample does not continue the one before it in time; empty if it can, as the lines of a table."""
        return ""

    @property
    def split_depth(self) -> int:
        """Number of splits in a row that were applied to these samples."""
        return 0

    @property
    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The files of the samples; a folder means the files directly in it."""

    def check(self) -> None:
        """Raises DataError for unusable samples, such as none at all or more than fit into memory."""
        return

    def diagnostics(self, *, read_all: bool = False) -> tuple[Diagnostic, ...]:
        """Warnings about skipped or misread values. Reads the source; only the start of a large one.

        Args:
            read_all: also read large sources completely, as training does
        """
        return ()

    def sampled(self, rows: int) -> Splits:
        """The same data with about this many of its rows, if reading all rows takes long; otherwise these splits.

        Raises DataError if they cannot be read.
        """
        return self

    @property
    def total_rows(self) -> int | None:
        """Estimated number of rows of the data, if these are only a sample of it; None if these are all."""
        return None

    def unlabeled(self, path: Path) -> Samples | None:
        """Samples of another file or folder of the same format, with zeros as targets.

        They are encoded and transformed like validation samples, with the categories of the training samples. None if
        the source cannot read other files.
        """
        return None

    def map(self, transform: Transform, on: Side = "inputs") -> Splits:
        """The same samples with a transform applied.

        Args:
            transform: transform of each sample
            on: transform the inputs or the targets
        """
        parts = transform.transforms if isinstance(transform, Compose) else [transform]
        splits: Splits = self
        for part in parts:
            splits = splits.map(part, on) if isinstance(part, Compose) else MappedSplits(splits, part, on)
        return splits

    def fitted(self, kind: type[Fitted], on: Side = "inputs", **options: Any) -> dict[str, Any]:
        """Arguments of a transform computed from the training samples without augmentations.

        Args:
            kind: class of the transform
            on: fit to the inputs or the targets
            options: arguments that say how the others are computed, such as ``strategy`` of FillMissing

        Raises DataError if there are no training samples to fit.
        """
        return kind.fitted(training_batches(self.train, on), **options)


def check_sizes(sample: Spec) -> None:
    """Raises ShapeError if sizes differ between samples, so that they cannot be batched."""
    if sample.is_open:
        names = " and ".join(str(size) for size in sample.shape if isinstance(size, Dim))
        remedy = "Add Resize or a crop" if sample.ndim > 1 else "Add CropOrPad"
        raise ShapeError(f"samples are {sample}: {names} may vary between samples. {remedy} before the loader.")


def training_batches(samples: Samples, on: Side) -> Iterator[NDArray[Any]]:
    """Inputs or targets of all samples without augmentations, in batches, or one by one if sizes differ."""
    samples = samples.with_augmentations(False)
    for rows in _blocks(samples):
        values = samples.arrays(rows)[0] if on == "inputs" else samples.targets(rows)
        if isinstance(values, np.ndarray):
            yield values
        else:
            yield from (value[np.newaxis] for value in values)


def _blocks(samples: Samples) -> Iterator[NDArray[Any]]:
    if isinstance(samples.stream, SampleStream):
        yield from StreamBatchSampler(samples.stream, _FIT_BATCH_SIZE)
        return
    for start in range(0, len(samples), _FIT_BATCH_SIZE):
        yield np.arange(start, min(start + _FIT_BATCH_SIZE, len(samples)))


class MappedSplits(Splits):
    """Splits with a transform applied to inputs or targets."""

    def __init__(self, splits: Splits, transform: Transform, on: Side = "inputs") -> None:
        self._splits = splits
        self._transform = transform
        self._on: Side = on
        self._mapped_spec = transform.spec(splits.input if on == "inputs" else splits.target)

    @property
    def input(self) -> Spec:
        return self._mapped_spec if self._on == "inputs" else self._splits.input

    @property
    def target(self) -> Spec:
        return self._mapped_spec if self._on == "targets" else self._splits.target

    @property
    def classes(self) -> int | None:
        return self._splits.classes if self._on == "inputs" else self._transform.classes

    @property
    def class_names(self) -> tuple[str, ...]:
        return self._splits.class_names if self._on == "inputs" else self._transform.class_names

    @property
    def train(self) -> Samples:
        return MappedSamples(self._splits.train, self._transform, self._on)

    @property
    def validation(self) -> Samples | None:
        validation = self._splits.validation
        if validation is None:
            return None
        return MappedSamples(validation, self._transform, self._on).with_augmentations(False)

    @property
    def is_stream(self) -> bool:
        return self._splits.is_stream

    @property
    def discontinuity(self) -> str:
        return self._splits.discontinuity

    @property
    def split_depth(self) -> int:
        return self._splits.split_depth

    @property
    def files(self) -> tuple[Path, ...]:
        return self._splits.files

    def diagnostics(self, *, read_all: bool = False) -> tuple[Diagnostic, ...]:
        return self._splits.diagnostics(read_all=read_all)

    def unlabeled(self, path: Path) -> Samples | None:
        samples = self._splits.unlabeled(path)
        if samples is None or self._on == "targets":
            return samples
        return MappedSamples(samples, self._transform).with_augmentations(False)


class HeldOutSplits(Splits):
    """Splits that hold out a fraction of the samples for validation. Subclasses implement `samples`, classes and files.

    Args:
        input: shape and dtype of one input
        target: shape and dtype of one target
        validation: fraction of the samples used for validation
    """

    def __init__(self, input: Spec, target: Spec, validation: float) -> None:
        self._input = input
        self._target = target
        self._share = validation

    @property
    @abstractmethod
    def samples(self) -> Samples:
        """Training and validation samples together."""

    @property
    def input(self) -> Spec:
        return self._input

    @property
    def target(self) -> Spec:
        return self._target

    @property
    def discontinuity(self) -> str:
        return "validation samples are picked at random among them" if self._share else ""

    @property
    def train(self) -> Samples:
        return train_validation_split(self.samples, self._share)[0]

    @property
    def validation(self) -> Samples | None:
        return train_validation_split(self.samples, self._share)[1]


def train_validation_split(samples: Samples, share: float) -> tuple[Samples, Samples | None]:
    """Split samples into training and validation samples; None if no validation samples result."""
    train, validation = validation_split(len(samples), share)
    return (PickedSamples(samples, train), PickedSamples(samples, validation)) if len(validation) else (samples, None)


class ArraySplits(Splits):
    """Splits of arrays in memory, for scripts.

    Args:
        train: inputs and targets, N×…
        validation: inputs and targets for validation, with the same sample shapes
    """

    def __init__(self, train: Arrays, validation: Arrays | None = None) -> None:
        inputs, targets = train
        self._input, self._target = (Spec(array.shape[1:], from_numpy(array.dtype)) for array in train)
        self._train = ArraySamples(*train)
        is_class = np.issubdtype(targets.dtype, np.integer) and targets.ndim == 1
        self._classes = int(targets.max()) + 1 if is_class and len(inputs) else None
        self._validation = None if validation is None else ArraySamples(*validation)

    @property
    def input(self) -> Spec:
        return self._input

    @property
    def target(self) -> Spec:
        return self._target

    @property
    def classes(self) -> int | None:
        return self._classes

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    @property
    def train(self) -> Samples:
        return self._train

    @property
    def validation(self) -> Samples | None:
        return self._validation

    @property
    def files(self) -> tuple[Path, ...]:
        return ()
