"""The bundled text, and the chaotic series."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from engine import data
from engine.errors import DataError


def test_bundled_text_is_complete() -> None:
    source = data.Shakespeare(length=50)
    assert source.input.shape == (50,)
    assert source.classes == 62
    assert len(source.train) == 1800
    inputs, targets = source.train.arrays(np.array([0]))
    assert source.decode(inputs[0]).startswith("First Citizen:\nBefore we proceed")
    np.testing.assert_array_equal(inputs[0, 1:], targets[0, :-1])


def test_series_follows_its_equation() -> None:
    """Central differences of the values, which are one unit of time apart, are the right side of the equation."""
    samples = data.MackeyGlass(values=500, length=18, horizon=2, validation=0.0).train
    inputs, targets = samples.arrays(np.arange(len(samples)))
    now, past, before, after = inputs[:, 17, 0], inputs[:, 0, 0], inputs[:, 16, 0], targets[:, 0]
    slope = 0.2 * past / (1 + past**10) - 0.1 * now
    assert np.abs((after - before) / 2 - slope).max() < 0.01
    assert np.abs(slope).max() > 0.07
    assert 0.2 < now.min() < now.max() < 1.5


def test_targets_continue_inputs() -> None:
    source = data.MackeyGlass(values=100, length=8, horizon=3, validation=0.2)
    assert (source.input.shape, source.target.shape) == ((8, 1), (3,))
    train, validation = source.train, source.validation
    assert validation is not None
    assert (len(train), len(validation)) == (70, 10)
    inputs, targets = train.arrays(np.array([0, 3]))
    assert inputs.shape == (2, 8, 1)
    np.testing.assert_array_equal(targets[0], train.arrays(np.array([3]))[0][0, 5:, 0])
    assert len(pickle.dumps(train)) < 2000


def test_the_seed_determines_the_series() -> None:
    first, second, other = (data.MackeyGlass(values=60, noise=0.1, seed=seed).train for seed in (1, 1, 2))
    rows = np.arange(3)
    np.testing.assert_array_equal(first.arrays(rows)[0], second.arrays(rows)[0])
    assert not np.array_equal(first.arrays(rows)[0], other.arrays(rows)[0])


def test_a_short_series_is_refused() -> None:
    with pytest.raises(DataError, match="the validation part has 10 values, but an input and its target need 33"):
        data.MackeyGlass(values=50).check()
