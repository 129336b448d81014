"""Random flips."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.transform import Augmentation, image_size
from engine.registry import TRANSFORMS, Probability
from engine.shape import Spec


class RandomFlip(Augmentation):
    """Flip images along `axis` with probability `p`.

    Args:
        p: probability of a flip
    """

    numbers = 1
    axis: ClassVar[int]

    def __init__(self, p: Probability = 0.5) -> None:
        self.p = p

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        chosen = numbers[:, 0] < self.p
        result = samples.copy()
        result[chosen] = np.flip(samples[chosen], self.axis)
        return result

    def spec(self, sample: Spec) -> Spec:
        image_size(type(self).__name__, sample)
        return sample


@TRANSFORMS.register(
    category="Augmentation", title="Random horizontal flip", outputs=("samples",), tags=("mirror", "left right")
)
class RandomHorizontalFlip(RandomFlip):
    """Flip training images left to right at random."""

    axis = -1


@TRANSFORMS.register(
    category="Augmentation", title="Random vertical flip", outputs=("samples",), tags=("mirror", "up down")
)
class RandomVerticalFlip(RandomFlip):
    """Flip training images upside down at random."""

    axis = -2
