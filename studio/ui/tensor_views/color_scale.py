"""Values as colors: one hue for values of one sign, two hues around 0, gray for images."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QImage

from studio.training.probing.views.matrices import MatrixGrid
from studio.ui.theme.theme import Theme

_LEVELS = 256


@functools.lru_cache(maxsize=16)
def _table(anchors: tuple[int, ...]) -> NDArray[np.uint8]:
    """Colors between anchors, given as 0xRRGGBB."""
    parts = np.array([[(value >> shift) & 255 for shift in (16, 8, 0)] for value in anchors], np.float64)
    at = np.linspace(0, len(anchors) - 1, _LEVELS)
    channels = [np.interp(at, range(len(anchors)), parts[:, index]) for index in range(3)]
    return np.stack(channels, axis=1).astype(np.uint8)


def color_table(theme: Theme, *, is_signed: bool, is_image: bool = False) -> NDArray[np.uint8]:
    """256 colors from the lowest to the highest value. With two signs, 0 is in the middle."""
    if is_image and not is_signed:
        return _table((0x000000, 0xFFFFFF))
    middle = theme.color("background")
    if is_signed:
        return _table((_rgb(theme.color("series-1")), _rgb(middle), _rgb(theme.color("series-2"))))
    return _table((_rgb(middle), _rgb(theme.color("series-1")), _rgb(theme.color("text"))))


def bounds_of(grid: MatrixGrid) -> tuple[float, float]:
    """The values of the first and the last color: with two signs, as far from 0 on both sides."""
    if grid.is_signed:
        most = max(-grid.low, grid.high)
        return -most, most
    return grid.low, grid.high


def matrix_image(cell: NDArray[np.float32], grid: MatrixGrid, theme: Theme, *, is_image: bool) -> QImage:
    """A matrix with a pixel for each value. Values that are not finite have the color of errors."""
    low, high = bounds_of(grid)
    span = high - low or 1.0
    with np.errstate(invalid="ignore"):
        shares = np.clip((cell.astype(np.float64) - low) / span, 0.0, 1.0)
    finite: NDArray[Any] = np.isfinite(shares)
    levels = np.where(finite, shares * (_LEVELS - 1), 0).astype(np.uint8)
    if cell.ndim == 3:
        pixels: NDArray[Any] = levels
        finite = np.asarray(finite.all(axis=-1))
    else:
        pixels = color_table(theme, is_signed=grid.is_signed, is_image=is_image)[levels]
    if not finite.all():
        error = theme.color("error")
        pixels = np.where(finite[..., None], pixels, np.array([error.red(), error.green(), error.blue()], np.uint8))
    height, width = pixels.shape[:2]
    data = np.ascontiguousarray(pixels, np.uint8)
    return QImage(data.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888).copy()


def _rgb(color: QColor) -> int:
    return color.rgb() & 0xFFFFFF


__all__ = ["bounds_of", "color_table", "matrix_image"]
