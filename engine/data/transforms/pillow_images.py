"""Pillow's operations on arrays: images by samples and channels, of any number of channels and any dtype."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MODES = {1: "L", 3: "RGB", 4: "RGBX"}
"""How Pillow takes bytes of so many channels in one go; others it takes channel by channel."""

Change = Callable[[Image.Image, int], Image.Image]
"""From an image and the number of its sample to another image."""


def map_images(images: NDArray[Any], size: tuple[int, int], change: Change) -> NDArray[Any]:
    """N×C×H×W or N×H×W → the same with other heights and widths. Bytes stay bytes, others are computed in float32.

    Args:
        images: of any dtype; whole numbers are rounded
        size: height and width that come out
        change: what is done to each image, of Pillow's mode L, RGB, RGBX or F
    """
    channels = math.prod(images.shape[1:-2])
    flat = images.reshape(len(images), channels, *images.shape[-2:])
    result = np.empty((len(images), channels, *size), images.dtype)
    if images.dtype == np.uint8 and channels in MODES:
        for number, image in enumerate(flat):
            source = image[0] if channels == 1 else np.ascontiguousarray(np.moveaxis(image, 0, -1))
            made = np.asarray(change(Image.fromarray(source, MODES[channels]), number))
            result[number] = made if channels == 1 else np.moveaxis(made, -1, 0)
    else:
        mode, dtype = ("L", np.uint8) if images.dtype == np.uint8 else ("F", np.float32)
        for number, image in enumerate(flat):
            for channel, plane in enumerate(image):
                made = np.asarray(change(Image.fromarray(plane.astype(dtype), mode), number))
                result[number, channel] = made if dtype == np.uint8 else _rounded(made, images.dtype)
    return result.reshape(*images.shape[:-2], *size)


def _rounded(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values.astype(np.float64)), limits.min, limits.max).astype(dtype)
