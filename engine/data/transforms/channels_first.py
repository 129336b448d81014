"""Layout of image channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.transform import Transform
from engine.errors import ShapeError
from engine.registry import TRANSFORMS
from engine.shape import Spec


@TRANSFORMS.register(
    category="Geometry", title="Channels first", outputs=("samples",), tags=("permute", "HWC", "CHW", "transpose")
)
class ChannelsFirst(Transform):
    """Convert images from H×W×C to C×H×W, the layout of the layers. Grayscale images, H×W, get one channel."""

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples[:, np.newaxis].copy() if samples.ndim == 3 else np.ascontiguousarray(np.moveaxis(samples, -1, 1))

    def spec(self, sample: Spec) -> Spec:
        if sample.ndim not in (2, 3):
            raise ShapeError(f"ChannelsFirst needs images, H×W×C or H×W, but samples are {sample}.")
        return sample.with_shape((1, *sample.shape) if sample.ndim == 2 else (sample.shape[2], *sample.shape[:2]))
