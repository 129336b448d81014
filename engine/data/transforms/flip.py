"""Mirror images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.transform import Augmentation, image_size
from engine.registry import TRANSFORMS, Probability
from engine.shape import Spec


@TRANSFORMS.register(
    category="Augmentation", title="Random horizontal flip", outputs=("samples",), tags=("mirror", "left right")
)
class RandomHorizontalFlip(Augmentation):
    """Some of the images with left and right exchanged; in validation none.

    Args:
        p: how likely an image is flipped
    """

    numbers = 1

    def __init__(self, p: Probability = 0.5) -> None:
        self.p = p

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        return _flipped(samples, numbers[:, 0] < self.p, -1)

    def spec(self, sample: Spec) -> Spec:
        image_size("RandomHorizontalFlip", sample)
        return sample


@TRANSFORMS.register(
    category="Augmentation", title="Random vertical flip", outputs=("samples",), tags=("mirror", "up down")
)
class RandomVerticalFlip(Augmentation):
    """Some of the images upside down; in validation none.

    Args:
        p: how likely an image is flipped
    """

    numbers = 1

    def __init__(self, p: Probability = 0.5) -> None:
        self.p = p

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        return _flipped(samples, numbers[:, 0] < self.p, -2)

    def spec(self, sample: Spec) -> Spec:
        image_size("RandomVerticalFlip", sample)
        return sample


def _flipped(samples: NDArray[Any], chosen: NDArray[np.bool_], axis: int) -> NDArray[Any]:
    result = samples.copy()
    result[chosen] = np.flip(samples[chosen], axis)
    return result
