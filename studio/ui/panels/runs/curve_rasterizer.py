"""Rasterizes curves with many points: fills every pixel column of a curve at once.

The image is transposed while painting. Vertically adjacent pixels are then adjacent in memory, which makes filling
columns ten times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen
from shiboken6 import Shiboken

from studio.training.runs.curves import Array

_FAR = 1e9
"""Pixels beyond which nothing is painted."""
_TALL = 24
"""Maximum height in pixels for which antialiased edges are visible."""
_FINEST = 256
"""Subpixel resolution; it keeps the slope between two points finite."""
_ODD = np.uint32(0x00FF00FF)
"""Two of the four channels of a pixel, with eight spare bits above each."""


_Kind: TypeAlias = tuple[float, bool]
"""Pen: thickness, and whether edges are antialiased."""


class _Row(NamedTuple):
    """A queued line."""

    first: int
    """Pixel column."""
    least: Array
    most: Array
    dash: float
    begin: float


class _Columns(NamedTuple):
    """Filled spans of many lines: (line, column)."""

    boxes: NDArray[np.int32]
    least: Array
    most: Array
    begins: Array
    """Fully covered rows: the first, and the one after the last."""
    ends: Array
    is_soft: NDArray[np.bool]


class CurveRasterizer:
    """An image of the given device pixels, transparent at first. Use it as a context manager."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._image = QImage(height, width, QImage.Format.Format_ARGB32_Premultiplied)
        self._image.fill(0)
        self._pixels = np.frombuffer(self._image.bits(), np.uint32)
        self._painter = QPainter(self._image)
        self._rows: dict[_Kind, list[_Row]] = {}
        self._queued: list[Callable[[Mapping[_Kind, _Columns]], object]] = []
        """Queued operations, in painting order."""

    def __enter__(self) -> CurveRasterizer:
        return self

    def __exit__(self, *_: object) -> None:
        self._painter.end()  # Qt crashes if an image is destroyed before its painter

    @property
    def picture(self) -> QImage:
        """A copy of the image with everything painted so far."""
        columns = {kind: _columns(rows, *kind, self._width, self._height) for kind, rows in self._rows.items()}
        for paint in self._queued:
            paint(columns)
        self._rows, self._queued = {}, []
        upright = np.ascontiguousarray(self._pixels.reshape(self._width, self._height).T)
        form = QImage.Format.Format_ARGB32_Premultiplied
        return QImage(upright.data, self._width, self._height, 4 * self._width, form).copy()

    def fill(
        self, x: Array, low: Array, high: Array, color: QColor, thickness: float, *, is_soft: bool, dash: float = 0.0
    ) -> None:
        """A line through vertical intervals from `low` to `high`, where row numbers increase downwards.

        Args:
            is_soft: antialias the upper and lower edges, unless the line is so steep that it is noise
            dash: number of painted columns, then of skipped ones; 0 for a solid line
        """
        first, least, most = _covered(x, low, high, self._width)
        if len(least):
            kind = thickness, is_soft
            rows = self._rows.setdefault(kind, [])
            self._queued.append(partial(self._fill, kind, len(rows), color))
            rows.append(_Row(first, least, most, dash, float(x[0])))

    def lines(self, segments: Array, color: QColor, thickness: float, *, is_smooth: bool, has_round_ends: bool) -> None:
        """Straight line segments. Each row has x and y of both ends."""
        segments = segments[np.isfinite(segments).all(axis=1)]
        if not len(segments):
            return
        pen = QPen(color, thickness)
        if has_round_ends:
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        shapes = np.ascontiguousarray(segments[:, [1, 0, 3, 2]])

        def paint(_: object) -> None:
            self._painter.setPen(pen)
            self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, is_smooth)
            self._painter.drawLines(_first(shapes, QLineF), len(shapes))

        self._queued.append(paint)

    def dots(self, x: Array, y: Array, color: QColor, radius: float) -> None:
        """A filled circle at each finite point."""
        is_finite = np.isfinite(x) & np.isfinite(y)
        x, y = x[is_finite], y[is_finite]
        points = [QPointF(*point) for point in zip(y.tolist(), x.tolist(), strict=True)]  # the image is transposed

        def paint(_: object) -> None:
            self._painter.setPen(Qt.PenStyle.NoPen)
            self._painter.setBrush(color)
            self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for point in points:
                self._painter.drawEllipse(point, radius, radius)

        self._queued.append(paint)

    def _fill(self, kind: _Kind, index: int, color: QColor, columns: Mapping[_Kind, _Columns]) -> None:
        spans = columns[kind]
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(color)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self._painter.drawRects(_first(spans.boxes[index], QRect), self._width)
        if spans.is_soft[index]:
            begins, ends = spans.begins[index], spans.ends[index]
            rows = np.concatenate([begins - 1, ends])
            shares = np.concatenate([begins - spans.least[index], spans.most[index] - ends])
            self._blend(np.tile(np.arange(self._width), 2), rows, shares, color)

    def _blend(self, columns: NDArray[np.int64], rows: Array, shares: Array, color: QColor) -> None:
        """Blend one pixel of each column by its coverage."""
        inside = (rows >= 0) & (rows < self._height)
        if not inside.all():
            columns, rows, shares = columns[inside], rows[inside], shares[inside]
        indices = columns * self._height + rows.astype(np.int64)
        above = (256 * shares).astype(np.uint32)
        below = 256 - above
        pixels, painted = self._pixels[indices], color.rgba()
        odd = ((pixels & _ODD) * below + np.uint32(painted & int(_ODD)) * above) >> 8 & _ODD
        even = ((pixels >> 8 & _ODD) * below + np.uint32(painted >> 8 & int(_ODD)) * above) & ~_ODD
        self._pixels[indices] = odd | even


def _columns(rows: Sequence[_Row], thickness: float, is_soft: bool, width: int, height: int) -> _Columns:
    """Spans of all lines of one thickness. One call for all is twice as fast."""
    least, most = np.full((len(rows), width), _FAR), np.full((len(rows), width), -_FAR)
    for index, row in enumerate(rows):
        inside = slice(row.first, row.first + len(row.least))
        least[index, inside], most[index, inside] = row.least, row.most
    least, most = _widened(least, most, thickness / 2)
    for index, row in enumerate(rows):
        if row.dash:
            gaps = (np.arange(width) - row.begin) % (2 * row.dash) >= row.dash
            least[index, gaps], most[index, gaps] = _FAR, -_FAR
    heights = most - least
    soft = is_soft & (2 * np.count_nonzero(heights > _TALL, axis=1) <= np.count_nonzero(heights > 0, axis=1))
    rounded = soft[:, None]
    begins = np.where(rounded, np.ceil(least), np.floor(least + 0.5))
    ends = np.where(rounded, np.floor(most), np.maximum(np.floor(most + 0.5), begins + 1))
    boxes = np.empty((*begins.shape, 4), np.int32)  # as in QRect: left, top, and the last pixel inside
    np.clip(begins, 0, height, out=boxes[..., 0], casting="unsafe")
    np.clip(ends - 1, -1, height - 1, out=boxes[..., 2], casting="unsafe")
    boxes[..., 1] = boxes[..., 3] = np.arange(width)
    np.maximum(boxes[..., 2], boxes[..., 0] - 1, out=boxes[..., 2])
    return _Columns(boxes, least, most, begins, ends, soft)


def _covered(x: Array, low: Array, high: Array, width: int) -> tuple[int, Array, Array]:
    """The first pixel column of a line, and the covered interval in this and each following column.

    Where the line is interrupted (NaN), the start is below the end.
    """
    middle = low if low is high else (low + high) / 2
    is_finite = np.isfinite(middle)
    gaps = np.empty((2, 0))
    if not is_finite.all():
        finite = np.flatnonzero(is_finite)
        before = np.flatnonzero(np.diff(finite) > 1)
        gaps = x[np.stack([finite[before], finite[before + 1]])]
        x, low, high, middle = x[is_finite], low[is_finite], high[is_finite], middle[is_finite]
    if not len(x) or x[-1] < 0 or x[0] >= width:
        return 0, x[:0], x[:0]
    first, last = max(int(x[0]), 0), min(int(x[-1]), width - 1)
    x = np.rint(x * _FINEST) / _FINEST
    edges = np.interp(np.arange(first, last + 2), x, middle)
    least, most = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
    columns = np.floor(x).astype(np.int64) - first
    inside = slice(*columns.searchsorted((0, len(least))).tolist())
    np.minimum.at(least, columns[inside], high[inside])
    np.maximum.at(most, columns[inside], low[inside])
    if gaps.size:
        ends = (np.floor(gaps) - first).clip(-1, len(least)).astype(np.int64)
        opened, closed = (np.bincount(edge, minlength=len(least) + 1) for edge in (ends[0] + 1, ends[1].clip(0)))
        is_gap = (opened - closed).cumsum()[: len(least)] > 0
        least[is_gap], most[is_gap] = _FAR, -_FAR
    return first, least, most


def _widened(least: Array, most: Array, radius: float) -> tuple[Array, Array]:
    """Widen a line by a pen's radius."""
    result = least - radius, most + radius
    for far in range(1, int(radius) + 1):
        reach = (radius * radius - far * far) ** 0.5
        for into, of, extreme, by in ((result[0], least, np.minimum, -reach), (result[1], most, np.maximum, reach)):
            extreme(into[:, far:], of[:, :-far] + by, out=into[:, far:])
            extreme(into[:, :-far], of[:, far:] + by, out=into[:, :-far])
    return result


def _first(rows: NDArray[Any], kind: type) -> Any:
    """Address of the first of many consecutive shapes, for a painter function that takes their number."""
    return Shiboken.wrapInstance(rows.ctypes.data, kind)


__all__ = ["CurveRasterizer"]
