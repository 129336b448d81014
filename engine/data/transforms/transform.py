"""Base classes of transforms, which work on many samples at once."""

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
"""An array N×…, or a list of arrays for samples of different sizes."""


class Transform(ABC):
    """A function applied to each sample independently. Subclasses implement `apply` and `spec`."""

    classes: int | None = None
    """Number of classes if the transform turns targets into class numbers."""
    class_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The constructor call. Each argument is stored in an attribute of the same name."""
        values = {name: getattr(self, name) for name in signature(type(self)).parameters}
        shown = {name: plain(value) if isinstance(value, np.ndarray) else value for name, value in values.items()}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __call__(self, samples: Batch) -> Batch:
        """N×… → N×…; a list → one array if the results have equal sizes, else a list."""
        return self.apply(samples) if isinstance(samples, np.ndarray) else apply_each(self.apply, samples)

    @abstractmethod
    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        """N×… → N×…; does not change `samples` in place."""

    @abstractmethod
    def spec(self, sample: Spec) -> Spec:
        """Shape and dtype of a transformed sample. Raises ShapeError for an unsupported shape.

        Sizes that differ between samples are symbolic.
        """


class Augmentation(Transform):
    """A random transform of training samples. `__call__` is its deterministic form for validation.

    The result depends only on the sample and `numbers` random numbers in [0, 1), not on the other samples of the batch.
    """

    numbers: ClassVar[int]

    @abstractmethod
    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        """N×… → N×…, given N×`numbers` random numbers."""

    def vary(self, samples: Batch, numbers: NDArray[np.float64]) -> Batch:
        """`augment` for an array, or for a list of samples of different sizes."""
        if isinstance(samples, np.ndarray):
            return self.augment(samples, numbers)
        rows = iter(numbers)
        return apply_each(lambda sample: self.augment(sample, next(rows)[np.newaxis]), samples)


class Fitted(Transform):
    """A transform whose arguments can be computed from the training samples."""

    options: ClassVar[tuple[str, ...]] = ()
    """Names of the arguments that say how the others are computed."""

    @classmethod
    @abstractmethod
    def fitted(cls, batches: Iterable[NDArray[Any]], **options: Any) -> dict[str, Any]:
        """Constructor arguments computed in one pass over batches of samples, N×… each.

        Args:
            batches: training samples
            options: values of `options`; defaults for those left out

        Raises DataError if there are no samples.
        """


class Invertible(Transform):
    """A transform with an inverse."""

    @abstractmethod
    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        """N×… → N×…: the inverse of `apply`, up to rounding."""


def apply_each(function: Callable[[NDArray[Any]], NDArray[Any]], samples: Sequence[NDArray[Any]]) -> Batch:
    """Apply a function to samples of different sizes one by one; one array if the results have equal shapes."""
    results = [function(sample[np.newaxis])[0] for sample in samples]
    return np.stack(results) if len({result.shape for result in results}) == 1 else results


def along_channels(name: str, numbers: NDArray[Any], sample: Shape) -> NDArray[Any]:
    """One number, or one per channel reshaped to broadcast along the first dimension of each sample."""
    if len(numbers) == 1:
        return numbers.reshape(())
    if not sample or sample[0] != len(numbers):
        raise ShapeError(
            f"{name} has numbers for {len(numbers)} channels, but samples are {format_shape(sample)}. "
            "Give one number, or one per channel (the first dimension)."
        )
    return numbers.reshape(-1, *[1] * (len(sample) - 1))


def image_size(name: str, sample: Spec) -> tuple[Any, Any]:
    """Height and width of an image, C×H×W or H×W. Raises ShapeError for another number of dimensions."""
    if sample.ndim not in (2, 3):
        raise ShapeError(f"{name} needs images, C×H×W or H×W, but samples are {sample}.")
    return sample.shape[-2], sample.shape[-1]


def pair(size: int | tuple[int, ...]) -> tuple[int, int]:
    """(height, width) of a size given as one number or two."""
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
    """A Python number, or a tuple of numbers."""
    return numbers.item() if numbers.size == 1 else tuple(numbers.tolist())
