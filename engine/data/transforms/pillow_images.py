"""Apply Pillow operations to arrays of images with any number of channels and any dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MODES = {1: "L", 3: "RGB", 4: "RGBX"}
"""Pillow mode by number of uint8 channels. Other images are processed channel by channel."""

ImageOperation = Callable[[Image.Image, int], Image.Image]
"""(image, sample index) → result."""


def map_images(images: NDArray[Any], size: tuple[int, int], operation: ImageOperation) -> NDArray[Any]:
    """Apply a Pillow operation to N×C×H×W or N×H×W images. uint8 stays uint8; other dtypes compute in float32.

    Args:
        images: images of any dtype; results of integer images are rounded
        size: height and width of the results
        operation: operation on a Pillow image of mode L, RGB, RGBX or F
    """
    channels = math.prod(images.shape[1:-2])
    flat = images.reshape(len(images), channels, *images.shape[-2:])
    result = np.empty((len(images), channels, *size), images.dtype)
    if images.dtype == np.uint8 and channels in MODES:
        for number, image in enumerate(flat):
            source = image[0] if channels == 1 else np.ascontiguousarray(np.moveaxis(image, 0, -1))
            changed = np.asarray(operation(Image.fromarray(source, MODES[channels]), number))
            result[number] = changed if channels == 1 else np.moveaxis(changed, -1, 0)
    else:
        mode, dtype = ("L", np.uint8) if images.dtype == np.uint8 else ("F", np.float32)
        for number, image in enumerate(flat):
            for channel, plane in enumerate(image):
                changed = np.asarray(operation(Image.fromarray(plane.astype(dtype), mode), number))
                result[number, channel] = changed if dtype == np.uint8 else _rounded(changed, images.dtype)
    return result.reshape(*images.shape[:-2], *size)


def _rounded(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values.astype(np.float64)), limits.min, limits.max).astype(dtype)
