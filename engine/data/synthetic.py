"""Data that are drawn, not read: points in the plane, numbers, sequences. The same seed gives the same data."""

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
from engine.random import Generator
from engine.registry import DATASETS, NonNegative, Range, Seed, Size
from engine.shape import Shape, Spec, count

Classes = Annotated[int, Range(ge=2, le=1_000_000)]


class Synthetic(HeldOutSplits):
    """Drawn samples. Subclasses give `_draw`.

    Args:
        input: shape of an input, of float32
        classes: how many classes there are; None to learn one number
        samples: how many are drawn
        seed: which are drawn
        validation: the share to keep for validation
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
        check_memory(type(self).__name__, size, "Make samples smaller.")

    @cached_property
    def _drawn(self) -> Arrays:
        inputs, targets = self._draw(self._count, Generator(self._seed).fork(type(self).__name__))
        if self._classes is None:
            return inputs.astype(np.float32), targets.astype(np.float32).reshape(-1, 1)
        return inputs.astype(np.float32), targets.astype(np.int64)


@DATASETS.register(category="Synthetic", outputs=("samples",), tags=("plane", "2D", "toy", "classification"))
class Spirals(Synthetic):
    """Points on spirals around each other, one for each class: no straight line tells them apart.

    Args:
        samples: how many points there are
        classes: how many spirals
        turns: how often each goes round
        noise: standard deviation of what is added to both coordinates, where a spiral has the radius 1
        seed: another number draws other points
        validation: the share of the points to keep for validation
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
        radius = np.sqrt(random.uniform(count, float64))  # as many points on a piece of spiral anywhere
        angle = 2 * np.pi * (radius * self._turns + labels / self._arms)
        return _around(radius, angle) + random.normal((count, 2), float64, std=self._noise), labels


@DATASETS.register(category="Synthetic", outputs=("samples",), tags=("plane", "2D", "toy", "two moons", "make_moons"))
class Moons(Synthetic):
    """Points on two half circles that reach into each other.

    Args:
        samples: how many points there are
        noise: standard deviation of what is added to both coordinates, where a half circle has the radius 1
        seed: another number draws other points
        validation: the share of the points to keep for validation
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
    """Points on circles inside each other, one for each class.

    Args:
        samples: how many points there are
        classes: how many circles; the outermost has the radius 1
        noise: standard deviation of what is added to both coordinates
        seed: another number draws other points
        validation: the share of the points to keep for validation
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
    """Normally distributed clusters, one for each class, around points drawn from -1 to 1.

    Args:
        samples: how many points there are
        classes: how many clusters
        features: how many coordinates a point has
        spread: standard deviation of each cluster
        seed: another number draws other clusters
        validation: the share of the points to keep for validation
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
    """A number to learn from several: a weighted sum, a sum of sines, or Friedman's function.

    Source of the last: J. Friedman, "Multivariate Adaptive Regression Splines", 1991, with five features that matter.

    Args:
        samples: how many there are
        features: how many numbers a sample has
        function: how the target follows from them
        noise: standard deviation of what is added to the target
        seed: another number draws other samples and weights
        validation: the share of the samples to keep for validation
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
            y = (np.sin(np.pi * x) if self._function == "sines" else x) @ weights
        return x, y + random.normal(count, float64, std=self._noise)


@DATASETS.register(
    category="Synthetic", outputs=("samples",), tags=("recurrent", "time series", "memory", "adding problem", "parity")
)
class Sequences(Synthetic):
    """Sequences that have to be remembered: the sum of two marked numbers, the parity of bits, or a sine that goes on.

    Source of the first: S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory", 1997: T×2 numbers, of which two are
    marked by a 1 beside them. Parity has T×1 bits and two classes; a noisy sine has T×1 numbers and its next one.

    Args:
        samples: how many sequences there are
        length: how many steps each has
        task: what is learned of them
        noise: standard deviation of what is added to sines
        seed: another number draws other sequences
        validation: the share of the sequences to keep for validation
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
