"""Transforms made of others and of functions; for scripts, as a project file holds no code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.transform import Invertible, Transform
from engine.dtypes import from_numpy
from engine.shape import Spec


class Compose(Transform):
    """Transforms one after the other. `Splits.map` applies them as if each were given to it alone.

    Args:
        transforms: in the order of their application
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = tuple(transforms)

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        for transform in self.transforms:
            samples = transform.apply(samples)
        return samples

    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        """N×… → N×…: what `apply` was given, up to rounding. Raises TypeError if a part cannot be undone."""
        for transform in reversed(self.transforms):
            if not isinstance(transform, Invertible | Compose):
                raise TypeError(f"Compose: {type(transform).__name__} cannot be undone. Leave it out.")
            samples = transform.inverse(samples)
        return samples

    def spec(self, sample: Spec) -> Spec:
        for transform in self.transforms:
            sample = transform.spec(sample)
        return sample


class Lambda(Transform):
    """Any function of arrays of samples. Worker processes can only take it if it can be pickled.

    Args:
        function: N×… → N×…, treating each sample alike
        sample_spec: shape and dtype of one result; found by calling `function` with zeros unless given
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
            raise ValueError(f"Lambda: samples are {sample}, which can be of any size. Give it sample_spec.")
        shape = tuple(int(size) for size in sample.shape)  # pyright: ignore[reportArgumentType] - no size is symbolic
        result = self.apply(np.zeros((1, *shape), sample.dtype.numpy))
        return Spec(result.shape[1:], from_numpy(result.dtype))
