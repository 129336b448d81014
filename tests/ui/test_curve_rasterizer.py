"""The curve rasterizer paints exactly the pixels that a curve covers."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QImage

from studio.ui.panels.runs.curve_rasterizer import CurveRasterizer

RED = QColor(200, 40, 30)
WIDTH, HEIGHT = 60, 40

point_lists = st.lists(st.tuples(st.floats(-20, 80), st.floats(-30, 70), st.floats(0, 25)), min_size=1, max_size=200)


def pixel_coverage(picture: QImage) -> np.ndarray:
    """The painted share of each pixel, as an array of rows."""
    return np.array([[picture.pixelColor(x, y).alphaF() for x in range(WIDTH)] for y in range(HEIGHT)])


def paint_curve(points: list[tuple[float, float, float]], thickness: float, **options: float | bool) -> np.ndarray:
    with CurveRasterizer(WIDTH, HEIGHT) as raster:
        x, low, size = np.array(sorted(points)).T
        raster.fill(x, low + size, low, RED, thickness, **{"is_soft": True, **options})  # values rise as rows fall
        return pixel_coverage(raster.picture)


@given(point_lists, st.floats(1, 4))
def test_every_point_is_covered_and_columns_touch(points: list[tuple[float, float, float]], thickness: float) -> None:
    coverage = paint_curve(points, thickness)
    for x, low, size in points:
        row, column = int(low + size / 2), math.floor(x)
        if 0 <= column < WIDTH and 0 <= low + size / 2 < HEIGHT:
            assert coverage[row, column] > 0.4
    begin, end = min(x for x, _, _ in points), max(x for x, _, _ in points)
    for column in range(max(math.floor(begin), 0), min(math.floor(end), WIDTH - 1)):
        here, there = np.flatnonzero(coverage[:, column]), np.flatnonzero(coverage[:, column + 1])
        if len(here) and len(there):
            assert here.min() <= there.max() + 1 and there.min() <= here.max() + 1


@given(point_lists, st.floats(1, 4), st.booleans())
def test_nothing_is_painted_beyond_the_points(
    points: list[tuple[float, float, float]], thickness: float, is_soft: bool
) -> None:
    coverage = paint_curve(points, thickness, is_soft=is_soft)
    top, bottom = min(low for _, low, _ in points), max(low + size for _, low, size in points)
    rows = np.flatnonzero(coverage.any(axis=1))
    columns = np.flatnonzero(coverage.any(axis=0))
    reach = thickness / 2 + 1
    assert all(top - reach <= row + 1 and row <= bottom + reach for row in rows)
    xs = [x for x, _, _ in points]
    assert all(min(xs) - reach <= column + 1 and column <= max(xs) + reach for column in columns)


def test_horizontal_line_has_the_pen_width_at_any_height() -> None:
    for y in (10.0, 10.25, 10.5, 10.9):
        coverage = paint_curve([(0.0, y, 0.0), (59.0, y, 0.0)], 2.0)
        np.testing.assert_allclose(coverage.sum(axis=0)[:59], 2.0, atol=0.03)
        assert (coverage[9:12, :59].sum(axis=0) > 1.9).all()
    hard = paint_curve([(0.0, 10.3, 0.0), (59.0, 10.3, 0.0)], 1.0, is_soft=False)
    assert set(np.flatnonzero(hard.any(axis=1))) == {10}


def test_later_curves_cover_earlier_ones_and_edges_are_blended() -> None:
    with CurveRasterizer(WIDTH, HEIGHT) as raster:
        x = np.arange(60.0)
        raster.fill(x, np.full(60, 30.0), np.full(60, 5.0), QColor(0, 0, 200), 1.0, is_soft=False)
        raster.fill(x, np.full(60, 19.5), np.full(60, 10.5), QColor(200, 0, 0), 2.0, is_soft=True)
        picture = raster.picture
    assert picture.pixelColor(30, 7).getRgb() == (0, 0, 200, 255)
    assert picture.pixelColor(30, 15).getRgb() == (200, 0, 0, 255)
    mixed = picture.pixelColor(30, 9)
    assert mixed.alpha() == 255 and abs(mixed.red() - 100) < 3 and abs(mixed.blue() - 100) < 3


def test_gaps_and_dashes_are_not_painted() -> None:
    with CurveRasterizer(WIDTH, HEIGHT) as raster:
        x = np.arange(60.0)
        y = np.where((x > 20) & (x < 40), math.nan, 20.0)
        raster.fill(x, y, y, RED, 1.0, is_soft=False)
        assert set(np.flatnonzero(pixel_coverage(raster.picture).any(axis=0))) == set(range(21)) | set(range(40, 60))
    columns = np.flatnonzero(paint_curve([(0.0, 20.0, 0.0), (59.0, 20.0, 0.0)], 2.0, dash=6.0).any(axis=0))
    assert set(columns) == {column for column in range(60) if column % 12 < 6}


def test_positions_of_straight_lines_and_dots() -> None:
    with CurveRasterizer(WIDTH, HEIGHT) as raster:
        raster.lines(
            np.array([[5.0, 10.0, 25.0, 30.0], [0, math.nan, 1, 1]]), RED, 2.0, is_smooth=True, has_round_ends=True
        )
        raster.dots(np.array([50.0, math.nan]), np.array([8.0, 1.0]), RED, 2.5)
        coverage = pixel_coverage(raster.picture)
    assert coverage[15, 10] > 0.5 and coverage[25, 20] > 0.5 and coverage[10, 15] == 0 and coverage[20, 10] == 0
    assert coverage[8, 50] == 1 and coverage[8, 45] == 0 and coverage[:, 40].sum() == 0
