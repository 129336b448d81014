"""Cropping and padding of images and sequences."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from engine.data.transforms.resize import Interpolation, resized
from engine.data.transforms.transform import Augmentation, Transform, image_size, pair
from engine.errors import ShapeError
from engine.registry import TRANSFORMS, Range, Size
from engine.shape import Spec

_ATTEMPTS = 10


@TRANSFORMS.register(category="Geometry", title="Center crop", outputs=("samples",), tags=("cut", "middle", "pad"))
class CenterCrop(Transform):
    """Crop the center of images. Smaller images are padded with zeros.

    Args:
        size: height and width, or one number for both
    """

    def __init__(self, size: Size | tuple[Size, Size] = 32) -> None:
        self.size = size
        pair(size)

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return center_crop(samples, *pair(self.size)).copy()

    def spec(self, sample: Spec) -> Spec:
        image_size("CenterCrop", sample)
        return sample.with_shape((*sample.shape[:-2], *pair(self.size)))


@TRANSFORMS.register(category="Augmentation", title="Random crop", outputs=("samples",), tags=("cut", "shift", "pad"))
class RandomCrop(Augmentation):
    """Crop training images at a random position; validation images at the center. Pads smaller images with zeros.

    With `size` equal to the image size, images are shifted by up to `padding` pixels.

    Args:
        size: height and width, or one number for both
        padding: zero padding added on each side before cropping, in pixels
    """

    numbers = 2

    def __init__(
        self, size: Size | tuple[Size, Size] = 32, padding: Annotated[int, Range(ge=0, le=10_000)] = 0
    ) -> None:
        self.size = size
        self.padding = padding
        pair(size)

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return center_crop(samples, *pair(self.size)).copy()

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        height, width = pair(self.size)
        down, right = (
            max(size - current, 0) for size, current in zip((height, width), samples.shape[-2:], strict=True)
        )
        samples = zero_pad(samples, *(self.padding + missing for missing in (down, down, right, right)))
        windows = sliding_window_view(samples, (height, width), axis=(-2, -1))  # pyright: ignore[reportCallIssue, reportArgumentType]
        window_counts = np.array(windows.shape[-4:-2])
        top, left = np.minimum((numbers * window_counts).astype(np.int64), window_counts - 1).T
        if samples.ndim == 3:
            return windows[np.arange(len(samples)), top, left]
        return windows[np.arange(len(samples)), :, top, left]

    def spec(self, sample: Spec) -> Spec:
        image_size("RandomCrop", sample)
        return sample.with_shape((*sample.shape[:-2], *pair(self.size)))


@TRANSFORMS.register(
    category="Augmentation", title="Random resized crop", outputs=("samples",), tags=("zoom", "Inception", "ImageNet")
)
class RandomResizedCrop(Augmentation):
    """Crop training images to a random box and resize it; validation images to the largest center box.

    Source: C. Szegedy et al., "Going Deeper with Convolutions", 2014, as in torchvision.

    Args:
        size: height and width of the result, or one number for both
        scale: minimum and maximum area of the box as a fraction of the image area
        ratio: minimum and maximum aspect ratio of the box, width / height
        interpolation: resampling method
    """

    numbers = 2 * _ATTEMPTS + 2

    def __init__(
        self,
        size: Size | tuple[Size, Size] = 224,
        scale: tuple[Annotated[float, Range(gt=0, le=1)], Annotated[float, Range(gt=0, le=1)]] = (0.08, 1.0),
        ratio: tuple[Annotated[float, Range(gt=0)], Annotated[float, Range(gt=0)]] = (0.75, 4 / 3),
        interpolation: Interpolation = "bilinear",
    ) -> None:
        self.size = size
        self.scale = check_range("RandomResizedCrop", "scale", scale)
        self.ratio = check_range("RandomResizedCrop", "ratio", ratio)
        self.interpolation: Interpolation = interpolation
        pair(size)

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        height, width = samples.shape[-2:]
        tall, wide = pair(self.size)
        factor = min(height / tall, width / wide)
        center = center_crop(samples, max(round(tall * factor), 1), max(round(wide * factor), 1))
        return resized(center, (tall, wide), self.interpolation)

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        boxes = self._boxes(samples.shape[-2], samples.shape[-1], numbers)
        return resized(samples, pair(self.size), self.interpolation, boxes)

    def spec(self, sample: Spec) -> Spec:
        image_size("RandomResizedCrop", sample)
        return sample.with_shape((*sample.shape[:-2], *pair(self.size)))

    def _boxes(self, height: int, width: int, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """N×4: left, top, right and bottom for each row of numbers."""
        return np.array([self._box(height, width, row) for row in numbers.tolist()], np.int64).reshape(-1, 4)

    def _box(self, height: int, width: int, numbers: list[float]) -> tuple[int, int, int, int]:
        """The first of ten random boxes that fits, else the largest center box within `ratio`."""
        (small, large), (least, most) = self.scale, self.ratio
        low, high = math.log(least), math.log(most)
        for area, ratio in zip(numbers[:_ATTEMPTS], numbers[_ATTEMPTS:-2], strict=True):
            pixels = (small + area * (large - small)) * height * width
            stretch = math.exp(low + ratio * (high - low))
            wide, tall = round(math.sqrt(pixels * stretch)), round(math.sqrt(pixels / stretch))
            if 0 < wide <= width and 0 < tall <= height:
                left = min(int(numbers[-2] * (width - wide + 1)), width - wide)
                top = min(int(numbers[-1] * (height - tall + 1)), height - tall)
                return left, top, left + wide, top + tall
        wide, tall = max(round(min(width, height * most)), 1), max(round(min(height, width / least)), 1)
        left, top = (width - wide) // 2, (height - tall) // 2
        return left, top, left + wide, top + tall


@TRANSFORMS.register(
    category="Geometry", title="Crop or pad", outputs=("samples",), tags=("sequence", "length", "truncate", "padding")
)
class CropOrPad(Transform):
    """Truncate or pad sequences at the end to one length.

    Args:
        length: length of the result
        value: padding value
    """

    def __init__(self, length: Size = 64, value: float = 0.0) -> None:
        self.length = length
        self.value = value

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        result = np.full((len(samples), self.length, *samples.shape[2:]), self.value, samples.dtype)
        kept = samples[:, : self.length]
        result[:, : kept.shape[1]] = kept
        return result

    def spec(self, sample: Spec) -> Spec:
        if not sample.shape:
            raise ShapeError(f"CropOrPad needs sequences, but samples are {sample}.")
        return sample.with_shape((self.length, *sample.shape[1:]))


def center_crop(images: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """The center of images, zero-padded if they are smaller; a view if no padding is needed."""
    down, right = max(height - images.shape[-2], 0), max(width - images.shape[-1], 0)
    images = zero_pad(images, down // 2, down - down // 2, right // 2, right - right // 2)
    # Round half to even, as torchvision does.
    top, left = round((images.shape[-2] - height) / 2), round((images.shape[-1] - width) / 2)
    return images[..., top : top + height, left : left + width]


def zero_pad(images: NDArray[Any], top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
    """Pad images with zeros."""
    if not any((top, bottom, left, right)):
        return images
    height, width = images.shape[-2:]
    result = np.zeros((*images.shape[:-2], height + top + bottom, width + left + right), images.dtype)
    result[..., top : top + height, left : left + width] = images
    return result


def scale_to_range(bounds: tuple[float, float], numbers: NDArray[Any]) -> NDArray[Any]:
    """Scale numbers in [0, 1) to a range."""
    return bounds[0] + numbers * (bounds[1] - bounds[0])


def check_range(name: str, argument: str, bounds: tuple[float, ...]) -> tuple[float, float]:
    """A minimum and a maximum. Raises ValueError for any other tuple."""
    if len(bounds) != 2 or bounds[0] > bounds[1]:
        raise ValueError(f"{name}: {argument} needs a minimum and a maximum, not {bounds}.")
    return bounds[0], bounds[1]
