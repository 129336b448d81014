"""Transforms of the value range, whose arguments can be fitted to the training samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.transforms.channel_statistics import ChannelMoments
from engine.data.transforms.transform import Fitted, Invertible, Transform, along_channels, plain, vector
from engine.dtypes import float32
from engine.errors import DataError, DTypeError, ShapeError
from engine.registry import TRANSFORMS, Range
from engine.shape import Spec

_MAX_NUMBERS = 2**24
"""Numbers that are kept to find medians."""


@TRANSFORMS.register(category="Scaling", title="To float", outputs=("samples",), tags=("ToTensor", "convert"))
class ToFloat(Transform):
    """Convert 8-bit and 16-bit integers to float32 from 0 to 1, dividing by the maximum of the dtype (255 for uint8).

    Wider integers and floating-point numbers keep their values, as with torchvision's ToTensor.
    """

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        if samples.dtype.kind not in "iu" or samples.dtype.itemsize > 2:
            return samples.astype(np.float32)
        return np.multiply(samples, np.float32(1 / np.iinfo(samples.dtype).max), dtype=np.float32)

    def spec(self, sample: Spec) -> Spec:
        return Spec(sample.shape, float32)


@TRANSFORMS.register(
    category="Scaling",
    outputs=("samples",),
    tags=("scale", "standardize", "standardise", "divide", "rescale"),
)
class Normalize(Fitted, Invertible):
    """Standardize: ``(x - mean) / std``, as float32.

    One number applies to the whole sample. Several apply per channel: the first dimension of an image, or the columns
    of a table.

    Args:
        mean: value that becomes 0, in units of the data
        std: distance from `mean` that becomes 1, in units of the data
    """

    def __init__(
        self,
        mean: float | tuple[float, ...] = 0.0,
        std: Annotated[float, Range(gt=0)] | tuple[Annotated[float, Range(gt=0)], ...] = 1.0,
    ) -> None:
        self.mean = vector(mean)
        self.std = vector(std)
        if (self.std == 0).any():
            raise ValueError(f"Normalize: std must not be 0, but is {std}. Remove the constant columns.")

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        mean, std = (along_channels("Normalize", numbers, samples.shape[1:]) for numbers in (self.mean, self.std))
        # Allocate one float32 array, then change it in place.
        scaled = np.subtract(samples, mean, dtype=np.float32)
        scaled /= std
        return scaled

    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        mean, std = (along_channels("Normalize", numbers, samples.shape[1:]) for numbers in (self.mean, self.std))
        original = np.multiply(samples, std, dtype=np.float32)
        original += mean
        return original

    def spec(self, sample: Spec) -> Spec:
        for numbers in (self.mean, self.std):
            along_channels("Normalize", numbers, sample.shape)
        return Spec(sample.shape, float32)

    @classmethod
    def fitted(cls, batches: Iterable[NDArray[Any]], **options: Any) -> dict[str, Any]:
        """Mean and standard deviation of each channel; 1 for a constant channel."""
        moments = ChannelMoments.of(batches)
        std = np.where(moments.std > 0, moments.std, 1)
        return {"mean": plain(moments.mean.astype(np.float32)), "std": plain(std.astype(np.float32))}


@TRANSFORMS.register(
    category="Scaling", title="Min-max scale", outputs=("samples",), tags=("range", "rescale", "MinMaxScaler")
)
class MinMaxScale(Fitted, Invertible):
    """Scale a range to 0…1: ``(x - low) / (high - low)``, as float32. Values outside the range are not clipped.

    One number applies to the whole sample. Several apply per channel: the first dimension of an image, or the columns
    of a table.

    Args:
        low: value that becomes 0, in units of the data
        high: value that becomes 1, in units of the data
    """

    def __init__(self, low: float | tuple[float, ...] = 0.0, high: float | tuple[float, ...] = 1.0) -> None:
        self.low, self.high = vector(low), vector(high)
        if len(self.low) != len(self.high) and 1 not in (len(self.low), len(self.high)):
            raise ValueError(f"MinMaxScale: low has {len(self.low)} numbers, but high has {len(self.high)}.")
        if not (self.low < self.high).all():
            raise ValueError(f"MinMaxScale: low must be below high, but they are {low} and {high}.")

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        low, width = self._range(samples)
        scaled = np.subtract(samples, low, dtype=np.float32)
        scaled /= width
        return scaled

    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        low, width = self._range(samples)
        original = np.multiply(samples, width, dtype=np.float32)
        original += low
        return original

    def spec(self, sample: Spec) -> Spec:
        for numbers in (self.low, self.high):
            along_channels("MinMaxScale", numbers, sample.shape)
        return Spec(sample.shape, float32)

    @classmethod
    def fitted(cls, batches: Iterable[NDArray[Any]], **options: Any) -> dict[str, Any]:
        """Minimum and maximum of each channel; a constant channel gets the width 1."""
        moments = ChannelMoments.of(batches)
        low, high = moments.low.astype(np.float32), moments.high.astype(np.float32)
        return {"low": plain(low), "high": plain(np.where(low < high, high, low + 1))}

    def _range(self, samples: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        low, high = (along_channels("MinMaxScale", each, samples.shape[1:]) for each in (self.low, self.high))
        return low, high - low


@TRANSFORMS.register(category="Scaling", title="Log scale", outputs=("samples",), tags=("logarithm", "log1p", "skewed"))
class LogScale(Invertible):
    """Natural logarithm ``ln(x + offset)``, as float32, for values that span orders of magnitude.

    Args:
        offset: added before the logarithm, so that the data can contain 0
    """

    def __init__(self, offset: float = 1.0) -> None:
        self.offset = offset

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        shifted = np.add(samples, self.offset, dtype=np.float64)
        if (shifted <= 0).any():
            raise DataError(
                f"LogScale: the logarithm needs positive numbers, but {shifted.min() - self.offset:g} + offset "
                f"{self.offset:g} is {shifted.min():g}. Set offset above {self.offset - shifted.min():g}."
            )
        return np.log(shifted).astype(np.float32)

    def inverse(self, samples: NDArray[Any]) -> NDArray[Any]:
        return (np.exp(samples, dtype=np.float64) - self.offset).astype(np.float32)

    def spec(self, sample: Spec) -> Spec:
        return Spec(sample.shape, float32)


@TRANSFORMS.register(category="Scaling", outputs=("samples",), tags=("clamp", "limit", "outliers"))
class Clip(Transform):
    """Clip values to the range from low to high. Keeps the dtype.

    Args:
        low: lower bound
        high: upper bound
    """

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        if low > high:
            raise ValueError(f"Clip: low must not be above high, but they are {low} and {high}.")
        self.low = low
        self.high = high

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        if samples.dtype.kind not in "iu":
            return np.clip(samples, self.low, self.high)
        limits = np.iinfo(samples.dtype)
        low, high = (min(max(bound, limits.min), limits.max) for bound in (np.ceil(self.low), np.floor(self.high)))
        return np.clip(samples, int(low), int(high))

    def spec(self, sample: Spec) -> Spec:
        return sample


@TRANSFORMS.register(
    category="Scaling", title="Fill missing", outputs=("samples",), tags=("NaN", "impute", "missing values")
)
class FillMissing(Fitted):
    """Replace missing values (NaN) with a number.

    Args:
        value: replacement: one number, or one per channel or column
        strategy: how Compute from data computes `value` from the training samples: mean, median or most frequent
            number; the last two from the first samples of large data
        channels: indices of the channels or columns to fill, from 0; all if None
    """

    options = ("strategy",)

    def __init__(
        self,
        value: float | tuple[float, ...] = 0.0,
        strategy: Literal["mean", "median", "most frequent"] = "mean",
        channels: tuple[int, ...] | None = None,
    ) -> None:
        self.value = vector(value)
        self.strategy = strategy
        self.channels = channels

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        value = along_channels("FillMissing", self.value, samples.shape[1:]).astype(samples.dtype)
        missing = np.isnan(samples)
        if self.channels is not None:
            filled = self._is_filled(samples.shape[1] if samples.ndim > 1 else 1)
            missing &= filled.reshape(-1, *[1] * (samples.ndim - 2))
        return np.where(missing, value, samples)

    def _is_filled(self, count: int) -> NDArray[np.bool_]:
        """Whether each of `count` channels is filled."""
        filled = np.zeros(count, np.bool_)
        for channel in self.channels or ():
            if not 0 <= channel < count:
                raise ShapeError(f"FillMissing: there is no channel {channel}; the last is {count - 1}.")
            filled[channel] = True
        return filled

    def spec(self, sample: Spec) -> Spec:
        if not sample.dtype.is_floating_point:
            raise DTypeError(f"FillMissing: samples are {sample.dtype.name}, which has no NaN. Remove FillMissing.")
        along_channels("FillMissing", self.value, sample.shape)
        if self.channels is not None and sample.shape and isinstance(sample.shape[0], int):
            self._is_filled(sample.shape[0])
        return sample

    @classmethod
    def fitted(cls, batches: Iterable[NDArray[Any]], **options: Any) -> dict[str, Any]:
        """The mean, median or most frequent number of each channel without missing values."""
        strategy = options.get("strategy", "mean")
        if strategy == "mean":
            return {"value": plain(ChannelMoments.of(batches).mean.astype(np.float32))}
        chosen = np.nanmedian if strategy == "median" else _most_frequent
        return {"value": plain(np.atleast_1d(chosen(_first_samples(batches), axis=0)).astype(np.float32))}


def _first_samples(batches: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """N×C numbers of the first samples, as many as fit into `_MAX_NUMBERS`.

    Raises DataError for a channel without numbers.
    """
    parts: list[NDArray[Any]] = []
    numbers = 0
    for batch in batches:
        channels = batch.reshape(len(batch), 1) if batch.ndim == 1 else batch
        parts.append(np.moveaxis(channels, 1, -1).reshape(-1, channels.shape[1]))
        numbers += parts[-1].size
        if numbers > _MAX_NUMBERS:
            break
    if not numbers:
        raise DataError("there are no training samples to fit. Choose data with training samples.")
    found = np.concatenate(parts)
    is_empty = np.isnan(found).all(axis=0)
    if is_empty.any():
        index = int(np.argmax(is_empty))
        raise DataError(f"channel {index} (from 0) of the training data has only missing values. Correct the data.")
    return found


def _most_frequent(numbers: NDArray[Any], axis: int) -> NDArray[Any]:
    """The most frequent number of each channel, the smallest of several."""
    found: list[Any] = []
    for channel in np.moveaxis(numbers, axis, -1).reshape(numbers.shape[1], -1):
        values, counts = np.unique(channel[~np.isnan(channel)], return_counts=True)
        found.append(values[np.argmax(counts)])
    return np.array(found)
