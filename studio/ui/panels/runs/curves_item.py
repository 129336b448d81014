"""Draws the curves of all runs in one plot: from few numbers a column of pixels, however many points there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from pyqtgraph.Qt import internals
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from studio.training.runs.curves import Array, Axis, Band, Column, logarithmic
from studio.training.runs.history import Curve, Run
from studio.training.runs.points import Kind
from studio.ui import theme

_FEW = 40
"""Up to so many validation points are drawn as dots too: a single one is no line."""
_FEW_POINTS = 100
"""Up to so many, a curve has round joints; beyond that, nobody sees them."""
_FAINT = 0.4
"""Of a run's colour in its raw values."""
_DIM = 0.25
"""Of their colour in the others while one run is highlighted."""
_BROAD = 2
"""Pixels of a column of lines that are as broad."""
_NEXT = 2.5
"""Pixels to the next column, at most."""
_DASH = 6.0
"""Pixels of a dash, and of the gap after it."""
_LONGEST = 100_000.0
"""Pixels along a curve after which it is no longer drawn: it is far outside the view, or nothing but noise."""
_PIECES = 32
"""Of a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What all plots of the panel draw."""

    train: bool = True
    validation: bool = True
    axis: Axis = "epoch"
    log_x: bool = False
    log_y: bool = False
    smoothing: float = 0.9


@dataclass(frozen=True, slots=True)
class _Line:
    """What is drawn of one curve."""

    run: Run
    curve: Curve
    column: Column
    kind: Kind
    is_faint: bool


class CurvesItem(pg.GraphicsObject):
    """Train solid over its raw values, validation dashed, one colour for each run. Places are in pixels: no pen is
    widened by a zoom."""

    def __init__(self, quantity: str) -> None:
        super().__init__()
        self._quantity = quantity
        self._runs: Sequence[Run] = ()
        self.shown = Shown()
        self.highlighted: Run | None = None
        self._bands: dict[object, Band] = {}
        """By what they depend on; those that were not drawn last time are forgotten."""

    def show_runs(self, runs: Sequence[Run], shown: Shown, highlighted: Run | None) -> None:
        self._runs = [run for run in runs if run.is_shown]
        self.shown, self.highlighted = shown, highlighted
        self.informViewBoundsChanged()
        self.prepareGeometryChange()
        self.update()

    @property
    def points(self) -> int:
        """That are drawn if nothing is outside the view."""
        return sum(len(line.curve) for line in self._lines())

    # -- what pyqtgraph asks

    def boundingRect(self) -> QRectF:
        found = self.viewRect()
        return QRectF() if found is None else found.normalized()

    def dataBounds(self, ax: int, frac: float = 1.0, orthoRange: object = None) -> tuple[float, float] | None:
        """Of all that is drawn, in the view's own numbers: logarithms where an axis is logarithmic."""
        is_log = self.shown.log_y if ax else self.shown.log_x
        lows: list[float] = []
        highs: list[float] = []
        for line in self._lines():
            found = line.column.bounds(positive=is_log) if ax else _ends(line.curve, self.shown.axis, positive=is_log)
            if found is not None:
                lows.append(found[0])
                highs.append(found[1])
        if not lows:
            return None
        low, high = min(lows), max(highs)
        return (float(np.log10(low)), float(np.log10(high))) if is_log else (low, high)

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()
        self.prepareGeometryChange()
        self.update()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        view = self.viewRect()
        transform = painter.worldTransform()
        if view is None or view.isEmpty() or transform.m11() == 0:
            return
        ratio = painter.device().devicePixelRatio()
        width = max(round(view.width() * abs(transform.m11()) * ratio), 1)
        kept: dict[object, Band] = {}
        painter.save()
        painter.resetTransform()
        for line in sorted(self._lines(), key=self._depth):
            band = self._band(line, view, width, kept)
            x = band.x * transform.m11() + transform.dx()
            low = band.low * transform.m22() + transform.dy()
            high = low if band.high is band.low else band.high * transform.m22() + transform.dy()
            self._draw(painter, line, x, low, high)
        painter.restore()
        self._bands = kept

    # -- parts

    def _lines(self) -> Iterator[_Line]:
        shown = self.shown
        for run in self._runs:
            train, validation = run.curve(self._quantity, "train"), run.curve(self._quantity, "validation")
            if shown.validation and validation is not None and len(validation):
                yield _Line(run, validation, validation.column, "validation", False)
            if shown.train and train is not None and len(train):
                smooth = shown.smoothing if len(train) > 1 else 0.0
                if smooth:
                    yield _Line(run, train, train.column, "train", True)
                yield _Line(run, train, train.column.smoothed(smooth), "train", False)

    def _depth(self, line: _Line) -> tuple[bool, bool]:
        return line.run is self.highlighted, not line.is_faint

    def _band(self, line: _Line, view: QRectF, width: int, kept: dict[object, Band]) -> Band:
        shown = self.shown
        key = (line.column, len(line.column), line.run.version, view.left(), view.right(), width, shown)
        columns, few = (width, width) if line.is_faint else (width // _BROAD + 1, 2 * width)
        band = self._bands.get(key)
        if band is None:
            x, unit = line.curve.places(shown.axis), line.curve.unit(shown.axis)
            if shown.log_x:
                band = _logarithmic_band(line.column, x, unit, view, columns)
            else:
                band = line.column.band(x, view.left() * unit, view.right() * unit, columns, few)
                band = Band(band.x / unit, band.low, band.high)
            if shown.log_y:
                band = logarithmic(band)
        kept[key] = band
        return band

    def _draw(self, painter: QPainter, line: _Line, x: Array, low: Array, high: Array) -> None:
        color, surface = run_color(line.run.number), theme.current().color("surface")
        if line.is_faint:
            color = theme.mix(surface, color, _FAINT)
        if self.highlighted is not None and line.run is not self.highlighted:
            color = theme.mix(surface, color, _DIM)
        is_dashed = line.kind == "validation"
        pen = QPen(color, 1.0 if line.is_faint else 2.0)
        if len(x) <= _FEW_POINTS:
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, not line.is_faint or len(x) <= _FEW_POINTS)
        if is_dashed:
            _draw_lines(painter, _dashes(x, low if low is high else (low + high) / 2))
        else:
            columns, links = _segments(x, low, high)
            _draw_lines(painter, links)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            _draw_lines(painter, columns)
        if (is_dashed and len(line.curve) <= _FEW) or len(line.curve) == 1:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            for place in zip(x.tolist(), low.tolist(), strict=True):
                if np.isfinite(place).all():
                    painter.drawEllipse(QPointF(*place), 2.5, 2.5)


def run_color(number: int) -> QColor:
    """The colour of a run, by its number."""
    series = theme.current().series
    return QColor(series[(number - 1) % len(series)])


def _ends(curve: Curve, axis: Axis, *, positive: bool) -> tuple[float, float] | None:
    x, unit = curve.places(axis), curve.unit(axis)
    first = int(np.searchsorted(x, 0.0, "right")) if positive else 0
    return (float(x[first]) / unit, float(x[-1]) / unit) if first < len(x) else None


def _logarithmic_band(column: Column, x: Array, unit: float, view: QRectF, width: int) -> Band:
    """Piece by piece: as many points lie in the last tenth of the axis as in all before it."""
    edges = np.linspace(view.left(), view.right(), _PIECES + 1).clip(-300, 300)
    columns = -(-width // _PIECES)
    first = int(np.searchsorted(x, 0.0, "right"))
    parts = [column.band(x, unit * 10.0**left, unit * 10.0**right, columns) for left, right in pairwise(edges.tolist())]
    joined = Band(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    kept = joined.x > 0 if first else slice(None)
    return Band(np.log10(joined.x[kept] / unit), joined.low[kept], joined.high[kept])


def _segments(x: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """A curve as lines of their own: one up each column that is tall, one from column to column where they are apart.

    Qt draws thousands of such lines in the time that it takes to find the outline of one long zigzag.
    """
    middle = (low + high) / 2
    tall = np.abs(high - low) > 1
    least, most = np.minimum(low, high), np.maximum(low, high)
    leave, arrive = middle[1:].clip(least[:-1], most[:-1]), middle[:-1].clip(least[1:], most[1:])
    apart = ~(tall[:-1] & tall[1:] & (np.diff(x) <= _NEXT) & (least[:-1] <= most[1:]) & (least[1:] <= most[:-1]))
    return np.stack([x, least, x, most], axis=1)[tall], np.stack([x[:-1], leave, x[1:], arrive], axis=1)[apart]


def _dashes(x: Array, y: Array) -> Array:
    """Short lines along a curve, with gaps of their length between them. Qt's own take a hundred times as long."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 2:
        return np.empty((0, 4))
    way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    begins = np.arange(0.0, min(way[-1], _LONGEST), 2 * _DASH)
    ends = np.minimum(begins + _DASH, way[-1])
    return np.stack([np.interp(at, way, values) for at in (begins, ends) for values in (x, y)], axis=1)


def _draw_lines(painter: QPainter, found: Array) -> None:
    """Each row is x and y of both ends."""
    found = found[np.isfinite(found).all(axis=1)]
    if len(found):
        lines = internals.PrimitiveArray(QLineF, 4)
        lines.resize(len(found))
        lines.ndarray()[:] = found
        painter.drawLines(*lines.drawargs())  # pyright: ignore[reportArgumentType, reportCallIssue] - pointer, count


__all__ = ["CurvesItem", "Shown", "run_color"]
