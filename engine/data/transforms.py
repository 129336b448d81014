"""What is done to samples on their way to a batch. Transforms work on many samples at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from engine.dtypes import float32
from engine.errors import ShapeError
from engine.registry import TRANSFORMS, Range
from engine.shape import Shape, Spec, format_shape


class Transform(ABC):
    """A function of an array of samples, N×…, that treats each sample alike."""

    @abstractmethod
    def __call__(self, samples: NDArray[Any]) -> NDArray[Any]: ...

    @abstractmethod
    def spec(self, sample: Spec) -> Spec:
        """What becomes of one sample of this shape and dtype. Raises ShapeError if it cannot be transformed."""


@TRANSFORMS.register(category="Scaling", outputs=("samples",), tags=("scale", "standardize", "divide", "rescale"))
class Normalize(Transform):
    """Subtract a mean and divide by a spread: ``(x - mean) / std``, as float32.

    One number is used for the whole sample; several are for its channels: the first dimension of an image, the
    columns of a table.

    Args:
        mean: what becomes 0, in the units of the data
        std: the distance from `mean` that becomes 1, in the units of the data
    """

    def __init__(
        self,
        mean: float | tuple[float, ...] = 0.0,
        std: Annotated[float, Range(gt=0)] | tuple[Annotated[float, Range(gt=0)], ...] = 1.0,
    ) -> None:
        self.mean = _numbers(mean)
        self.std = _numbers(std)
        if (self.std == 0).any():
            raise ValueError(f"Normalize: std must not be 0, but is {std}. Leave out the constant columns.")

    def __repr__(self) -> str:
        return f"Normalize(mean={_plain(self.mean)}, std={_plain(self.std)})"

    def __call__(self, samples: NDArray[Any]) -> NDArray[Any]:
        mean, std = (self._along(numbers, samples.shape[1:]) for numbers in (self.mean, self.std))
        # One float32 array is made and then changed in place, whatever the dtype of the samples.
        scaled = np.subtract(samples, mean, dtype=np.float32)
        scaled /= std
        return scaled

    def spec(self, sample: Spec) -> Spec:
        for numbers in (self.mean, self.std):
            self._along(numbers, sample.shape)
        return Spec(sample.shape, float32)

    def _along(self, numbers: NDArray[np.float32], sample: Shape) -> NDArray[np.float32]:
        """Shaped so that it meets the first dimension of each sample."""
        if len(numbers) == 1:
            return numbers.reshape(())
        if not sample or sample[0] != len(numbers):
            raise ShapeError(
                f"Normalize has numbers for {len(numbers)} channels, but samples are {format_shape(sample)}. "
                "Give one number, or one for each size of the first dimension."
            )
        return numbers.reshape(-1, *[1] * (len(sample) - 1))


def _numbers(value: float | Sequence[float]) -> NDArray[np.float32]:
    return np.atleast_1d(np.asarray(value, np.float32))


def _plain(numbers: NDArray[np.float32]) -> Any:
    return numbers.item() if len(numbers) == 1 else tuple(numbers.tolist())
