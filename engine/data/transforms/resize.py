"""Resizing of images."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Resampling

from engine.data.transforms.pillow_images import map_images
from engine.data.transforms.transform import Transform, image_size, pair
from engine.registry import TRANSFORMS, Size
from engine.shape import Dim, Spec

Interpolation: TypeAlias = Literal["nearest", "bilinear", "bicubic", "area"]

FILTERS = {
    "nearest": Resampling.NEAREST,
    "bilinear": Resampling.BILINEAR,
    "bicubic": Resampling.BICUBIC,
    "area": Resampling.BOX,
}
"""Pillow's filters. All except nearest widen with the reduction (antialiasing)."""


@TRANSFORMS.register(category="Geometry", outputs=("samples",), tags=("scale", "thumbnail", "interpolate", "Pillow"))
class Resize(Transform):
    """Resize images with Pillow's antialiased resampling.

    Args:
        size: height and width; one number is the shorter side, and the aspect ratio is kept
        interpolation: resampling method; area averages pixels, for masks and strong reductions
    """

    def __init__(self, size: Size | tuple[Size, Size] = (32, 32), interpolation: Interpolation = "bilinear") -> None:
        self.size = size
        self.interpolation: Interpolation = interpolation
        pair(size)

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        height, width = self._sizes(*samples.shape[-2:])
        return resized(samples, (int(height), int(width)), self.interpolation)

    def spec(self, sample: Spec) -> Spec:
        height, width = image_size("Resize", sample)
        return sample.with_shape((*sample.shape[:-2], *self._sizes(height, width)))

    def _sizes(self, height: Any, width: Any) -> tuple[Any, Any]:
        if not isinstance(self.size, int):
            return pair(self.size)
        if isinstance(height, Dim) or isinstance(width, Dim):
            return Dim("H"), Dim("W")  # which side is the shorter one differs from image to image
        shorter = min(height, width)
        return int(self.size * height / shorter), int(self.size * width / shorter)


def resized(
    images: NDArray[Any],
    size: tuple[int, int],
    interpolation: Interpolation,
    boxes: NDArray[np.int64] | None = None,
) -> NDArray[Any]:
    """Resize images, or one box of each (left, top, right, bottom), to (height, width)."""
    if boxes is None and images.shape[-2:] == size:
        return images.copy()
    filter, (height, width) = FILTERS[interpolation], size
    if boxes is None:
        return map_images(images, size, lambda image, _: image.resize((width, height), filter))
    result = np.empty((*images.shape[:-2], *size), images.dtype)
    for row, (left, top, right, bottom) in enumerate(boxes.tolist()):
        part = images[row : row + 1, ..., top:bottom, left:right]
        result[row] = map_images(part, size, lambda image, _: image.resize((width, height), filter))[0]
    return result
