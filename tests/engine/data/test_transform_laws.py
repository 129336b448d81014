"""Laws that hold for every transform that is declared."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data import transforms
from engine.data.transforms import Augmentation, Fitted, Invertible, Transform
from engine.dtypes import from_numpy
from engine.registry import TRANSFORMS, RegistryEntry
from engine.shape import Dim, Spec

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(0, 256, (5, 3, 7, 8), dtype=np.uint8)
GRAY = RANDOM.integers(0, 256, (5, 1, 7, 8), dtype=np.uint8)
NUMBERS = RANDOM.normal(3, 2, (6, 4)).astype(np.float32)
LABELS = RANDOM.integers(0, 3, 9)

IMAGE_KINDS = (IMAGES, GRAY, (IMAGES / 255).astype(np.float32))
MADE: dict[str, tuple[Callable[[], Transform], tuple[np.ndarray[Any, Any], ...]]] = {
    "ToFloat": (transforms.ToFloat, (IMAGES, NUMBERS, LABELS)),
    "Normalize": (lambda: transforms.Normalize(3.0, 2.0), (IMAGES, NUMBERS)),
    "MinMaxScale": (lambda: transforms.MinMaxScale(-1.0, 7.0), (IMAGES, NUMBERS)),
    "LogScale": (lambda: transforms.LogScale(20.0), (IMAGES, NUMBERS)),
    "Clip": (lambda: transforms.Clip(0.5, 2.5), (IMAGES, NUMBERS)),
    "FillMissing": (lambda: transforms.FillMissing(2.0), (np.where(NUMBERS > 3, np.nan, NUMBERS).astype(np.float32),)),
}
MADE |= {
    "ChannelsFirst": (transforms.ChannelsFirst, (IMAGES, IMAGES[:, 0])),
    "Resize": (lambda: transforms.Resize((5, 9)), (*IMAGE_KINDS, IMAGES[:, 0], IMAGES[:, :2])),
    "CenterCrop": (lambda: transforms.CenterCrop((4, 10)), (*IMAGE_KINDS, IMAGES[:, 0])),
    "RandomCrop": (lambda: transforms.RandomCrop((6, 9), padding=1), (*IMAGE_KINDS, IMAGES[:, 0])),
    "RandomResizedCrop": (lambda: transforms.RandomResizedCrop((6, 9)), (*IMAGE_KINDS, IMAGES[:, 0])),
    "CropOrPad": (lambda: transforms.CropOrPad(3, 1.0), (IMAGES, NUMBERS)),
    "RandomHorizontalFlip": (transforms.RandomHorizontalFlip, (*IMAGE_KINDS, IMAGES[:, 0])),
    "RandomVerticalFlip": (transforms.RandomVerticalFlip, (*IMAGE_KINDS, IMAGES[:, 0])),
    "RandomAffine": (lambda: transforms.RandomAffine(30, (0.1, 0.2), (0.8, 1.5), 10), (*IMAGE_KINDS, IMAGES[:, 0])),
    "ColorJitter": (lambda: transforms.ColorJitter(0.5, 0.4, 0.3, 0.2), IMAGE_KINDS),
    "RandomErasing": (transforms.RandomErasing, (*IMAGE_KINDS, IMAGES[:, 0])),
    "Grayscale": (transforms.Grayscale, IMAGE_KINDS),
    "OneHot": (lambda: transforms.OneHot(4), (LABELS,)),
    "LabelEncode": (lambda: transforms.LabelEncode((2, 0, 1)), (LABELS,)),
}
"""How each is made for these tests, and arrays of samples that it takes."""

CASES = [
    pytest.param(make, array, id=f"{name}-{array.dtype}-{array.shape[1:]}")
    for name, (make, arrays) in MADE.items()
    for array in arrays
]
VARIED = [case for case in CASES if isinstance(case.values[0](), Augmentation)]


def sample_spec(array: np.ndarray[Any, Any]) -> Spec:
    return Spec(array.shape[1:], from_numpy(array.dtype))


def test_all_transforms_are_tested() -> None:
    assert {entry.target.__name__ for entry in TRANSFORMS} == set(MADE)


@pytest.mark.parametrize(("make", "array"), CASES)
def test_spec_matches_result(make: Callable[[], Transform], array: np.ndarray[Any, Any]) -> None:
    transform, before = make(), array.copy()
    result = np.asarray(transform(array))
    np.testing.assert_array_equal(array, before)
    spec = transform.spec(sample_spec(array))
    assert (spec.shape, spec.dtype.numpy) == (result.shape[1:], result.dtype)
    assert len(result) == len(array)
    assert repr(pickle.loads(pickle.dumps(transform))) == repr(transform)


@pytest.mark.parametrize(("make", "array"), CASES)
def test_result_does_not_depend_on_other_samples(make: Callable[[], Transform], array: np.ndarray[Any, Any]) -> None:
    transform = make()
    together = transform(array)
    for row in range(len(array)):
        np.testing.assert_array_equal(transform(array[row : row + 1])[0], together[row])
    np.testing.assert_array_equal(np.asarray(transform(list(array))), np.asarray(together))
    assert len(transform(array[:0])) == 0


@pytest.mark.parametrize(("make", "array"), [c for c in CASES if isinstance(c.values[0](), Invertible)])
def test_inverse_undoes_apply(make: Callable[[], Transform], array: np.ndarray[Any, Any]) -> None:
    transform: Any = make()
    result = transform.inverse(transform(array))
    if array.dtype.kind == "f" or result.dtype.kind == "f":
        np.testing.assert_allclose(result, array, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize(("make", "array"), VARIED)
@given(seed=st.integers(0, 2**32 - 1))
def test_augmentations_do_not_depend_on_the_batch(
    make: Callable[[], Augmentation], array: np.ndarray[Any, Any], seed: int
) -> None:
    transform, before = make(), array.copy()
    numbers = np.random.default_rng(seed).random((len(array), transform.numbers))
    together = np.asarray(transform.vary(array, numbers))
    np.testing.assert_array_equal(array, before)
    spec = transform.spec(sample_spec(array))
    assert (spec.shape, spec.dtype.numpy) == (together.shape[1:], together.dtype)
    np.testing.assert_array_equal(np.asarray(transform.vary(list(array), numbers)), together)
    assert not np.shares_memory(together, array)


@pytest.mark.parametrize("entry", [e for e in TRANSFORMS if issubclass(e.target, Fitted)], ids=lambda e: e.key)
def test_fitted_arguments_do_not_depend_on_the_batches(entry: RegistryEntry) -> None:
    kind: Any = entry.target
    data = LABELS if entry.target.__name__ in ("OneHot", "LabelEncode") else NUMBERS
    whole = kind.fitted([data])
    for size in (1, 2, 4):
        parts = kind.fitted([data[start : start + size] for start in range(0, len(data), size)])
        assert set(parts) == set(whole)
        for name, value in parts.items():
            np.testing.assert_allclose(value, whole[name], rtol=1e-6)
    assert set(whole) <= {parameter.name for parameter in entry.parameters}
    kind(**whole)


def test_symbolic_sizes_stay_symbolic() -> None:
    spec = Spec((3, Dim("H"), Dim("W")), from_numpy(np.dtype(np.uint8)))
    for name, (make, arrays) in MADE.items():
        if arrays[0].ndim == 4 and name not in ("CropOrPad", "ChannelsFirst"):
            assert len(make().spec(spec).shape) == 3, name
