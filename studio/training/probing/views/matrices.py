"""Tensors as matrices and grids of matrices: heat maps, images, feature maps and attention maps."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_SIDE = 256
"""Largest number of rows and columns of a heat map. Larger matrices are averaged by blocks."""
MAX_IMAGES = 64
MAX_IMAGE_SIDE = 128
_COLORS = (3, 4)


@dataclass(frozen=True, slots=True)
class MatrixGrid:
    """Matrices of one size."""

    cells: NDArray[np.float32]
    """Count × rows × columns, or count × rows × columns × 3 for images in color; NaN where a value is not finite."""
    low: float
    high: float
    """Range of the values that are shown."""
    caption: str
    """What the matrices are: "Sample 0 of 64: 16 of 16 channels"."""
    total: int
    """Matrices that the selected part of the tensor has."""
    parts: int = 1
    """Parts of the tensor to select from, such as samples."""
    shape: tuple[int, int] = (0, 0)
    """Rows and columns of a matrix in the tensor, before blocks were averaged."""
    unit: str = ""
    """What a part is: "sample", "filter", "slice"."""
    row_sums: tuple[float, float] | None = None
    """Smallest and largest sum of a row, of attention maps."""

    @property
    def is_signed(self) -> bool:
        """Whether values are on both sides of 0."""
        return self.low < 0 < self.high

    @property
    def is_averaged(self) -> bool:
        return self.shape != tuple(self.cells.shape[1:3])


def heat_map(array: NDArray[Any], index: int = 0) -> MatrixGrid:
    """The last two dimensions as a matrix; a vector as one row.

    Args:
        index: which matrix, counted over all dimensions before the last two
    """
    values = _numbers(array)
    matrices = values.reshape(-1, *values.shape[-2:]) if values.ndim > 1 else values.reshape(1, 1, -1)
    parts = matrices.shape[0]
    index = min(max(index, 0), parts - 1)
    chosen = matrices[index]
    place = ", ".join(map(str, np.unravel_index(index, array.shape[:-2]))) if array.ndim > 2 else ""
    caption = f"[{place}, :, :]" if place else ""
    return _grid(_averaged(chosen, MAX_SIDE)[None], caption, 1, parts, chosen.shape, "slice")


def image_grid(array: NDArray[Any], index: int = 0, *, has_batch: bool = True) -> MatrixGrid:
    """A tensor N×C×H×W as images: all samples if it has 1, 3 or 4 channels, otherwise the channels of one sample.

    Args:
        index: which sample, or which filter of a convolution
        has_batch: whether the first dimension is that of samples, and not of filters
    """
    values = _numbers(array)
    count, channels, *size = values.shape
    unit = "sample" if has_batch else "filter"
    if channels == 1 or channels in _COLORS:
        shown = values[:MAX_IMAGES]
        images = np.stack([_averaged(each[0], MAX_IMAGE_SIDE) for each in shown]) if channels == 1 else None
        if images is None:
            images = np.stack([_colored(each) for each in shown])
        caption = f"{_of(len(shown), count)} {unit}s"
        return _grid(images, caption, count, 1, (size[0], size[1]), unit)
    index = min(max(index, 0), count - 1)
    shown = values[index][:MAX_IMAGES]
    images = np.stack([_averaged(each, MAX_IMAGE_SIDE) for each in shown])
    caption = f"{unit.capitalize()} {index} of {count}: {_of(len(shown), channels)} channels"
    return _grid(images, caption, channels, count, (size[0], size[1]), unit)


def attention_maps(array: NDArray[Any], index: int = 0) -> MatrixGrid:
    """The last two dimensions as maps, rows are queries: all heads of one sample of a tensor N×heads×T×T.

    Args:
        index: which sample
    """
    values = _numbers(array)
    maps = values.reshape(values.shape[0], -1, *values.shape[-2:])
    index = min(max(index, 0), maps.shape[0] - 1)
    chosen = maps[index]
    sums = chosen.sum(axis=-1, dtype=np.float64)
    shown = chosen[:MAX_IMAGES]
    images = np.stack([_averaged(each, MAX_IMAGE_SIDE) for each in shown])
    heads = f": {_of(len(shown), len(chosen))} heads" if len(chosen) > 1 else ""
    caption = f"Sample {index} of {len(maps)}{heads}"
    size = (chosen.shape[-2], chosen.shape[-1])
    grid = _grid(images, caption, len(chosen), len(maps), size, "sample")
    return MatrixGrid(
        grid.cells,
        grid.low,
        grid.high,
        caption,
        grid.total,
        grid.parts,
        size,
        "sample",
        (float(sums.min()), float(sums.max())),
    )


def _of(shown: int, total: int) -> str:
    return f"{shown:,} of {total:,}"


def _numbers(array: NDArray[Any]) -> NDArray[Any]:
    """Floating-point values, NaN in place of infinite ones."""
    if array.dtype.kind != "f":
        return array.astype(np.float32)
    return np.where(np.isfinite(array), array, np.nan) if not np.isfinite(array).all() else array


def _averaged(matrix: NDArray[Any], side: int) -> NDArray[np.float32]:
    """A matrix with at most `side` rows and columns, whose elements are means of blocks."""
    for axis in (0, 1):
        size = matrix.shape[axis]
        if size > side:
            edges = np.linspace(0, size, side + 1).astype(np.int64)[:-1]
            counts = np.diff(np.append(edges, size))
            sums = np.add.reduceat(matrix, edges, axis=axis, dtype=np.float64)
            matrix = sums / (counts[:, None] if axis == 0 else counts)
    return matrix.astype(np.float32)


def _colored(image: NDArray[Any]) -> NDArray[np.float32]:
    """The first three channels as rows × columns × 3."""
    return np.stack([_averaged(channel, MAX_IMAGE_SIDE) for channel in image[:3]], axis=-1)


def _grid(
    cells: NDArray[np.float32], caption: str, total: int, parts: int, shape: tuple[int, ...], unit: str
) -> MatrixGrid:
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    return MatrixGrid(cells, low, high, caption, total, parts, (shape[0], prod(shape[1:])), unit)


__all__ = ["MAX_IMAGES", "MAX_SIDE", "MatrixGrid", "attention_maps", "heat_map", "image_grid"]
