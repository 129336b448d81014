"""What all transforms have in common. They work on many samples at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.errors import ShapeError
from engine.shape import Shape, Spec, format_shape

Batch: TypeAlias = NDArray[Any] | list[NDArray[Any]]
"""Samples along the first dimension, N×…; a list of them where they differ in size."""


class Transform(ABC):
    """A function of samples that treats each alike. Subclasses give `apply` and `spec`."""

    classes: int | None = None
    """How many classes there are, if it makes class numbers of targets."""
    class_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """As it would be typed: each argument is kept as an attribute of its name."""
        values = {name: getattr(self, name) for name in signature(type(self)).parameters}
        shown = {name: plain(value) if isinstance(value, np.ndarray) else value for name, value in values.items()}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __call__(self, samples: Batch) -> Batch:
        """N×… → N×…, or a list of samples of different sizes → one array if they are equal afterwards, else a list."""
        return self.apply(samples) if isinstance(samples, np.ndarray) else apply_each(self.apply, samples)

    @abstractmethod
    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        """N×… → N×…; the samples given are not changed."""

    @abstractmethod
    def spec(self, sample: Spec) -> Spec:
        """What becomes of one sample of this shape and dtype. Raises ShapeError if it cannot be transformed.

        Sizes that differ from sample to sample are symbols.
        """


class Augmentation(Transform):
    """A transform that changes training samples at random. Called like others it leaves chance out: so validation goes.

    What becomes of a sample follows from it and `numbers` numbers of [0, 1), whatever other samples are beside it.
    """

    numbers: ClassVar[int]

    @abstractmethod
    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        """N×… → N×…, given N×`numbers` random numbers."""

    def vary(self, samples: Batch, numbers: NDArray[np.float64]) -> Batch:
        """`augment` for samples of equal or different sizes."""
        if isinstance(samples, np.ndarray):
            return self.augment(samples, numbers)
        rows = iter(numbers)
        return apply_each(lambda sample: self.augment(sample, next(rows)[np.newaxis]), samples)


class Fitted(Transform):
    """A transform with arguments that can be learned from training samples."""

    @classmethod
    @abstractmethod
    def fitted(cls, batches: Iterable[NDArray[Any]]) -> dict[str, Any]:
        """Arguments for the constructor, as plain numbers, from one pass over batches of samples, N×… each.

        Raises DataError if the samples leave nothing to learn.
        """


class Invertible(Transform):
    """A transform that can be undone."""

    @abstractmethod
    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        """N×… → N×…: what `apply` was given, up to rounding."""


def apply_each(function: Callable[[NDArray[Any]], NDArray[Any]], samples: Sequence[NDArray[Any]]) -> Batch:
    """A function of arrays applied to samples of different sizes, one by one; one array if all come out equal."""
    results = [function(sample[np.newaxis])[0] for sample in samples]
    return np.stack(results) if len({result.shape for result in results}) == 1 else results


def along_channels(name: str, numbers: NDArray[Any], sample: Shape) -> NDArray[Any]:
    """One number, or one for each channel, shaped so that it meets the first dimension of each sample."""
    if len(numbers) == 1:
        return numbers.reshape(())
    if not sample or sample[0] != len(numbers):
        raise ShapeError(
            f"{name} has numbers for {len(numbers)} channels, but samples are {format_shape(sample)}. "
            "Give one number, or one for each size of the first dimension."
        )
    return numbers.reshape(-1, *[1] * (len(sample) - 1))


def image_size(name: str, sample: Spec) -> tuple[Any, Any]:
    """Height and width of an image, C×H×W or H×W. Raises ShapeError for what is none."""
    if sample.ndim not in (2, 3):
        raise ShapeError(f"{name} needs images, C×H×W or H×W, but samples are {sample}.")
    return sample.shape[-2], sample.shape[-1]


def pair(size: int | tuple[int, ...]) -> tuple[int, int]:
    """Height and width, given both or one for both."""
    if isinstance(size, int):
        return size, size
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(f"a size is one number or height and width, not {size}")
    return size[0], size[1]


def vector(value: float | Sequence[float]) -> NDArray[np.float32]:
    return np.atleast_1d(np.asarray(value, np.float32))


def plain(numbers: NDArray[Any]) -> Any:
    """A number, or a tuple of them, as it would be typed."""
    return numbers.item() if numbers.size == 1 else tuple(numbers.tolist())
