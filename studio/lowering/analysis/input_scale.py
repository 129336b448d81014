"""The range of training inputs, and the transform that normalizes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.data.samples import Samples
from engine.data.transforms import Normalize
from engine.dtypes import DType
from studio.document.model import Json

SAMPLES_READ = 256
"""Number of evenly spaced training samples that a check reads."""
MIN_LARGEST, MAX_LARGEST = 0.25, 16.0
"""Range of the largest absolute input value that needs no normalization."""


@dataclass(frozen=True, slots=True)
class InputScale:
    """Range of the inputs of some training samples."""

    samples: int
    low: float
    high: float
    normalize: Mapping[str, Json]
    """Arguments of Normalize fitted to them."""

    def suits_to_float(self, dtype: DType) -> bool:
        """Whether ToFloat scales the inputs to a usual range. It divides bytes by 255 but keeps wider integers."""
        largest = max(abs(self.low), abs(self.high))
        if dtype.kind == 1 and dtype.itemsize <= 2:
            largest /= np.iinfo(np.dtype(dtype.name)).max
        return MIN_LARGEST <= largest <= MAX_LARGEST


def measure_input_scale(samples: Samples) -> InputScale | None:
    """Measure the range of inputs; None for a stream, or if shapes differ between samples."""
    if samples.stream is not None or not len(samples):
        return None
    rows = np.unique(np.linspace(0, len(samples) - 1, SAMPLES_READ).astype(np.int64))
    inputs = samples.with_augmentations(False).arrays(rows)[0]
    if not isinstance(inputs, np.ndarray):
        return None
    arguments = Normalize.fitted([inputs])
    return InputScale(
        len(rows),
        float(inputs.min()),
        float(inputs.max()),
        {name: to_json_value(arguments[name]) for name in arguments},
    )


def to_json_value(value: Any) -> Json:
    """Convert to a project value: rounded to float32 digits, lists instead of tuples."""
    if isinstance(value, tuple):
        return [to_json_value(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return float(str(np.float32(value))) if isinstance(value, float) else value


__all__ = ["InputScale", "measure_input_scale", "to_json_value"]
