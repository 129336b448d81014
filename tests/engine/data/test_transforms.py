from __future__ import annotations

import numpy as np
import pytest

from engine import data, dtypes
from engine.data import transforms
from engine.errors import ShapeError
from engine.shape import Spec

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 3, 4, 4), dtype=np.uint8)


def test_normalize_with_one_number() -> None:
    scaled = transforms.Normalize(100, 50)(IMAGES)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, (IMAGES.astype(np.float64) - 100) / 50, atol=1e-6)


def test_normalize_per_channel() -> None:
    mean, std = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
    scaled = transforms.Normalize(mean, std)(IMAGES)
    expected = (IMAGES - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    np.testing.assert_allclose(scaled, expected, rtol=1e-6)
    rows = np.ones((2, 3))
    assert transforms.Normalize(mean, 1.0)(rows).tolist() == [[0, -1, -2]] * 2
    assert repr(transforms.Normalize(mean, 2)) == "Normalize(mean=(1.0, 2.0, 3.0), std=2.0)"


def test_normalize_errors() -> None:
    with pytest.raises(ShapeError, match="numbers for 3 channels, but samples are 1×8×8"):
        transforms.Normalize((0.0, 0.0, 0.0)).spec(Spec((1, 8, 8), dtypes.uint8))
    with pytest.raises(ShapeError, match="channels"):
        data.Digits().map(transforms.Normalize((0.0, 0.0)))
    with pytest.raises(ValueError, match="std must not be 0"):
        transforms.Normalize(0, 0)


def test_mapped_splits() -> None:
    source = data.ArraySplits((IMAGES, np.arange(5)), (IMAGES[:2], np.arange(2)))
    mapped = source.map(transforms.Normalize(0, 255)).map(transforms.Normalize(1, 1))
    assert (mapped.input, mapped.target) == (Spec((3, 4, 4), dtypes.float32), Spec((), dtypes.int64))
    assert (mapped.classes, mapped.files) == (5, ())
    batches = data.Batches(mapped, batch_size=2, shuffle=False)
    image, label = next(iter(batches.train))
    np.testing.assert_allclose(image.numpy(), IMAGES[:2] / 255 - 1, atol=1e-6)
    assert label.tolist() == [0, 1]
    assert batches.validation is not None
    assert len(batches.validation) == 1
    single = mapped.train[-1]
    np.testing.assert_allclose(single[0].numpy(), IMAGES[4] / 255 - 1, atol=1e-6)
    assert single[1].item() == 4
    with pytest.raises(IndexError):
        mapped.train[5]
    assert [target.item() for _, target in mapped.train.__getitems__([3, 1])] == [3, 1]


def test_array_splits_errors() -> None:
    with pytest.raises(ValueError, match="equal lengths, but have 5 and 4"):
        data.ArraySplits((IMAGES, np.arange(4)))
    without = data.ArraySplits((IMAGES, np.ones((5, 1), np.float32)))
    assert without.classes is None
    assert without.map(transforms.Normalize()).validation is None
    assert data.Batches(without).validation is None
