"""Split samples into training and validation data: hold-out and k-fold."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from engine.data.dataset import Indices
from engine.data.diagnostics import Diagnostic
from engine.data.samples import JoinedSamples, PickedSamples, Samples, validation_count
from engine.data.splits import Share, Splits
from engine.errors import DataError
from engine.random import Generator
from engine.registry import DATASETS, Count, Range, Seed
from engine.shape import Spec

MAX_SPLITS = 8
"""Maximum number of consecutive splits. Only the last has an effect, and each doubles the number of sources to read."""


class Resplit(Splits):
    """Splits the training and validation samples of other splits again. Subclasses implement `_validation_indices`."""

    def __init__(self, splits: Splits, seed: int) -> None:
        if splits.is_stream:
            raise DataError(
                "a stream cannot be split because its number of samples is unknown. Set validation in its data "
                "source, or turn stream off."
            )
        if splits.split_depth == MAX_SPLITS:
            raise DataError(
                f"samples are split more than {MAX_SPLITS} times in a row, but only the last split has an effect. "
                "Remove the earlier splits."
            )
        self._splits = splits
        self._seed = seed

    @abstractmethod
    def _validation_indices(self) -> Indices:
        """Indices of the validation samples."""

    @property
    def input(self) -> Spec:
        return self._splits.input

    @property
    def target(self) -> Spec:
        return self._splits.target

    @property
    def classes(self) -> int | None:
        return self._splits.classes

    @property
    def class_names(self) -> tuple[str, ...]:
        return self._splits.class_names

    @property
    def train(self) -> Samples:
        validation, samples = self._validation_rows, self._all_samples
        return PickedSamples(samples, np.setdiff1d(np.arange(len(samples)), validation))

    @property
    def validation(self) -> Samples | None:
        validation = self._validation_rows
        return PickedSamples(self._all_samples, validation).with_augmentations(False) if len(validation) else None

    @property
    def discontinuity(self) -> str:
        return "they are split at random"

    @property
    def split_depth(self) -> int:
        return self._splits.split_depth + 1

    @property
    def files(self) -> tuple[Path, ...]:
        return self._splits.files

    def diagnostics(self, *, read_all: bool = False) -> tuple[Diagnostic, ...]:
        return self._splits.diagnostics(read_all=read_all)

    def unlabeled(self, path: Path) -> Samples | None:
        return self._splits.unlabeled(path)

    @cached_property
    def _all_samples(self) -> Samples:
        validation = self._splits.validation
        parts = [self._splits.train] if validation is None else [self._splits.train, validation]
        return JoinedSamples([part.with_augmentations(True) for part in parts])

    @cached_property
    def _validation_rows(self) -> Indices:
        validation = np.sort(self._validation_indices())
        if len(validation) == len(self._all_samples):
            raise DataError(
                f"all {len(validation)} samples would be validation samples, with none left for training. Add samples."
            )
        return validation

    def _order(self) -> Indices:
        return Generator(self._seed).fork("division").permutation(len(self._all_samples))


@DATASETS.register(
    category="Splits",
    title="Hold-out split",
    outputs=("samples",),
    tags=("split", "train test split", "stratify"),
)
class HoldOut(Resplit):
    """Split all samples at random into training and validation samples, replacing an earlier split.

    Args:
        splits: samples to split, including earlier validation samples
        validation: fraction of the samples used for validation
        seed: random seed of the split
        stratify: keep the class proportions in both parts; the targets must be classes
    """

    def __init__(self, splits: Splits, validation: Share = 0.2, seed: Seed = 0, stratify: bool = False) -> None:
        super().__init__(splits, seed)
        self._share = validation
        self._stratify = stratify

    def _validation_indices(self) -> Indices:
        order = self._order()
        if self._share and len(order) < 2:
            raise DataError("1 sample cannot be split. Add samples, or set validation to 0.")
        if not self._stratify:
            return order[: validation_count(len(order), self._share)]
        if self.classes is None:
            raise DataError(f"stratify needs classes, but targets are {self.target}. Turn stratify off.")
        classes = np.asarray(self._all_samples.targets(order))
        groups = [order[classes == number] for number in np.unique(classes)]
        return np.concatenate([group[: validation_count(len(group), self._share)] for group in groups])


@DATASETS.register(
    category="Splits",
    title="K-fold split",
    outputs=("samples",),
    tags=("split", "cross-validation", "KFold", "validation"),
)
class KFold(Resplit):
    """Split all samples into k folds for cross-validation. One fold is the validation data.

    Train once per fold to validate on every sample once.

    Args:
        splits: samples to split, including earlier validation samples
        folds: number of folds
        fold: index of the validation fold, from 0; wraps around after the last fold
        seed: random seed of the folds
    """

    def __init__(self, splits: Splits, folds: Annotated[int, Range(ge=2)] = 5, fold: Count = 0, seed: Seed = 0) -> None:
        super().__init__(splits, seed)
        self._folds = folds
        self._fold = fold % folds

    def _validation_indices(self) -> Indices:
        order = self._order()
        if len(order) < self._folds:
            raise DataError(f"{len(order)} samples do not fill {self._folds} folds. Set folds to at most {len(order)}.")
        return np.array_split(order, self._folds)[self._fold]
