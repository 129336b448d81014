"""Draws the curves of all runs in one plot with a few values per pixel column, regardless of the number of points.

The image is cached, so that overlays move without repainting it. A background thread smooths long curves; the previous
smoothing is shown until it is done.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRect, QRectF, QTimer
from PySide6.QtGui import QColor, QImage, QPainter, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from studio.training.runs.curves import Array, Axis, Band, CurveColumn, logarithmic, needs_smoothed_blocks
from studio.training.runs.metric_points import MetricKind
from studio.training.runs.run_history import Curve, Run
from studio.training.runs.smoothing import SmoothedBlocks
from studio.ui.panels.runs.curve_rasterizer import CurveRasterizer
from studio.ui.theme import theme

_MAX_DOTS = 40
"""Maximum number of validation points that are also drawn as dots; a single point is not a line."""
_MAX_ROUND_JOINS = 100
"""Maximum number of points for round joins."""
_SPARSE_PIXELS = 3
"""Minimum distance of points in pixels for drawing segments individually, with antialiasing on all sides."""
_NOISE_SLOPE = 3
"""Mean vertical pixels per horizontal pixel beyond which a curve is noise."""
_RAW_OPACITY = 0.4
"""Opacity of raw values."""
_VARIANT_SHARE = 0.5
"""Share of the text color in a variant of a run's color."""
_DIMMED_OPACITY = 0.25
"""Opacity of the other runs while one is highlighted."""
_DASH = 6.0
"""Pixels of a dash and of a gap."""
_MAX_CURVE_LENGTH = 100_000.0
"""Curve length in pixels after which drawing stops: the rest is outside the view or noise."""
_PIECES = 12
"""Number of pieces into which a logarithmic axis is divided."""
_MAX_SYNC_VALUES = 500_000
"""Maximum number of values smoothed in the GUI thread per paint, which takes a few milliseconds."""
_LEVELS = 3
"""Block size of the extremes that the thread computes: thousands of values."""
_POLL_MS = 15
"""Milliseconds between checks whether smoothing is done."""


@dataclass(frozen=True, slots=True)
class PlotOptions:
    """Options that all plots of the panel share."""

    train: bool = True
    validation: bool = True
    axis: Axis = "epoch"
    log_x: bool = False
    log_y: bool = False
    smoothing: float = 0.9


@dataclass(frozen=True, slots=True)
class _Line:
    """A curve to draw."""

    run: Run
    curve: Curve
    kind: MetricKind
    is_faint: bool = False
    share: float = 0.0
    """Smoothing factor; 0 for raw values."""

    @property
    def column(self) -> CurveColumn:
        return self.curve.column


class CurvesItem(pg.GraphicsObject):
    """Train solid over raw values, validation dashed, one color per run. Positions are in pixels, so that zooming does
    not widen pens."""

    def __init__(self, quantity: str) -> None:
        super().__init__()
        self._quantity = quantity
        self._runs: Sequence[Run] = ()
        self.shown = PlotOptions()
        self.highlighted: Run | None = None
        self._bands: dict[object, Band] = {}
        """Cached paths by their inputs; unused ones are dropped."""
        self._picture: tuple[object, QImage] | None = None
        """Last image and the inputs that it depends on."""
        self._unsmoothed: list[CurveColumn] = []
        """Columns to smooth in the thread."""
        self._smoothing: Future[list[tuple[CurveColumn, int, SmoothedBlocks]]] | None = None
        self._poll = QTimer(self)
        self._poll.setInterval(_POLL_MS)
        self._poll.timeout.connect(self._take_smoothed)

    def show_runs(self, runs: Sequence[Run], shown: PlotOptions, highlighted: Run | None) -> None:
        self._runs = [run for run in runs if run.is_shown]
        self.shown, self.highlighted = shown, highlighted
        self.informViewBoundsChanged()
        self.prepareGeometryChange()
        self.update()

    @property
    def points(self) -> int:
        """Number of points of all drawn curves."""
        return sum(len(line.curve) for line in self._lines())

    @property
    def is_smoothing(self) -> bool:
        """Whether curves are still being smoothed."""
        return self._smoothing is not None

    # -- pyqtgraph interface

    def boundingRect(self) -> QRectF:
        found = self.viewRect()
        return QRectF() if found is None else found.normalized()

    def dataBounds(self, ax: int, frac: float = 1.0, orthoRange: object = None) -> tuple[float, float] | None:
        """Bounds of all curves in view coordinates; logarithms on logarithmic axes."""
        is_log = self.shown.log_y if ax else self.shown.log_x
        lows: list[float] = []
        highs: list[float] = []
        for line in self._lines():
            if line.share:
                continue  # smoothed values stay within the range of the raw ones
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
        area = transform.mapRect(view).toAlignedRect()
        ratio = painter.device().devicePixelRatioF()
        shares = self._shares(view, round(area.width() * ratio))
        key = self._cache_key(view, area, ratio, shares)
        if self._picture is None or self._picture[0] != key:
            self._picture = key, self._painted(view, area, ratio, shares, transform)
        painter.save()
        painter.resetTransform()
        painter.drawImage(area.topLeft(), self._picture[1])
        painter.restore()
        self._smooth_late()

    # -- smoothing

    def _shares(self, view: QRectF, width: int) -> list[tuple[_Line, float | None]]:
        """Curves in drawing order, each with the smoothing factor available now (None if none yet). Long curves are
        smoothed in one batch in the thread."""
        lines = sorted(self._lines(), key=self._depth)
        behind = {line: line.column.count_unsmoothed(line.share) for line in lines if line.share}
        fresh = [
            line
            for line, count in behind.items()
            if (not _has_course(line) or count > _MAX_SYNC_VALUES) and self._is_far(line, view, width)
        ]
        is_smoothing = sum(behind[line] for line in fresh) > _MAX_SYNC_VALUES
        self._unsmoothed = [line.column for line in fresh] if is_smoothing else []
        late = set(fresh) if is_smoothing else set[_Line]()
        return [(line, _share_before(line) if line in late else line.share) for line in lines]

    def _is_far(self, line: _Line, view: QRectF, width: int) -> bool:
        """Whether enough of the curve is visible to need its smoothed course."""
        x, unit = line.curve.positions(self.shown.axis), line.curve.unit(self.shown.axis)
        left, right = view.left(), view.right()
        if self.shown.log_x:
            return True
        return needs_smoothed_blocks(x, left * unit, right * unit, width)

    def _smooth_late(self) -> None:
        if self._unsmoothed and self._smoothing is None:
            columns = [(column, column.cut_count, column.values) for column in self._unsmoothed]
            self._smoothing = _pool().submit(_smoothed, columns, self.shown.smoothing)
            self._poll.start()

    def _take_smoothed(self) -> None:
        if self._smoothing is None or not self._smoothing.done():
            return
        for column, cuts, course in self._smoothing.result():
            if column.cut_count == cuts:
                column.smoothed = course
        self._smoothing = None
        self._poll.stop()
        self.update()

    # -- painting

    def _lines(self) -> Iterator[_Line]:
        shown = self.shown
        for run in self._runs:
            train, validation = run.curve(self._quantity, "train"), run.curve(self._quantity, "validation")
            if shown.validation and validation is not None and len(validation):
                yield _Line(run, validation, "validation")
            if shown.train and train is not None and len(train):
                share = shown.smoothing if len(train) > 1 else 0.0
                if share:
                    yield _Line(run, train, "train", is_faint=True)
                yield _Line(run, train, "train", share=share)

    def _depth(self, line: _Line) -> tuple[bool, bool]:
        return line.run is self.highlighted, not line.is_faint

    def _cache_key(
        self, view: QRectF, area: QRect, ratio: float, shares: Sequence[tuple[_Line, float | None]]
    ) -> object:
        """Inputs of the cached image."""
        lines = [
            (line.run, line.run.color, line.column, len(line.column), line.run.version, line.kind, line.is_faint, share)
            for line, share in shares
        ]
        axes = self.shown.axis, self.shown.log_x, self.shown.log_y
        return view.getCoords(), area.getCoords(), ratio, axes, self.highlighted, theme.current().name, lines

    def _painted(
        self,
        view: QRectF,
        area: QRect,
        ratio: float,
        shares: Sequence[tuple[_Line, float | None]],
        transform: QTransform,
    ) -> QImage:
        width, height = round(area.width() * ratio), round(area.height() * ratio)
        bands: dict[object, Band] = {}
        begin = QPointF(transform.dx() - area.left(), transform.dy() - area.top())
        with CurveRasterizer(width, height) as raster:
            for line, share in shares:
                if share is None:
                    continue
                band = self._band(line, share, view, width, bands)
                x = (band.x * transform.m11() + begin.x()) * ratio
                low = (band.low * transform.m22() + begin.y()) * ratio
                high = low if band.high is band.low else (band.high * transform.m22() + begin.y()) * ratio
                self._draw(raster, line, x, low, high, ratio)
            picture = raster.picture
        self._bands = bands
        picture.setDevicePixelRatio(ratio)
        return picture

    def _band(self, line: _Line, share: float, view: QRectF, width: int, bands: dict[object, Band]) -> Band:
        shown = self.shown
        view_key = (view.left(), view.right(), width, shown.axis, shown.log_x, shown.log_y)
        key = (line.column, len(line.column), line.run.version, share, view_key)
        band = self._bands.get(key)
        if band is None:
            x, unit = line.curve.positions(shown.axis), line.curve.unit(shown.axis)
            if shown.log_x:
                band = _logarithmic_band(line.column, x, unit, view, width, share)
            else:
                few = width if line.is_faint else 2 * width
                band = line.column.band(x, view.left() * unit, view.right() * unit, width, few, decay=share)
                band = Band(band.x / unit, band.low, band.high)
            if shown.log_y:
                band = logarithmic(band)
        bands[key] = band
        return band

    def _draw(self, raster: CurveRasterizer, line: _Line, x: Array, low: Array, high: Array, ratio: float) -> None:
        color, surface = run_color(line.run), theme.current().color("surface")
        if line.is_faint:
            color = theme.mix(surface, color, _RAW_OPACITY)
        if self.highlighted is not None and line.run is not self.highlighted:
            color = theme.mix(surface, color, _DIMMED_OPACITY)
        is_dashed, has_few = line.kind == "validation", len(x) <= _MAX_ROUND_JOINS
        thickness = ratio if line.is_faint else 2 * ratio
        if low is high and _is_sparse(x, ratio) and not (is_dashed and _is_steep(x, low)):
            found = _dashes(x, low, _DASH * ratio) if is_dashed else _links(x, low)
            raster.lines(found, color, thickness, is_smooth=not line.is_faint or has_few, has_round_ends=has_few)
        else:
            dash = _DASH * ratio if is_dashed else 0.0
            raster.fill(x, low, high, color, thickness, is_soft=not line.is_faint, dash=dash)
        if (is_dashed and len(line.curve) <= _MAX_DOTS) or len(line.curve) == 1:
            raster.dots(x, low, color, 2.5 * ratio)


def run_color(run: Run) -> QColor:
    """Curve color of a run. Runs beyond the theme's colors get variants mixed with the text color."""
    series = theme.current().series
    round_, index = divmod(run.number - 1 if run.color is None else run.color, len(series))
    color = QColor(series[index])
    return theme.mix(color, theme.current().color("text"), _VARIANT_SHARE) if round_ % 2 else color


def _ends(curve: Curve, axis: Axis, *, positive: bool) -> tuple[float, float] | None:
    x, unit = curve.positions(axis), curve.unit(axis)
    first = int(np.searchsorted(x, 0.0, "right")) if positive else 0
    return (float(x[first]) / unit, float(x[-1]) / unit) if first < len(x) else None


def _logarithmic_band(column: CurveColumn, x: Array, unit: float, view: QRectF, width: int, share: float) -> Band:
    """The band on a logarithmic axis, computed in pieces of equal width: the last piece has the most points."""
    edges = np.linspace(view.left(), view.right(), _PIECES + 1).clip(-300, 300)
    columns = -(-2 * width // _PIECES)  # points are half as dense at the start of a piece as on average
    first = int(np.searchsorted(x, 0.0, "right"))
    parts = [
        column.band(x, unit * 10.0**left, unit * 10.0**right, columns, decay=share)
        for left, right in pairwise(edges.tolist())
    ]
    joined = Band(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    is_positive = joined.x > 0 if first else slice(None)
    return Band(np.log10(joined.x[is_positive] / unit), joined.low[is_positive], joined.high[is_positive])


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """A single thread that smooths for all plots."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="smoothing")


def _smoothed(
    columns: Sequence[tuple[CurveColumn, int, Array]], share: float
) -> list[tuple[CurveColumn, int, SmoothedBlocks]]:
    """Runs in the thread: smooth the given columns."""
    found: list[tuple[CurveColumn, int, SmoothedBlocks]] = []
    for column, cuts, values in columns:
        course = SmoothedBlocks(share)
        course.follow(values)
        course.extremes.level(_LEVELS)
        found.append((column, cuts, course))
    return found


def _has_course(line: _Line) -> bool:
    """Whether a curve was smoothed with this factor before."""
    return line.column.smoothed is not None and line.column.smoothed.decay == line.share


def _share_before(line: _Line) -> float | None:
    """The smoothing factor that was last drawn, if any."""
    return None if line.column.smoothed is None or _has_course(line) else line.column.smoothed.decay


def _is_sparse(x: Array, ratio: float) -> bool:
    """Whether points are far enough apart to draw segments individually."""
    return len(x) <= _MAX_ROUND_JOINS or float(x[-1] - x[0]) > _SPARSE_PIXELS * ratio * len(x)


def _is_steep(x: Array, y: Array) -> bool:
    """Whether a curve oscillates too much for dashes to be visible."""
    return float(np.nansum(np.abs(np.diff(y)))) > _NOISE_SLOPE * float(x[-1] - x[0])


def _links(x: Array, y: Array) -> Array:
    return np.stack([x[:-1], y[:-1], x[1:], y[1:]], axis=1)


def _dashes(x: Array, y: Array, long: float) -> Array:
    """Dashes along a curve. Qt's dashed pens take a hundred times as long."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 2:
        return np.empty((0, 4))
    distances = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    begins = np.arange(0.0, min(distances[-1], _MAX_CURVE_LENGTH), 2 * long)
    ends = np.minimum(begins + long, distances[-1])
    return np.stack([np.interp(at, distances, values) for at in (begins, ends) for values in (x, y)], axis=1)


__all__ = ["CurvesItem", "PlotOptions", "run_color"]
