"""Transforms composed of other transforms or functions. For scripts only: project files contain no code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.transform import Invertible, Transform
from engine.dtypes import from_numpy
from engine.shape import Spec


class Compose(Transform):
    """Apply several transforms in order. `Splits.map` applies each of them separately.

    Args:
        transforms: transforms in the order of application
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = tuple(transforms)

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        for transform in self.transforms:
            samples = transform.apply(samples)
        return samples

    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        """N×… → N×…: the inverse of `apply`, up to rounding. Raises TypeError if a transform has no inverse."""
        for transform in reversed(self.transforms):
            if not isinstance(transform, Invertible | Compose):
                raise TypeError(f"Compose: {type(transform).__name__} has no inverse. Remove it.")
            samples = transform.inverse(samples)
        return samples

    def spec(self, sample: Spec) -> Spec:
        for transform in self.transforms:
            sample = transform.spec(sample)
        return sample


class Lambda(Transform):
    """Apply any function to arrays of samples. Worker processes need a picklable function.

    Args:
        function: N×… → N×…, applied to each sample independently
        sample_spec: shape and dtype of one result; found by calling `function` with zeros if None
    """

    def __init__(self, function: Callable[[NDArray[Any]], NDArray[Any]], sample_spec: Spec | None = None) -> None:
        self.function = function
        self.sample_spec = sample_spec

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.function(samples))

    def spec(self, sample: Spec) -> Spec:
        if self.sample_spec is not None:
            return self.sample_spec
        if sample.is_open:
            raise ValueError(f"Lambda: samples are {sample} with sizes that vary. Set sample_spec.")
        shape = tuple(int(size) for size in sample.shape)  # pyright: ignore[reportArgumentType] - no size is symbolic
        result = self.apply(np.zeros((1, *shape), sample.dtype.numpy))
        return Spec(result.shape[1:], from_numpy(result.dtype))
