"""Curves however long: what is drawn of them, smoothed or not, is what a look at every point would give."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from studio.training.runs.curves import Band, CurveColumn, CurveTable, logarithmic
from studio.training.runs.smoothing import smooth


def column(values: np.ndarray, *, pieces: int = 1) -> CurveColumn:
    made = CurveColumn()
    for piece in np.array_split(values.astype(np.float64), pieces):
        made.extend(piece)
        made.bounds()  # reading in between must not change the result
    return made


def noise(count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=count)


@given(
    count=st.integers(1, 5000),
    pieces=st.integers(1, 9),
    columns=st.integers(1, 60),
    sides=st.tuples(st.floats(-0.2, 1.2), st.floats(-0.2, 1.2)),
)
def test_a_band_covers_every_point_in_view_and_nothing_else(
    count: int, pieces: int, columns: int, sides: tuple[float, float]
) -> None:
    values, x = noise(count), np.arange(float(count))
    left, right = min(sides) * count, max(sides) * count + 1e-3
    band = column(values, pieces=pieces).band(x, left, right, columns)
    inside = values[(x >= left) & (x <= right)]
    assert (np.diff(band.x) > 0).all()
    assert set(band.low) | set(band.high) <= set(values)
    if len(inside):
        assert np.nanmin(band.low) <= inside.min() and np.nanmax(band.high) >= inside.max()
    assert len(band.x) <= 2 * columns + 3


@given(
    count=st.integers(1, 30_000),
    pieces=st.integers(1, 5),
    columns=st.integers(2, 60),
    share=st.floats(0.01, 0.99),
    sides=st.tuples(st.floats(-0.2, 1.2), st.floats(-0.2, 1.2)),
)
def test_a_smoothed_band_covers_the_whole_course_in_view_and_nothing_else(
    count: int, pieces: int, columns: int, share: float, sides: tuple[float, float]
) -> None:
    values, x = noise(count), np.arange(float(count))
    left, right = min(sides) * count, max(sides) * count + 1e-3
    made = CurveColumn()
    for piece in np.array_split(values, pieces):
        made.extend(piece)
        made.band(np.arange(float(len(made))), left, right, columns, decay=share)
    course = smooth(values, share)
    band = made.band(x, left, right, columns, decay=share)
    inside = course[(x >= left) & (x <= right)]
    for found in (band.low, band.high):
        nearest = course[np.abs(course - found[:, None]).argmin(axis=1)]
        np.testing.assert_allclose(found, nearest, rtol=1e-9, atol=1e-12)
    if len(inside):
        assert band.low.min() <= inside.min() + 1e-12 and band.high.max() >= inside.max() - 1e-12


def test_another_smoothing_and_a_truncation_are_smoothed_again() -> None:
    made, x = column(noise(6400)), np.arange(6400.0)
    made.band(x, 0, 6400, 20, decay=0.9)
    assert made.count_unsmoothed(0.9) == 0 and made.count_unsmoothed(0.5) == 6400
    made.cut(3200)
    made.extend(np.ones(3200))
    band = made.band(x, 0, 6400, 20, decay=0.9)
    expected = smooth(np.concatenate([noise(6400)[:3200], np.ones(3200)]), 0.9)
    assert band.high.max() == expected.max() and abs(band.high[-1] - 1) < 1e-12


def test_a_band_is_drawn_from_few_numbers() -> None:
    made, x = column(noise(1_000_000)), np.arange(1e6)
    band = made.band(x, 0, 1e6, 800)
    assert len(band.x) <= 801
    shares = np.abs(band.high - band.low)
    assert np.median(shares) > 5  # of 1,250 normal numbers each, from about -3.2 to 3.2
    few = made.band(x, 500, 510, 800)
    assert few.x.tolist() == list(range(499, 512))
    assert few.low is few.high


def test_bounds_leave_out_what_cannot_be_shown() -> None:
    made = column(np.array([math.nan, -1.0, 0.0, 0.5, math.inf, 4.0] * 40))
    assert made.bounds() == (-1.0, 4.0)
    low, high = made.bounds(positive=True) or (0, 0)
    assert 0 < low <= 4 and high == 4.0
    made.extend(np.array([9.0, -7.0]))
    assert made.bounds() == (-7.0, 9.0)
    made.cut(len(made) - 2)
    assert made.bounds() == (-1.0, 4.0)
    assert CurveColumn().bounds() is None
    assert column(np.array([-1.0, 0.0])).bounds(positive=True) is None


def test_on_a_logarithmic_axis_only_positive_values_are_left() -> None:
    band = logarithmic(Band(np.arange(3.0), np.array([-1.0, 0.1, -3.0]), np.array([10.0, 100.0, 0.0])))
    np.testing.assert_allclose(band.low, [1.0, -1.0, math.nan])
    np.testing.assert_allclose(band.high, [1.0, 2.0, math.nan])


def test_a_track_keeps_its_columns_alike() -> None:
    track = CurveTable()
    track.extend(np.array([1.0, 2.0]), np.array([0.1, 0.2]), {"loss": np.array([3.0, 2.0])})
    track.extend(np.array([3.0]), np.array([0.4]), {"accuracy": np.array([0.5])})
    assert {name: len(column) for name, column in track.columns.items()} == {"loss": 3, "accuracy": 3}
    np.testing.assert_equal(track.columns["accuracy"].values, [math.nan, math.nan, 0.5])
    assert track.positions("epoch").tolist() == [1.0, 2.0, 3.0]
    track.cut(1)
    assert len(track) == 1
    track.extend(np.array([2.0]), np.array([0.3]), {"loss": np.array([9.0])})
    assert track.columns["loss"].values.tolist() == [3.0, 9.0]
    assert track.positions("seconds").tolist() == [0.1, 0.3]
