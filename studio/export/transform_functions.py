"""Transforms of samples as functions of tensors, so that an exported model can contain them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import engine
from engine import Tensor
from engine.data.transforms import (
    Augmentation,
    ChannelsFirst,
    Clip,
    Compose,
    FillMissing,
    LogScale,
    MinMaxScale,
    Normalize,
    ToFloat,
    Transform,
)
from engine.data.transforms.transform import along_channels
from engine.errors import EngineError

TensorFunction = Callable[[Tensor], Tensor]


class UnsupportedTransformError(Exception):
    """A transform that has no function of tensors."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(type(transform).__name__)
        self.transform = transform


def apply_transform(transform: Transform, samples: Tensor) -> Tensor:
    """Apply the form of a transform that validation uses to a batch. Raises UnsupportedTransformError."""
    if isinstance(transform, Compose):
        for each in transform.transforms:
            samples = apply_transform(each, samples)
        return samples
    function = FUNCTIONS.get(type(transform))
    if function is None:
        if isinstance(transform, Augmentation) and _keeps_samples(transform):
            return samples
        raise UnsupportedTransformError(transform)
    return function(transform, samples)


def _keeps_samples(transform: Augmentation) -> bool:
    """Whether an augmentation leaves validation samples unchanged."""
    probe = np.linspace(0, 1, 2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8)
    try:
        return np.array_equal(np.asarray(transform(probe)), probe)
    except EngineError:  # it needs samples of another shape
        return False


def _to_float(transform: Any, x: Tensor) -> Tensor:
    dtype = x.dtype.numpy
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        return x.float()
    return x.float() * float(np.float32(1 / np.iinfo(dtype).max))


def _normalize(transform: Normalize, x: Tensor) -> Tensor:
    return (x.float() - _along(transform.mean, x)) / _along(transform.std, x)


def _min_max_scale(transform: MinMaxScale, x: Tensor) -> Tensor:
    low, high = _along(transform.low, x), _along(transform.high, x)
    return (x.float() - low) / (high - low)


def _log_scale(transform: LogScale, x: Tensor) -> Tensor:
    return (x.double() + float(transform.offset)).log().float()


def _clip(transform: Clip, x: Tensor) -> Tensor:
    if x.is_floating_point():
        return x.clamp(float(transform.low), float(transform.high))
    limits = np.iinfo(x.dtype.numpy)
    low, high = (
        int(min(max(bound, limits.min), limits.max)) for bound in (np.ceil(transform.low), np.floor(transform.high))
    )
    return x.clamp(low, high)


def _fill_missing(transform: FillMissing, x: Tensor) -> Tensor:
    missing = x.isnan()
    if transform.channels is not None:
        filled = np.isin(np.arange(x.shape[1]), transform.channels)
        missing = missing & engine.tensor(filled.reshape(-1, *[1] * (x.ndim - 2)))
    return engine.where(missing, _along(transform.value, x).to(x.dtype), x)


def _channels_first(transform: ChannelsFirst, x: Tensor) -> Tensor:
    return x.permute(0, 3, 1, 2) if x.ndim == 4 else x.unsqueeze(1)


def _along(numbers: Any, x: Tensor) -> Tensor:
    """One number, or one for each channel, as a tensor that broadcasts with a batch."""
    return engine.tensor(along_channels("transform", np.asarray(numbers), tuple(x.shape[1:])))


FUNCTIONS: dict[type[Transform], Callable[[Any, Tensor], Tensor]] = {
    ToFloat: _to_float,
    Normalize: _normalize,
    MinMaxScale: _min_max_scale,
    LogScale: _log_scale,
    Clip: _clip,
    FillMissing: _fill_missing,
    ChannelsFirst: _channels_first,
}

__all__ = ["FUNCTIONS", "UnsupportedTransformError", "apply_transform"]
