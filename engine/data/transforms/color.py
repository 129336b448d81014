"""Color transforms of images."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.crop import check_range, scale_to_range
from engine.data.transforms.transform import Augmentation, Transform, image_size
from engine.errors import ShapeError
from engine.registry import TRANSFORMS, NonNegative, Probability, Range
from engine.shape import Dim, Spec

LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""Luma weights of red, green and blue (ITU-R BT.601)."""
_LUMA_16 = np.array([19595, 38470, 7471], np.uint32)
"""The same in 65,536ths, as Pillow computes with bytes."""


@TRANSFORMS.register(category="Color", outputs=("samples",), tags=("grey", "gray", "black and white", "luma"))
class Grayscale(Transform):
    """Convert color images, 3×H×W, to grayscale: ``0.299 R + 0.587 G + 0.114 B``. Grayscale images are unchanged.

    Args:
        channels: 1, or 3 equal channels for networks that expect color
    """

    def __init__(self, channels: Literal[1, 3] = 1) -> None:
        self.channels = channels

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        gray = samples if samples.shape[1] == 1 else _rounded_luma(samples)
        return np.repeat(gray, self.channels, 1)

    def spec(self, sample: Spec) -> Spec:
        _check_channels("Grayscale", sample)
        return sample.with_shape((self.channels, *sample.shape[1:]))


@TRANSFORMS.register(
    category="Augmentation",
    title="Color jitter",
    outputs=("samples",),
    tags=("brightness", "contrast", "saturation", "hue", "colour"),
)
class ColorJitter(Augmentation):
    """Change brightness, contrast, saturation and hue of training images at random, in this order.

    Integers use the range of their dtype, floating-point numbers the range 0 to 1. Grayscale images only change in
    brightness and contrast.

    Args:
        brightness: the brightness factor is drawn from 1 - brightness to 1 + brightness
        contrast: the contrast factor is drawn from 1 - contrast to 1 + contrast
        saturation: the saturation factor is drawn from 1 - saturation to 1 + saturation
        hue: maximum hue shift as a fraction of the color circle, in both directions
    """

    numbers = 4

    def __init__(
        self,
        brightness: NonNegative = 0.2,
        contrast: NonNegative = 0.2,
        saturation: NonNegative = 0.2,
        hue: Annotated[float, Range(ge=0, le=0.5)] = 0.0,
    ) -> None:
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.hue = hue

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        drawn = numbers.astype(np.float32)[:, :, np.newaxis, np.newaxis, np.newaxis]
        is_integer = samples.dtype.kind in "iu"
        top = np.float32(np.iinfo(samples.dtype).max if is_integer else 1)
        images = samples.astype(np.float32)
        images /= top
        if self.brightness:
            images = np.clip(images * _factor(self.brightness, drawn[:, 0]), 0, 1)
        if self.contrast:
            mean = luma(images).mean((1, 2, 3), keepdims=True)
            images = _blend(images, mean, _factor(self.contrast, drawn[:, 1]))
        if self.saturation and images.shape[1] == 3:
            images = _blend(images, luma(images), _factor(self.saturation, drawn[:, 2]))
        if self.hue and images.shape[1] == 3:
            images = rotate_hue(images, scale_to_range((-self.hue, self.hue), drawn[:, 3, 0]).astype(np.float32))
        images *= top
        return (np.rint(images) if is_integer else images).astype(samples.dtype)

    def spec(self, sample: Spec) -> Spec:
        _check_channels("ColorJitter", sample)
        return sample


@TRANSFORMS.register(
    category="Augmentation", title="Random erasing", outputs=("samples",), tags=("cutout", "occlusion", "mask")
)
class RandomErasing(Augmentation):
    """Fill a random rectangle of training images.

    Source: Z. Zhong et al., "Random Erasing Data Augmentation", 2017. Rectangles are clipped to the image.

    Args:
        p: probability of a rectangle
        scale: minimum and maximum area as a fraction of the image area
        ratio: minimum and maximum aspect ratio, height / width
        value: fill value
    """

    numbers = 5

    def __init__(
        self,
        p: Probability = 0.5,
        scale: tuple[Probability, Probability] = (0.02, 0.33),
        ratio: tuple[Annotated[float, Range(gt=0)], Annotated[float, Range(gt=0)]] = (0.3, 3.3),
        value: float = 0.0,
    ) -> None:
        self.p = p
        self.scale = check_range("RandomErasing", "scale", scale)
        self.ratio = check_range("RandomErasing", "ratio", ratio)
        self.value = value

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        height, width = samples.shape[-2:]
        area = scale_to_range(self.scale, numbers[:, 1]) * height * width
        ratio = np.exp(scale_to_range((np.log(self.ratio[0]), np.log(self.ratio[1])), numbers[:, 2]))
        tall = np.clip(np.rint(np.sqrt(area * ratio)), 1, height)
        wide = np.clip(np.rint(np.sqrt(area / ratio)), 1, width)
        top, left = np.floor(numbers[:, 3] * (height - tall + 1)), np.floor(numbers[:, 4] * (width - wide + 1))
        rows, columns = _range_mask(np.arange(height), top, tall), _range_mask(np.arange(width), left, wide)
        erased = (numbers[:, 0] < self.p)[:, np.newaxis, np.newaxis] & rows[:, :, np.newaxis] & columns[:, np.newaxis]
        erased = erased if samples.ndim == 3 else erased[:, np.newaxis]
        return np.where(erased, np.asarray(self.value).astype(samples.dtype), samples)

    def spec(self, sample: Spec) -> Spec:
        image_size("RandomErasing", sample)
        return sample


def luma(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """N×3×H×W, or N×1×H×W, → N×1×H×W."""
    if images.shape[1] == 1:
        return images
    return LUMA[0] * images[:, :1] + LUMA[1] * images[:, 1:2] + LUMA[2] * images[:, 2:]


def rotate_hue(images: NDArray[np.float32], by: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotate the hue of RGB images in [0, 1], N×3×H×W, by a fraction of the color circle, N×1×1, through HSV."""
    value, low = images.max(1), images.min(1)
    spread = value - low
    divisor = np.where(spread > 0, spread, 1)
    red, green, blue = images[:, 0], images[:, 1], images[:, 2]
    hue = np.select(
        [value == red, value == green],
        [(green - blue) / divisor, 2 + (blue - red) / divisor],
        4 + (red - green) / divisor,
    )
    hue = (hue / 6 + by) % 1
    # Distance of each channel below the value (max): 0 in its third of the circle, the chroma in the opposite third.
    thirds = np.array([5, 3, 1], np.float32).reshape(1, 3, 1, 1)
    position = (thirds + 6 * hue[:, np.newaxis]) % 6
    below = np.clip(np.minimum(position, 4 - position), 0, 1).astype(np.float32)
    return (value[:, np.newaxis] - spread[:, np.newaxis] * below).astype(np.float32, copy=False)


def _rounded_luma(images: NDArray[Any]) -> NDArray[Any]:
    if images.dtype != np.uint8:
        gray = luma(images.astype(np.float32))
        return (np.rint(gray) if images.dtype.kind in "iu" else gray).astype(images.dtype)
    weighted = np.einsum("nchw,c->nhw", images.astype(np.uint32), _LUMA_16)
    return ((weighted + 0x8000) >> 16).astype(np.uint8)[:, np.newaxis]


def _blend(images: NDArray[Any], other: NDArray[Any], factor: NDArray[Any]) -> NDArray[Any]:
    return np.clip(factor * images + (1 - factor) * other, 0, 1)


def _factor(most: float, numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    return scale_to_range((max(1 - most, 0), 1 + most), numbers).astype(np.float32)


def _range_mask(
    indices: NDArray[np.int64], first: NDArray[np.float64], count: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """N×size mask of the indices within each row's range."""
    first = first[:, np.newaxis]
    return (indices >= first) & (indices < first + count[:, np.newaxis])


def _check_channels(name: str, sample: Spec) -> None:
    channels = sample.shape[0] if sample.ndim == 3 else None
    if not isinstance(channels, Dim) and channels not in (1, 3):
        raise ShapeError(f"{name} needs images of 1 or 3 channels, C×H×W, but samples are {sample}.")
