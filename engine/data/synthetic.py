"""Synthetic data sets: points, numbers and sequences. The same seed gives the same data."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.file_access import check_memory
from engine.data.samples import Arrays, ArraySamples, Samples
from engine.data.splits import HeldOutSplits, Share
from engine.dtypes import float32, float64, int64
from engine.errors import DataError
from engine.ops.matrix_products import matrix_product
from engine.random import Generator
from engine.registry import DATASETS, NonNegative, Range, Seed, Size
from engine.shape import Shape, Spec, count

Classes = Annotated[int, Range(ge=2, le=1_000_000)]


class Synthetic(HeldOutSplits):
    """Base class of synthetic data sets. Subclasses implement `_draw`.

    Args:
        input: shape of an input, float32
        classes: number of classes; None for regression with one number
        samples: number of samples
        seed: random seed
        validation: fraction of the samples used for validation
    """

    def __init__(self, input: Shape, classes: int | None, samples: int, seed: int, validation: float) -> None:
        target = Spec((1,), float32) if classes is None else Spec((), int64)
        super().__init__(Spec(input, float32), target, validation)
        self._classes = classes
        self._count = samples
        self._seed = seed

    @abstractmethod
    def _draw(self, count: int, random: Generator) -> Arrays:
        """Inputs and targets, N×…, of any dtype."""

    @property
    def classes(self) -> int | None:
        return self._classes

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    @property
    def files(self) -> tuple[Path, ...]:
        return ()

    @property
    def samples(self) -> Samples:
        return ArraySamples(*self._drawn)

    def check(self) -> None:
        drawn = max(self._count, self._classes or 0) * count(self.input.shape)
        size = drawn * 8  # drawn in float64
        check_memory(type(self).__name__, size, "Decrease samples.")

    @cached_property
    def _drawn(self) -> Arrays:
        inputs, targets = self._draw(self._count, Generator(self._seed).fork(type(self).__name__))
        if self._classes is None:
            return inputs.astype(np.float32), targets.astype(np.float32).reshape(-1, 1)
        return inputs.astype(np.float32), targets.astype(np.int64)


@DATASETS.register(category="Synthetic", outputs=("samples",), tags=("plane", "2D", "toy", "classification"))
class Spirals(Synthetic):
    """Points on interleaved spirals, one per class. The classes are not linearly separable.

    Args:
        samples: number of points
        classes: number of spirals
        turns: turns of each spiral
        noise: standard deviation of the noise added to both coordinates; the spirals have radius 1
        seed: random seed of the points
        validation: fraction of the points used for validation
    """

    def __init__(
        self,
        samples: Size = 1000,
        classes: Classes = 2,
        turns: Annotated[float, Range(gt=0)] = 1.5,
        noise: NonNegative = 0.02,
        seed: Seed = 0,
        validation: Share = 0.2,
    ) -> None:
        super().__init__((2,), classes, samples, seed, validation)
        self._arms = classes
        self._turns = turns
        self._noise = noise

    def _draw(self, count: int, random: Generator) -> Arrays:
        labels = np.arange(count) % self._arms
        radius = np.sqrt(random.uniform(count, float64))  # uniform density along the spiral
        angle = 2 * np.pi * (radius * self._turns + labels / self._arms)
        return _around(radius, angle) + random.normal((count, 2), float64, std=self._noise), labels


@DATASETS.register(category="Synthetic", outputs=("samples",), tags=("plane", "2D", "toy", "two moons", "make_moons"))
class Moons(Synthetic):
    """Points on two interleaved half circles.

    Args:
        samples: number of points
        noise: standard deviation of the noise added to both coordinates; the half circles have radius 1
        seed: random seed of the points
        validation: fraction of the points used for validation
    """

    def __init__(self, samples: Size = 1000, noise: NonNegative = 0.1, seed: Seed = 0, validation: Share = 0.2) -> None:
        super().__init__((2,), 2, samples, seed, validation)
        self._noise = noise

    def _draw(self, count: int, random: Generator) -> Arrays:
        labels = np.arange(count) % 2
        points = _around(np.ones(count), np.pi * random.uniform(count, float64))
        lower = labels == 1
        points[lower] = np.array([1.0, 0.5]) - points[lower]
        return points + random.normal((count, 2), float64, std=self._noise), labels


@DATASETS.register(category="Synthetic", outputs=("samples",), tags=("plane", "2D", "toy", "rings", "make_circles"))
class Circles(Synthetic):
    """Points on concentric circles, one per class.

    Args:
        samples: number of points
        classes: number of circles; the outermost has radius 1
        noise: standard deviation of the noise added to both coordinates
        seed: random seed of the points
        validation: fraction of the points used for validation
    """

    def __init__(
        self,
        samples: Size = 1000,
        classes: Classes = 2,
        noise: NonNegative = 0.05,
        seed: Seed = 0,
        validation: Share = 0.2,
    ) -> None:
        super().__init__((2,), classes, samples, seed, validation)
        self._rings = classes
        self._noise = noise

    def _draw(self, count: int, random: Generator) -> Arrays:
        labels = np.arange(count) % self._rings
        points = _around((labels + 1) / self._rings, 2 * np.pi * random.uniform(count, float64))
        return points + random.normal((count, 2), float64, std=self._noise), labels


@DATASETS.register(category="Synthetic", outputs=("samples",), tags=("clusters", "toy", "Gaussian", "make_blobs"))
class Blobs(Synthetic):
    """Gaussian clusters, one per class, with centers drawn uniformly from -1 to 1.

    Args:
        samples: number of points
        classes: number of clusters
        features: coordinates per point
        spread: standard deviation of each cluster
        seed: random seed of centers and points
        validation: fraction of the points used for validation
    """

    def __init__(
        self,
        samples: Size = 1000,
        classes: Classes = 3,
        features: Size = 2,
        spread: NonNegative = 0.15,
        seed: Seed = 0,
        validation: Share = 0.2,
    ) -> None:
        super().__init__((features,), classes, samples, seed, validation)
        self._clusters = classes
        self._features = features
        self._spread = spread

    def _draw(self, count: int, random: Generator) -> Arrays:
        labels = np.arange(count) % self._clusters
        middles = random.uniform((self._clusters, self._features), float64, -1, 1)
        return middles[labels] + random.normal((count, self._features), float64, std=self._spread), labels


@DATASETS.register(
    category="Synthetic", outputs=("samples",), tags=("numbers", "toy", "Friedman", "linear", "make_regression")
)
class Regression(Synthetic):
    """Regression of a weighted sum, a sum of sines, or Friedman's function.

    Only the first five features enter Friedman's function. Source: J. Friedman, "Multivariate Adaptive Regression
    Splines", 1991.

    Args:
        samples: number of samples
        features: features per sample
        function: function that computes the target from the features
        noise: standard deviation of the noise added to the target
        seed: random seed of samples and weights
        validation: fraction of the samples used for validation
    """

    def __init__(
        self,
        samples: Size = 1000,
        features: Size = 5,
        function: Literal["linear", "sines", "friedman"] = "linear",
        noise: NonNegative = 0.1,
        seed: Seed = 0,
        validation: Share = 0.2,
    ) -> None:
        if function == "friedman" and features < 5:
            raise DataError(f"Regression: Friedman's function needs 5 features, not {features}. Set features to 5.")
        super().__init__((features,), None, samples, seed, validation)
        self._features = features
        self._function = function
        self._noise = noise

    def _draw(self, count: int, random: Generator) -> Arrays:
        weights = random.normal(self._features, float64)
        if self._function == "friedman":
            x = random.uniform((count, self._features), float64)
            y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
        else:
            x = random.uniform((count, self._features), float64, -1, 1)
            y = matrix_product(np, np.sin(np.pi * x) if self._function == "sines" else x, weights)
        return x, y + random.normal(count, float64, std=self._noise)


@DATASETS.register(
    category="Synthetic", outputs=("samples",), tags=("recurrent", "time series", "memory", "adding problem", "parity")
)
class Sequences(Synthetic):
    """Sequence tasks that need memory: the adding problem, the parity of bits, or the next value of a noisy sine.

    Adding problem: S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory", 1997. Inputs are T×2: numbers, and marks of
    the two numbers to add. Parity has T×1 bits and two classes; the sine has T×1 numbers and a number as target.

    Args:
        samples: number of sequences
        length: steps per sequence
        task: target of a sequence: sum of the marked numbers, parity, or next value of the sine
        noise: standard deviation of the noise added to the sine
        seed: random seed of the sequences
        validation: fraction of the sequences used for validation
    """

    def __init__(
        self,
        samples: Size = 1000,
        length: Annotated[int, Range(ge=2)] = 20,
        task: Literal["sum", "parity", "sine"] = "sum",
        noise: NonNegative = 0.05,
        seed: Seed = 0,
        validation: Share = 0.2,
    ) -> None:
        width = 2 if task == "sum" else 1
        super().__init__((length, width), 2 if task == "parity" else None, samples, seed, validation)
        self._length = length
        self._task = task
        self._noise = noise

    def _draw(self, count: int, random: Generator) -> Arrays:
        if self._task == "parity":
            bits = random.integers(0, 2, (count, self._length, 1))
            return bits, bits.sum((1, 2)) % 2
        if self._task == "sum":
            return self._sums(count, random)
        period, phase = random.uniform((count, 1), float64, 5, 20), random.uniform((count, 1), float64)
        wave = np.sin(2 * np.pi * (np.arange(self._length + 1) / period + phase))
        noisy = wave[:, :-1] + random.normal((count, self._length), float64, std=self._noise)
        return noisy[:, :, np.newaxis], wave[:, -1]

    def _sums(self, count: int, random: Generator) -> Arrays:
        numbers = random.uniform((count, self._length), float64)
        marked = np.argsort(random.uniform((count, self._length), float64), axis=1)[:, :2]
        marks = np.zeros_like(numbers)
        np.put_along_axis(marks, marked, 1, 1)
        return np.stack([numbers, marks], -1), (numbers * marks).sum(1)


def _around(radius: NDArray[Any], angle: NDArray[Any]) -> NDArray[Any]:
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
