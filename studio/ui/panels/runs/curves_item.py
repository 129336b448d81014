"""Draws the curves of all runs in one plot: from few numbers a column of pixels, however many points there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from studio.training.curves import Array, Axis, Band, Column, logarithmic
from studio.training.history import Curve, Run
from studio.training.points import Kind
from studio.ui import theme

_FEW = 40
"""Up to so many validation points are drawn as dots too: a single one is no line."""
_DIM = 0.25
"""Opacity of the others while one run is highlighted."""
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
            found = line.column.bounds(positive=is_log) if ax else _ends(line.curve.x(self.shown.axis), positive=is_log)
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
        band = self._bands.get(key)
        if band is None:
            x = line.curve.x(shown.axis)
            if shown.log_x:
                band = _logarithmic_band(line.column, x, view, width)
            else:
                band = line.column.band(x, view.left(), view.right(), width)
            if shown.log_y:
                band = logarithmic(band)
        kept[key] = band
        return band

    def _draw(self, painter: QPainter, line: _Line, x: Array, low: Array, high: Array) -> None:
        color = run_color(line.run.number)
        if self.highlighted is not None and line.run is not self.highlighted:
            color.setAlphaF(_DIM)
        if line.is_faint:
            color.setAlphaF(color.alphaF() * 0.4)
        style = Qt.PenStyle.DashLine if line.kind == "validation" else Qt.PenStyle.SolidLine
        pen = QPen(color, 1.0 if line.is_faint else 2.0, style)
        pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)
        painter.setPen(pen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, not (line.is_faint and low is not high))
        for polygon in _polygons(x, low, high):
            painter.drawPolyline(polygon)
        if (line.kind == "validation" and len(line.curve) <= _FEW) or len(line.curve) == 1:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            for place in zip(x.tolist(), low.tolist(), strict=True):
                if np.isfinite(place).all():
                    painter.drawEllipse(QPointF(*place), 2.5, 2.5)


def run_color(number: int) -> QColor:
    """The colour of a run, by its number."""
    series = theme.current().series
    return QColor(series[(number - 1) % len(series)])


def _ends(x: Array, *, positive: bool) -> tuple[float, float] | None:
    first = int(np.searchsorted(x, 0.0, "right")) if positive else 0
    return (float(x[first]), float(x[-1])) if first < len(x) else None


def _logarithmic_band(column: Column, x: Array, view: QRectF, width: int) -> Band:
    """Piece by piece: as many points lie in the last tenth of the axis as in all before it."""
    edges = np.linspace(view.left(), view.right(), _PIECES + 1).clip(-300, 300)
    columns = -(-width // _PIECES)
    first = int(np.searchsorted(x, 0.0, "right"))
    parts = [column.band(x, 10.0**left, 10.0**right, columns) for left, right in pairwise(edges.tolist())]
    joined = Band(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    kept = joined.x > 0 if first else slice(None)
    return Band(np.log10(joined.x[kept]), joined.low[kept], joined.high[kept])


def _polygons(x: Array, low: Array, high: Array) -> Iterator[pg.QtGui.QPolygonF]:
    """The line through the least and greatest values; in pieces where there are none."""
    if low is not high:
        tall = np.abs(high - low) > 0.5
        both = np.stack([np.ones(len(x), bool), tall], axis=1).ravel()
        x, y = np.repeat(x, 2)[both], np.stack([low, high], axis=1).ravel()[both]
    else:
        y = low
    known = np.isfinite(x) & np.isfinite(y)
    if known.all():
        pieces = [slice(0, len(x))]
    else:
        edges = np.flatnonzero(np.diff(known.astype(np.int8), prepend=0, append=0))
        pieces = [slice(begin, end) for begin, end in edges.reshape(-1, 2).tolist()]
    for piece in pieces:
        polygon = pg.functions.create_qpolygonf(piece.stop - piece.start)
        held = pg.functions.ndarray_from_qpolygonf(polygon)
        held[:, 0], held[:, 1] = x[piece], y[piece]
        yield polygon


__all__ = ["CurvesItem", "Shown", "run_color"]
