"""The exponential mean, of stretches and of blocks: what is written down as it is said, for any values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.training.runs.smoothing import SmoothedBlocks, smooth, smooth_at, window_length

SHARES = st.floats(0.01, 0.99)


def plain_mean(values: np.ndarray, share: float) -> np.ndarray:
    """Of all values so far, each weighs `share` of the next one."""
    found, above, below = [], 0.0, 0.0
    for value in values:
        above, below = above * share, below * share
        if math.isfinite(value):
            above, below = above + value, below + 1
        found.append(above / below if below * (1 - share) > 1e-200 else math.nan)
    return np.array(found)


def noise(count: int, seed: int = 0, missing: float = 0.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.normal(size=count)
    values[random.random(count) < missing] = math.nan
    return values


@given(SHARES, st.integers(1, 20_000), st.sampled_from([0.0, 0.01, 0.9]), st.floats(0, 1), st.floats(0, 1))
def test_any_stretch_is_the_exponential_mean(
    share: float, count: int, missing: float, one: float, other: float
) -> None:
    values = noise(count, missing=missing)
    first, last = sorted((int(one * count), int(other * count) + 1))
    expected = plain_mean(values, share)
    np.testing.assert_allclose(smooth(values, share)[first:last], expected[first:last], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(smooth(values, share, first, last), expected[first:last], rtol=1e-9, atol=1e-12)


@given(SHARES, st.integers(0, 5000), st.lists(st.floats(-1e100, 1e100) | st.just(math.nan), min_size=1, max_size=300))
def test_one_place_needs_no_others(share: float, before: int, last: list[float]) -> None:
    values = np.concatenate([noise(before), last])
    expected = plain_mean(values, share)[-1]
    scale = np.nanmax(np.abs(values), initial=0)
    found = smooth_at(values, share, len(values) - 1)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale, nan_ok=True)


@given(SHARES, st.integers(0, 20_000), st.integers(1, 9), st.sampled_from([0.0, 0.01, 0.99]))
def test_a_course_has_the_extremes_of_each_block_however_the_values_come(
    share: float, count: int, pieces: int, missing: float
) -> None:
    values = noise(count, missing=missing)
    course = SmoothedBlocks(share)
    for end in np.linspace(0, count, pieces + 1).astype(int)[1:]:
        course.follow(values[:end])
    whole = count // 64 * 64
    blocks = plain_mean(values[:whole], share).reshape(-1, 8)
    low, high = course.extremes.level(0)
    assert len(course) == whole
    np.testing.assert_allclose(low, np.fmin.reduce(blocks, axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(high, np.fmax.reduce(blocks, axis=1), rtol=1e-9, atol=1e-12)


def test_there_is_no_bias_at_the_start() -> None:
    np.testing.assert_allclose(smooth(np.full(50, 3.0), 0.99), 3.0)
    assert smooth(noise(5), 0.0).tolist() == noise(5).tolist()
    assert smooth(noise(5), 0.5)[0] == noise(5)[0]


def test_what_lies_beyond_its_reach_does_not_count() -> None:
    assert 0.9 ** window_length(0.9) <= 1e-17 < 0.9 ** (window_length(0.9) - 1)
    values = noise(10_000)
    spoilt = values.copy()
    spoilt[:5000] += 1.0
    assert smooth(spoilt, 0.99, 9500, 10_000).tolist() == smooth(values, 0.99, 9500, 10_000).tolist()
