from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import data
from engine.data.synthetic import Synthetic
from engine.dtypes import from_numpy
from engine.errors import DataError
from engine.registry import DATASETS
from engine.shape import Spec

KINDS: list[Any] = [entry.target for entry in DATASETS if issubclass(entry.target, Synthetic)]


def drawn(source: Synthetic) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    samples = source.samples
    inputs, targets = samples.arrays(np.arange(len(samples)))
    return np.asarray(inputs), np.asarray(targets)


@pytest.mark.parametrize("kind", KINDS)
def test_data_depend_on_the_seed(kind: Any) -> None:
    inputs, targets = drawn(kind(samples=50, seed=3))
    again, other = drawn(kind(samples=50, seed=3)), drawn(kind(samples=50, seed=4))
    np.testing.assert_array_equal(again[0], inputs)
    np.testing.assert_array_equal(again[1], targets)
    assert (other[0] != inputs).any()
    source = kind(samples=50)
    assert (source.input, source.target) == tuple(Spec(a.shape[1:], from_numpy(a.dtype)) for a in (inputs, targets))
    assert (len(source.train), len(source.validation)) == (40, 10)
    assert np.isfinite(inputs).all()
    if source.classes is not None:
        assert sorted(set(targets.tolist())) == list(range(source.classes))


def test_spirals() -> None:
    points, labels = drawn(data.Spirals(300, classes=3, turns=1.0, noise=0.0))
    radius = np.hypot(*points.T)
    angle = 2 * np.pi * (radius + labels / 3)
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    np.testing.assert_allclose(points, expected, atol=1e-4)
    assert radius.max() <= 1.0001


def test_moons_and_circles() -> None:
    points, labels = drawn(data.Moons(200, noise=0.0))
    upper, lower = points[labels == 0], points[labels == 1]
    np.testing.assert_allclose(np.hypot(*upper.T), 1, atol=1e-5)
    np.testing.assert_allclose(np.hypot(*(lower - [1, 0.5]).T), 1, atol=1e-5)
    assert upper[:, 1].min() >= -1e-6 and lower[:, 1].max() <= 0.5 + 1e-6
    points, labels = drawn(data.Circles(200, classes=4, noise=0.0))
    np.testing.assert_allclose(np.hypot(*points.T), (labels + 1) / 4, rtol=1e-5)


def test_blobs() -> None:
    points, labels = drawn(data.Blobs(3000, features=4, spread=0.1))
    for number in range(3):
        np.testing.assert_allclose(points[labels == number].std(0), 0.1, rtol=0.15)


def test_regression() -> None:
    x, y = drawn(data.Regression(200, features=3, noise=0.0))
    _, residue, *_ = np.linalg.lstsq(x.astype(np.float64), y, rcond=None)
    assert residue.max() < 1e-9
    x, y = drawn(data.Regression(200, features=3, noise=0.0, function="sines"))
    assert np.linalg.lstsq(np.sin(np.pi * x.astype(np.float64)), y, rcond=None)[1].max() < 1e-6
    x, y = drawn(data.Regression(50, features=6, noise=0.0, function="friedman"))
    x = x.astype(np.float64)
    expected = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    np.testing.assert_allclose(y[:, 0], expected, rtol=1e-5)
    with pytest.raises(DataError, match="needs 5 features"):
        data.Regression(features=4, function="friedman")


def test_sequences() -> None:
    x, y = drawn(data.Sequences(50, length=8))
    assert x[:, :, 1].sum(1).tolist() == [2] * 50
    np.testing.assert_allclose(y[:, 0], (x[:, :, 0] * x[:, :, 1]).sum(1), rtol=1e-6)
    x, y = drawn(data.Sequences(50, length=8, task="parity"))
    np.testing.assert_array_equal(y, x.sum((1, 2)) % 2)
    x, y = drawn(data.Sequences(50, length=9, task="sine", noise=0.0))
    # A sine is determined by its previous two values: s(t+1) = 2 cos(ω) s(t) - s(t-1).
    ratio = (x[:, 2, 0] + x[:, 0, 0]) / x[:, 1, 0]
    clear = np.abs(x[:, 1, 0]) > 0.1
    np.testing.assert_allclose(y[clear, 0], (ratio * x[:, -1, 0] - x[:, -2, 0])[clear], atol=1e-4)
