"""Transforms of numbers and of labels: values, what is learned, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine import dtypes
from engine.data import transforms
from engine.data.transforms.channel_statistics import ChannelMoments
from engine.errors import DataError, DTypeError, ShapeError
from engine.shape import Spec


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)), st.data()
)
def test_moments_match_numpy(array: np.ndarray, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(array)), max_size=4)))
    found = ChannelMoments.of(np.split(array, cuts))
    np.testing.assert_allclose(found.mean, array.mean(0), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(found.std, array.std(0), rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal([found.low, found.high], [array.min(0), array.max(0)])


def test_missing_values_are_ignored() -> None:
    array = np.array([[1.0, np.nan], [3.0, 4.0]])
    assert transforms.FillMissing.fitted([array]) == {"value": (2.0, 4.0)}
    assert transforms.FillMissing((2.0, 4.0)).apply(array).tolist() == [[1, 4], [3, 4]]
    assert transforms.Normalize.fitted([array]) == {"mean": (2.0, 4.0), "std": (1.0, 1.0)}
    with pytest.raises(DataError, match=r"channel 1 .* has only missing values"):
        transforms.Normalize.fitted([array[:1]])
    with pytest.raises(DataError, match=r"channel 0 .* has an infinite number"):
        transforms.Normalize.fitted([np.array([[np.inf]])])
    with pytest.raises(DataError, match="no training samples"):
        transforms.MinMaxScale.fitted([])
    with pytest.raises(DTypeError, match="which has no NaN"):
        transforms.FillMissing().spec(Spec((3,), dtypes.uint8))


def test_missing_values_are_filled_in_chosen_channels() -> None:
    array = np.full((2, 3), np.nan)
    filled = transforms.FillMissing((1.0, 2.0, 3.0), channels=(0, 2)).apply(array)
    np.testing.assert_equal(filled, [[1, np.nan, 3]] * 2)
    images = transforms.FillMissing(7.0, channels=(1,)).apply(np.full((1, 2, 2, 2), np.nan))
    np.testing.assert_equal(np.isnan(images[0]), [[[True] * 2] * 2, [[False] * 2] * 2])
    with pytest.raises(ShapeError, match="there is no channel 3; the last is 2"):
        transforms.FillMissing(channels=(3,)).spec(Spec((3,), dtypes.float32))


def test_statistics_per_channel() -> None:
    images = np.random.default_rng(0).integers(0, 256, (20, 3, 4, 5), dtype=np.uint8)
    learned = transforms.Normalize.fitted([images[:7], images[7:]])
    np.testing.assert_allclose(learned["mean"], images.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(learned["std"], images.std((0, 2, 3)), rtol=1e-6)
    scaled = transforms.Normalize(**learned).apply(images)
    np.testing.assert_allclose([scaled.mean((0, 2, 3)), scaled.std((0, 2, 3))], [[0] * 3, [1] * 3], atol=1e-5)


def test_min_max_scale() -> None:
    learned = transforms.MinMaxScale.fitted([np.array([[1.0, 5.0], [3.0, 5.0]])])
    assert learned == {"low": (1.0, 5.0), "high": (3.0, 6.0)}
    assert transforms.MinMaxScale(**learned).apply(np.array([[2.0, 5.0]])).tolist() == [[0.5, 0]]
    for low, high, message in ((1.0, 1.0, "below high"), ((1.0, 2.0), (3.0, 4.0, 5.0), "low has 2 numbers")):
        with pytest.raises(ValueError, match=message):
            transforms.MinMaxScale(low, high)


def test_log_scale() -> None:
    np.testing.assert_allclose(transforms.LogScale(1.0).apply(np.array([[0, 9]])), np.log([[1, 10]]), rtol=1e-6)
    with pytest.raises(DataError, match=r"-3 \+ offset 1 is -2. Set offset above 3"):
        transforms.LogScale(1.0).apply(np.array([[-3.0]]))


def test_clip_keeps_the_dtype() -> None:
    bytes_ = np.array([[0, 7, 255]], np.uint8)
    assert transforms.Clip(-5.0, 6.5).apply(bytes_).tolist() == [[0, 6, 6]]
    assert transforms.Clip(0.5, 1000.0).apply(bytes_).tolist() == [[1, 7, 255]]
    with pytest.raises(ValueError, match="low must not be above high"):
        transforms.Clip(2.0, 1.0)


def test_one_hot() -> None:
    assert transforms.OneHot(3).apply(np.array([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert transforms.OneHot(3).apply(np.array([[2], [0]])).shape == (2, 1, 3)
    assert transforms.OneHot.fitted([np.array([0, 4]), np.array([1])]) == {"size": 5}
    for wrong in (-1, 3):
        with pytest.raises(DataError, match=f"class {wrong} is not in 0 to 2"):
            transforms.OneHot(3).apply(np.array([0, wrong]))
    with pytest.raises(DTypeError, match="class numbers"):
        transforms.OneHot(3).spec(Spec((), dtypes.float32))


def test_label_encode() -> None:
    encode = transforms.LabelEncode((7, 3, 9))
    assert encode.apply(np.array([9, 7, 3, 3])).tolist() == [2, 0, 1, 1]
    assert encode.inverse(np.array([2, 0])).tolist() == [9, 7]
    assert (encode.classes, encode.class_names) == (3, ("7", "3", "9"))
    texts = transforms.LabelEncode(("dog", "cat"))
    assert texts.apply(np.array(["cat", "dog"])).tolist() == [1, 0]
    assert transforms.LabelEncode.fitted([np.array([5, 2]), np.array([2, 9])]) == {"labels": (2, 5, 9)}
    with pytest.raises(DataError, match=r"not among the 3 labels. Add it to labels"):
        encode.apply(np.array([7, 8]))
    with pytest.raises(ValueError, match="has a duplicate"):
        transforms.LabelEncode((1, 1))


def test_crop_or_pad() -> None:
    transform = transforms.CropOrPad(3, -1)
    result = transform([np.array([1, 2]), np.array([1, 2, 3, 4])])
    assert np.asarray(result).tolist() == [[1, 2, -1], [1, 2, 3]]


def test_channels_first() -> None:
    images = np.arange(24).reshape(1, 2, 3, 4)
    np.testing.assert_array_equal(transforms.ChannelsFirst().apply(images)[0, 3], images[0, ..., 3])
    assert transforms.ChannelsFirst().apply(images[..., 0]).shape == (1, 1, 2, 3)


def test_inverse_of_compose() -> None:
    inner = transforms.Compose([transforms.MinMaxScale(-1.0, 3.0), transforms.LogScale(2.0)])
    composed = transforms.Compose([transforms.Normalize(2.0, 3.0), inner])
    values = np.random.default_rng(0).random((5, 3)).astype(np.float32)
    changed = np.asarray(composed(values))
    np.testing.assert_allclose(composed.inverse(changed), values, atol=1e-5)
    with pytest.raises(TypeError, match="Clip has no inverse"):
        transforms.Compose([transforms.Clip(), composed]).inverse(changed)
