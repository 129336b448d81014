"""What a data source gives: training and validation samples, and what one of them looks like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated

import numpy as np

from engine.data.samples import Arrays, ArraySamples, MappedSamples, Samples
from engine.data.transforms import Transform
from engine.dtypes import from_numpy
from engine.registry import Range
from engine.shape import Spec

Share = Annotated[float, Range(ge=0, lt=1)]
"""A part of the samples."""


class Splits(ABC):
    """Training and validation samples. Making one reads no more than headers; samples are read when asked for."""

    @property
    @abstractmethod
    def input(self) -> Spec:
        """Shape and dtype of one sample's input."""

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
    def train(self) -> Samples: ...

    @property
    @abstractmethod
    def validation(self) -> Samples | None:
        """None if no samples are kept for validation."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the samples come from."""
        return ()

    def map(self, transform: Transform) -> Splits:
        """The same samples with a transform applied to their inputs."""
        return MappedSplits(self, transform)


class MappedSplits(Splits):
    """Splits with a transform applied to the inputs."""

    def __init__(self, splits: Splits, transform: Transform) -> None:
        self._splits = splits
        self._transform = transform
        self._input = transform.spec(splits.input)

    @property
    def input(self) -> Spec:
        return self._input

    @property
    def target(self) -> Spec:
        return self._splits.target

    @property
    def classes(self) -> int | None:
        return self._splits.classes

    @property
    def train(self) -> Samples:
        return MappedSamples(self._splits.train, self._transform)

    @property
    def validation(self) -> Samples | None:
        validation = self._splits.validation
        return None if validation is None else MappedSamples(validation, self._transform)

    @property
    def files(self) -> tuple[Path, ...]:
        return self._splits.files


class ArraySplits(Splits):
    """Splits of arrays that a script has in memory.

    Args:
        train: inputs and targets, N×…
        validation: the same for validation, with samples of the same shape
    """

    def __init__(self, train: Arrays, validation: Arrays | None = None) -> None:
        self._train = ArraySamples(*train)
        self._validation = None if validation is None else ArraySamples(*validation)

    @property
    def input(self) -> Spec:
        return Spec(self._train.inputs.shape[1:], from_numpy(self._train.inputs.dtype))

    @property
    def target(self) -> Spec:
        return Spec(self._train.targets.shape[1:], from_numpy(self._train.targets.dtype))

    @property
    def classes(self) -> int | None:
        targets = self._train.targets
        whole = np.issubdtype(targets.dtype, np.integer) and targets.ndim == 1
        return int(targets.max()) + 1 if whole and len(targets) else None

    @property
    def train(self) -> Samples:
        return self._train

    @property
    def validation(self) -> Samples | None:
        return self._validation
