"""Curves however long: what is drawn of them, smoothed or not, is what a look at every point would give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.training.runs.curves import Band, Column, Track, logarithmic


def column(values: np.ndarray, *, pieces: int = 1) -> Column:
    made = Column()
    for piece in np.array_split(values.astype(np.float64), pieces):
        made.extend(piece)
        made.bounds()  # whoever looks in between must not change what comes out
    return made


def plain_mean(values: np.ndarray, share: float) -> np.ndarray:
    """Written down as it is said: of all values so far, each weighs `share` of the next one."""
    found = []
    for end in range(1, len(values) + 1):
        weights = share ** np.arange(end - 1, -1, -1) * np.isfinite(values[:end])
        known = np.where(np.isfinite(values[:end]), values[:end], 0)
        found.append((weights * known).sum() / weights.sum() if weights.sum() else math.nan)
    return np.array(found)


def noise(count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=count)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("pieces", [1, 7, 300])
def test_smoothing_is_the_exponential_mean_however_the_values_come(share: float, pieces: int) -> None:
    values = noise(300)
    values[[0, 5, 117]] = math.nan, math.inf, math.nan
    made = Column()
    for piece in np.array_split(values, pieces):
        made.extend(piece)
        made.smoothed(share)
    np.testing.assert_allclose(made.smoothed(share).values, plain_mean(values, share), rtol=1e-10)


def test_smoothing_has_no_bias_at_the_beginning() -> None:
    np.testing.assert_allclose(column(np.full(50, 3.0)).smoothed(0.99).values, 3.0)
    assert column(noise(5)).smoothed(0.0).values.tolist() == noise(5).tolist()


def test_another_share_and_a_cut_are_smoothed_anew() -> None:
    made = column(noise(100))
    made.smoothed(0.9)
    np.testing.assert_allclose(made.smoothed(0.5).values, plain_mean(noise(100), 0.5), rtol=1e-10)
    made.cut(40)
    made.extend(np.ones(3))
    values = np.concatenate([noise(100)[:40], np.ones(3)])
    np.testing.assert_allclose(made.smoothed(0.5).values, plain_mean(values, 0.5), rtol=1e-10)


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
    assert Column().bounds() is None
    assert column(np.array([-1.0, 0.0])).bounds(positive=True) is None


def test_on_a_logarithmic_axis_only_positive_values_are_left() -> None:
    band = logarithmic(Band(np.arange(3.0), np.array([-1.0, 0.1, -3.0]), np.array([10.0, 100.0, 0.0])))
    np.testing.assert_allclose(band.low, [1.0, -1.0, math.nan])
    np.testing.assert_allclose(band.high, [1.0, 2.0, math.nan])


def test_a_track_keeps_its_columns_alike() -> None:
    track = Track()
    track.extend(np.array([1.0, 2.0]), np.array([0.1, 0.2]), {"loss": np.array([3.0, 2.0])})
    track.extend(np.array([3.0]), np.array([0.4]), {"accuracy": np.array([0.5])})
    assert {name: len(column) for name, column in track.columns.items()} == {"loss": 3, "accuracy": 3}
    np.testing.assert_equal(track.columns["accuracy"].values, [math.nan, math.nan, 0.5])
    assert track.places("epoch").tolist() == [1.0, 2.0, 3.0]
    track.cut(1)
    assert len(track) == 1
    track.extend(np.array([2.0]), np.array([0.3]), {"loss": np.array([9.0])})
    assert track.columns["loss"].values.tolist() == [3.0, 9.0]
    assert track.places("seconds").tolist() == [0.1, 0.3]
