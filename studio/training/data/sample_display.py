"""Display of samples: kind, thumbnail size and value range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.data.splits import Splits
from engine.data.tables.table_splits import TableSplits
from engine.data.text_file import Text
from engine.data.transforms.resize import resized
from engine.shape import Dim, Spec

Kind: TypeAlias = Literal["images", "text", "table", "series", "vectors"]

SMALL = 128
"""Maximum side length of a thumbnail in pixels."""
FEW_NUMBERS = 4096
"""Maximum number of values of a reduced sample."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The values that are drawn black and white."""

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, values: list[NDArray[Any]]) -> Scale:
        """0 to 255 for uint8 and 0 to 1 for fractions if the values use that range; otherwise minimum and maximum."""
        finite = [value[np.isfinite(value)].astype(np.float64) for value in values]
        finite_values = np.concatenate([value.reshape(-1) for value in finite]) if finite else np.empty(0)
        if not finite_values.size:
            return cls()
        low, high = float(finite_values.min()), float(finite_values.max())
        for limit in (1.0, 255.0):
            if low >= 0 and limit / 2 < high <= limit:
                return cls(0.0, limit)
        if low >= 0 and high > 0 and values[0].dtype.kind in "iub":
            return cls(0.0, high)
        return cls(low, high if high > low else low + 1)


def kind_of(source: Splits, input: Spec) -> Kind:
    """The kind of display for samples of this shape and dtype."""
    if isinstance(source, Text) and input.ndim == 1 and not input.dtype.is_floating_point:
        return "text"
    if isinstance(source, TableSplits) and input.ndim == 1:
        return "table"
    if input.ndim == 3 or (input.ndim == 2 and _is_gray_image(input)):
        return "images"
    return "series" if input.ndim == 2 else "vectors"


def _is_gray_image(input: Spec) -> bool:
    height, width = input.shape
    if isinstance(height, Dim) or isinstance(width, Dim) or input.dtype.name == "uint8":
        return True
    return min(height, width) >= 8 and max(height, width) <= 4 * min(height, width)


def reduced(values: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """A sample reduced for display."""
    if kind == "images":
        planes = as_planes(values)
        height, width = planes.shape[-2:]
        factor = max(height, width) / SMALL
        if factor <= 1:
            return planes.copy()
        size = (max(1, round(height / factor)), max(1, round(width / factor)))
        return resized(planes[np.newaxis], size, "area")[0]
    step = -(-len(values) // FEW_NUMBERS) if values.ndim else 1
    return values[::step].copy() if step > 1 else values.copy()


def as_planes(values: NDArray[Any]) -> NDArray[Any]:
    """Convert an H×W, C×H×W or H×W×C image to C×H×W with one or three channels; otherwise use the first channel."""
    if values.ndim == 2:
        return values[np.newaxis]
    if values.shape[-1] in (1, 3, 4) and values.shape[0] not in (1, 3, 4):
        values = np.moveaxis(values, -1, 0)
    return values[:3] if values.shape[0] >= 3 else values[:1]


__all__ = ["FEW_NUMBERS", "SMALL", "Kind", "Scale", "as_planes", "kind_of", "reduced"]
