"""Paints curves of very many points: each column of pixels that a curve covers is filled at once.

The picture is kept on its side while it is painted. What lies above each other is then next to each other in memory,
which makes filling columns ten times as quick.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.Qt import internals
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from studio.training.runs.curves import Array

_FAR = 1e9
"""Pixels: nothing is painted there."""
_FINEST = 256
"""Places in a pixel that are told apart; no slope between two of them is beyond all numbers."""
_ODD = np.uint32(0x00FF00FF)
"""Two of the four channels of a pixel, each with room for eight more bits above it."""


class Raster:
    """A picture of so many pixels of the device, transparent where nothing is painted. To be used by `with`."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._image = QImage(height, width, QImage.Format.Format_ARGB32_Premultiplied)
        self._image.fill(0)
        self._pixels = np.frombuffer(self._image.bits(), np.uint32)
        self._painter = QPainter(self._image)

    def __enter__(self) -> Raster:
        return self

    def __exit__(self, *_: object) -> None:
        self._painter.end()  # Qt does not survive that a picture is gone before its painter

    @property
    def picture(self) -> QImage:
        """What was painted so far."""
        upright = np.ascontiguousarray(self._pixels.reshape(self._width, self._height).T)
        form = QImage.Format.Format_ARGB32_Premultiplied
        return QImage(upright.data, self._width, self._height, 4 * self._width, form).copy()

    def fill(
        self, x: Array, low: Array, high: Array, color: QColor, thickness: float, *, is_soft: bool, dash: float = 0.0
    ) -> None:
        """A line through points that may each be as tall as from `low` to `high`.

        Args:
            is_soft: its edges above and below are blended with what is there
            dash: columns that are painted, and then are not; 0 for all of them
        """
        first, least, most = _covered(x, low, high, self._width)
        least, most = _thick(least, most, thickness / 2)
        columns = np.arange(first, first + len(least))
        if dash:
            painted = (columns - x[:1]) % (2 * dash) < dash
            columns, least, most = columns[painted], least[painted], most[painted]
        if not is_soft:
            begins, ends = np.floor(least + 0.5), np.floor(most + 0.5)
            self._fill(columns, begins, np.maximum(ends, begins + 1), color)
            return
        begins, ends = np.ceil(least), np.floor(most)
        self._fill(columns, begins, ends, color)
        rows, shares = np.concatenate([begins - 1, ends]), np.concatenate([begins - least, most - ends])
        self._blend(np.concatenate([columns, columns]), rows, shares, color)

    def lines(self, found: Array, color: QColor, thickness: float, *, is_smooth: bool, has_round_ends: bool) -> None:
        """Straight lines. Each row is x and y of both ends."""
        found = found[np.isfinite(found).all(axis=1)]
        if not len(found):
            return
        pen = QPen(color, thickness)
        if has_round_ends:
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        self._painter.setPen(pen)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, is_smooth)
        x, y, to_x, to_y = found.T
        _draw(self._painter.drawLines, QLineF, (y, x, to_y, to_x), len(found))

    def dots(self, x: Array, y: Array, color: QColor, radius: float) -> None:
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(color)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        known = np.isfinite(x) & np.isfinite(y)
        for across, along in zip(x[known].tolist(), y[known].tolist(), strict=True):
            self._painter.drawEllipse(QPointF(along, across), radius, radius)

    def _fill(self, columns: NDArray[np.int64], begins: Array, ends: Array, color: QColor) -> None:
        """Each column from one row to before another."""
        begins, ends = np.maximum(begins, 0), np.minimum(ends, self._height)
        tall = ends > begins
        if not tall.all():
            columns, begins, ends = columns[tall], begins[tall], ends[tall]
        if not len(columns):
            return
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(color)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        _draw(self._painter.drawRects, QRectF, (begins, columns, ends - begins, 1.0), len(columns))

    def _blend(self, columns: NDArray[np.int64], rows: Array, shares: Array, color: QColor) -> None:
        """One pixel of each column, of which the colour gets a share."""
        inside = (rows >= 0) & (rows < self._height) & (shares > 0)
        places = columns[inside] * self._height + rows[inside].astype(np.int64)
        above = (256 * shares[inside]).astype(np.uint32)
        below = 256 - above
        pixels, painted = self._pixels[places], color.rgba()
        odd = ((pixels & _ODD) * below + np.uint32(painted & int(_ODD)) * above) >> 8 & _ODD
        even = ((pixels >> 8 & _ODD) * below + np.uint32(painted >> 8 & int(_ODD)) * above) & ~_ODD
        self._pixels[places] = odd | even


def _covered(x: Array, low: Array, high: Array, width: int) -> tuple[int, Array, Array]:
    """The first column of pixels that a line covers, and from where to where it covers that and the following ones.

    Where it is interrupted (NaN), the first lies below the second.
    """
    known = np.isfinite(low) & np.isfinite(high)
    gaps = np.empty((2, 0))
    if not known.all():
        there = np.flatnonzero(known)
        before = np.flatnonzero(np.diff(there) > 1)
        gaps = x[np.stack([there[before], there[before + 1]])]
        x, low, high = x[known], low[known], high[known]
    if not len(x) or x[-1] < 0 or x[0] >= width:
        return 0, x[:0], x[:0]
    first, last = max(int(x[0]), 0), min(int(x[-1]), width - 1)
    middle = low if low is high else (low + high) / 2
    if low is not high:
        low, high = np.minimum(low, high), np.maximum(low, high)
    x = np.rint(x * _FINEST) / _FINEST
    edges = np.interp(np.arange(first, last + 2), x, middle)
    least, most = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
    places = np.floor(x).astype(np.int64) - first
    inside = slice(*places.searchsorted((0, len(least))).tolist())
    np.minimum.at(least, places[inside], low[inside])
    np.maximum.at(most, places[inside], high[inside])
    if gaps.size:
        ends = (np.floor(gaps) - first).clip(-1, len(least)).astype(np.int64)
        opened, closed = (np.bincount(places, minlength=len(least) + 1) for places in (ends[0] + 1, ends[1].clip(0)))
        is_gap = (opened - closed).cumsum()[: len(least)] > 0
        least[is_gap], most[is_gap] = _FAR, -_FAR
    return first, least, most


def _thick(least: Array, most: Array, radius: float) -> tuple[Array, Array]:
    """The line as broad as a pen of that radius makes it."""
    found = least - radius, most + radius
    for far in range(1, int(radius) + 1):
        reach = (radius * radius - far * far) ** 0.5
        for into, of, extreme, by in ((found[0], least, np.minimum, -reach), (found[1], most, np.maximum, reach)):
            extreme(into[far:], of[:-far] + by, out=into[far:])
            extreme(into[:-far], of[far:] + by, out=into[:-far])
    return found


def _draw(draw: Callable[..., object], kind: type, fields: Sequence[NDArray[Any] | float], count: int) -> None:
    """Hand many shapes of four numbers each to a painter at once."""
    shapes = internals.PrimitiveArray(kind, 4)
    shapes.resize(count)
    for place, field in enumerate(fields):
        shapes.ndarray()[:, place] = field
    draw(*shapes.drawargs())


__all__ = ["Raster"]
