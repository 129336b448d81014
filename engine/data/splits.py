"""What a data source gives: training and validation samples, and what one of them looks like."""

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
"""A part of the samples."""

_FITTED_AT_ONCE = 256


class Splits(ABC):
    """Training and validation samples. Making one reads no more than headers; samples are read when asked for."""

    @property
    @abstractmethod
    def input(self) -> Spec:
        """Shape and dtype of one sample's input. Sizes that differ from sample to sample are symbols."""

    @property
    @abstractmethod
    def target(self) -> Spec:
        """Shape and dtype of one sample's target."""

    @property
    @abstractmethod
    def classes(self) -> int | None:
        """How many classes the targets have; None if they are not classes. May read the targets."""

    @property
    @abstractmethod
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes by number; empty where they have none. May read the targets."""

    @property
    @abstractmethod
    def train(self) -> Samples: ...

    @property
    @abstractmethod
    def validation(self) -> Samples | None:
        """None if no samples are kept for validation."""

    @property
    def is_stream(self) -> bool:
        """Whether nobody knows how many samples there are before they have been read."""
        return False

    @property
    def divisions(self) -> int:
        """How many divisions these samples went through in a row."""
        return 0

    @property
    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The files that the samples come from; a folder stands for all that is directly in it."""

    def check(self) -> None:
        """Raises DataError where there are no samples, as far as those tell who know the classes."""
        return

    def diagnostics(self, *, whole: bool = False) -> tuple[Diagnostic, ...]:
        """What reading the source loses or takes for something else. Reads it; of large ones the beginning.

        Args:
            whole: read all of a large one, too, as far as training does
        """
        return ()

    def unlabelled(self, path: Path) -> Samples | None:
        """Samples of another file or folder of the same kind. Targets are not looked for: they are zeros.

        They are encoded and transformed as validation samples are: categories are those of the training samples. None
        where a source reads nothing but what it was given.
        """
        return None

    def map(self, transform: Transform, on: Side = "inputs") -> Splits:
        """The same samples with a transform applied.

        Args:
            transform: what is done to each sample
            on: what is transformed: the inputs of the network, or the targets that it learns
        """
        parts = transform.transforms if isinstance(transform, Compose) else [transform]
        splits: Splits = self
        for part in parts:
            splits = splits.map(part, on) if isinstance(part, Compose) else MappedSplits(splits, part, on)
        return splits

    def fitted(self, kind: type[Fitted], on: Side = "inputs") -> dict[str, Any]:
        """Arguments that a transform learns from the training samples, without augmentations: never from validation.

        Raises DataError if they leave nothing to learn.
        """
        return kind.fitted(training_batches(self.train, on))


def check_sizes(sample: Spec) -> None:
    """Raises ShapeError where sizes differ from sample to sample, so that they make no batch."""
    if sample.is_open:
        names = " and ".join(str(size) for size in sample.shape if isinstance(size, Dim))
        remedy = "Add Resize or a crop" if sample.ndim > 1 else "Add CropOrPad"
        raise ShapeError(f"samples are {sample}: {names} may vary between samples. {remedy} before the loader.")


def training_batches(samples: Samples, on: Side) -> Iterator[NDArray[Any]]:
    """Inputs or targets of all samples, without augmentations, some hundred at a time where they are of one size."""
    samples = samples.with_augmentations(False)
    for rows in _blocks(samples):
        values = samples.arrays(rows)[0] if on == "inputs" else samples.targets(rows)
        if isinstance(values, np.ndarray):
            yield values
        else:
            yield from (value[np.newaxis] for value in values)


def _blocks(samples: Samples) -> Iterator[NDArray[Any]]:
    if isinstance(samples.stream, SampleStream):
        yield from StreamBatchSampler(samples.stream, _FITTED_AT_ONCE)
        return
    for start in range(0, len(samples), _FITTED_AT_ONCE):
        yield np.arange(start, min(start + _FITTED_AT_ONCE, len(samples)))


class MappedSplits(Splits):
    """Splits with a transform applied to inputs or targets."""

    def __init__(self, splits: Splits, transform: Transform, on: Side = "inputs") -> None:
        self._splits = splits
        self._transform = transform
        self._on: Side = on
        self._changed = transform.spec(splits.input if on == "inputs" else splits.target)

    @property
    def input(self) -> Spec:
        return self._changed if self._on == "inputs" else self._splits.input

    @property
    def target(self) -> Spec:
        return self._changed if self._on == "targets" else self._splits.target

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
    def divisions(self) -> int:
        return self._splits.divisions

    @property
    def files(self) -> tuple[Path, ...]:
        return self._splits.files

    def diagnostics(self, *, whole: bool = False) -> tuple[Diagnostic, ...]:
        return self._splits.diagnostics(whole=whole)

    def unlabelled(self, path: Path) -> Samples | None:
        samples = self._splits.unlabelled(path)
        if samples is None or self._on == "targets":
            return samples
        return MappedSamples(samples, self._transform).with_augmentations(False)


class HeldOutSplits(Splits):
    """Samples of which a share is kept for validation. Subclasses give `samples`, classes and files.

    Args:
        input: what one input looks like
        target: what one target looks like
        validation: the share to keep
    """

    def __init__(self, input: Spec, target: Spec, validation: float) -> None:
        self._input = input
        self._target = target
        self._share = validation

    @property
    @abstractmethod
    def samples(self) -> Samples:
        """All of them."""

    @property
    def input(self) -> Spec:
        return self._input

    @property
    def target(self) -> Spec:
        return self._target

    @property
    def train(self) -> Samples:
        return train_validation_split(self.samples, self._share)[0]

    @property
    def validation(self) -> Samples | None:
        return train_validation_split(self.samples, self._share)[1]


def train_validation_split(samples: Samples, share: float) -> tuple[Samples, Samples | None]:
    """Samples to train with, and a share of them to validate with; None if there are none."""
    train, held = validation_split(len(samples), share)
    return (PickedSamples(samples, train), PickedSamples(samples, held)) if len(held) else (samples, None)


class ArraySplits(Splits):
    """Splits of arrays that a script has in memory.

    Args:
        train: inputs and targets, N×…
        validation: the same for validation, with samples of the same shape
    """

    def __init__(self, train: Arrays, validation: Arrays | None = None) -> None:
        inputs, targets = train
        self._input, self._target = (Spec(array.shape[1:], from_numpy(array.dtype)) for array in train)
        self._train = ArraySamples(*train)
        whole = np.issubdtype(targets.dtype, np.integer) and targets.ndim == 1
        self._classes = int(targets.max()) + 1 if whole and len(inputs) else None
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
