"""Samples that lie in arrays: taken, transformed and batched many at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.creation.data import from_array
from engine.data.dataset import Dataset, Indices
from engine.data.transforms import Transform
from engine.random import Generator
from engine.tensor import Tensor

Arrays: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


class Samples(Dataset):
    """Pairs of input and target. Subclasses give `__len__` and `arrays`."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def arrays(self, rows: Indices) -> Arrays:
        """Inputs and targets of these rows, along the first dimension, in memory that nobody else keeps."""

    def batch(self, indices: Indices) -> list[Tensor]:
        return [from_array(np.ascontiguousarray(array)) for array in self.arrays(indices)]

    def __getitem__(self, index: Any) -> tuple[Tensor, Tensor]:
        row = range(len(self))[index]
        inputs, targets = self.batch(np.array([row]))
        return inputs[0], targets[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        inputs, targets = self.batch(np.asarray(indices, np.int64))
        return [(inputs[row], targets[row]) for row in range(len(indices))]


class ArraySamples(Samples):
    """Rows of two arrays, in memory or mapped from a file.

    Args:
        inputs: N×…
        targets: N×…
        rows: the rows that count, in this order; all unless given
    """

    def __init__(self, inputs: NDArray[Any], targets: NDArray[Any], rows: Indices | None = None) -> None:
        if len(inputs) != len(targets):
            raise ValueError(f"there are {len(inputs)} inputs but {len(targets)} targets; each needs the other")
        self.inputs = inputs
        self.targets = targets
        self.rows = rows

    def __len__(self) -> int:
        return len(self.inputs if self.rows is None else self.rows)

    def arrays(self, rows: Indices) -> Arrays:
        if self.rows is not None:
            rows = self.rows[rows]
        return _taken(self.inputs, rows), _taken(self.targets, rows)


class MappedSamples(Samples):
    """Samples with a transform applied to their inputs, batch by batch as they are asked for."""

    def __init__(self, samples: Samples, transform: Transform) -> None:
        self.samples = samples
        self.transform = transform

    def __len__(self) -> int:
        return len(self.samples)

    def arrays(self, rows: Indices) -> Arrays:
        inputs, targets = self.samples.arrays(rows)
        return self.transform(inputs), targets


def hold_out(count: int, share: float) -> tuple[Indices, Indices]:
    """Row numbers for training and for validation, drawn at random but always the same, whatever the run's seed.

    So runs with different seeds are measured on the same samples. At least one row is kept for training, and one for
    validation unless `share` is 0.
    """
    if not 0 <= share < 1:
        raise ValueError(f"the share of validation samples must be from 0 to below 1, not {share}")
    held = min(max(round(count * share), 1), count - 1) if share and count else 0
    order = Generator(0).fork("validation").permutation(count)
    return np.sort(order[held:]), np.sort(order[:held])


def _taken(array: NDArray[Any], rows: Indices) -> NDArray[Any]:
    """These rows, copied to memory in the machine's byte order."""
    taken = np.asarray(array[rows])
    return taken.astype(taken.dtype.newbyteorder("="), copy=False)
