"""Samples and splits: what wrappers pass on, augmentations by sample and epoch, divisions, pickling."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import data, dtypes
from engine.data import samples as engine_samples
from engine.data import transforms
from engine.data.samples import Batch, Samples, validation_count, validation_split
from engine.data.splits import check_sizes
from engine.errors import DataError, ShapeError
from engine.random import Generator
from engine.shape import Dim, Spec


class Jitter(transforms.Augmentation):
    """Adds each sample's own random number."""

    numbers = 2

    def apply(self, samples: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return samples.astype(np.float64)

    def augment(self, samples: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return samples + numbers[:, :1]

    def spec(self, sample: Spec) -> Spec:
        return Spec(sample.shape, dtypes.float64)


class Ragged(Samples):
    """Sample `i` has `i + 1` numbers."""

    def __len__(self) -> int:
        return 6

    def arrays(self, rows: np.ndarray[Any, Any]) -> tuple[Batch, Batch]:
        return [np.full(row + 1, row) for row in rows.tolist()], rows.copy()

    def targets(self, rows: np.ndarray[Any, Any]) -> Batch:
        return rows.copy()


def rows_of(samples: Samples, rows: list[int]) -> list[float]:
    return [float(value[0]) for value in samples.arrays(np.array(rows, np.int64))[0]]


def line(count: int = 12, validation: int = 4) -> data.ArraySplits:
    whole = np.arange(count, dtype=np.float32)[:, np.newaxis]
    return data.ArraySplits((whole, np.arange(count) % 3), (whole[:validation] + 100, np.arange(validation) % 3))


@pytest.mark.parametrize("count", [5, 100, 1000])  # in whole numbers, where two blocks a row are in arrays; in arrays
@pytest.mark.parametrize("numbers", [1, 4, 6, 22])
def test_uniform_rows_match_numpy_philox(count: int, numbers: int) -> None:
    key = [5, 2**64 - 7]
    generator = Generator(*key, 2**63)
    rows = np.concatenate([[0, 3, 2**40, 1, 1, 2**63 - 1], np.arange(994)])[:count]
    found = generator.uniform_rows(rows, numbers)
    assert found.shape == (count, numbers)
    for row, own in zip(rows[:150].tolist(), found, strict=False):
        counter = np.array([2**63, row, 0, 0], np.uint64)
        words = np.random.Philox(key=np.array(key, np.uint64), counter=counter).random_raw(numbers)
        np.testing.assert_array_equal(own, (words >> np.uint64(11)) * 2.0**-53)
    assert generator.get_state().offset == 2**63
    assert generator.uniform_rows(rows[:0], 3).shape == (0, 3)


@given(st.permutations(range(12)), st.integers(1, 12), st.integers(0, 3), st.integers(0, 2**63))
def test_augmentations_depend_on_sample_epoch_and_seed_only(order: list[int], size: int, epoch: int, seed: int) -> None:
    train = line().map(Jitter()).map(Jitter()).train
    train.set_epoch(epoch, seed)
    whole = rows_of(train, list(range(12)))
    for start in range(0, 12, size):
        rows = order[start : start + size]
        assert rows_of(pickle.loads(pickle.dumps(train)), rows) == [whole[row] for row in rows]
    first, second = (
        Generator(seed).fork("augmentation", epoch, depth).uniform_rows(np.arange(12), 2) for depth in (1, 2)
    )
    assert whole == (np.arange(12) + first[:, 0] + second[:, 0]).tolist()
    train.set_epoch(epoch + 1, seed)
    assert rows_of(train, list(range(12))) != whole


def test_only_training_samples_are_augmented() -> None:
    splits = line().map(Jitter())
    assert splits.validation is not None
    assert rows_of(splits.validation, [0, 1]) == [100, 101]
    assert rows_of(splits.train, [0, 1]) != [0, 1]
    assert rows_of(splits.train.with_augmentations(False), [0, 1]) == [0, 1]
    train_validation_split = data.KFold(splits, folds=4, fold=1)
    assert train_validation_split.validation is not None
    assert all(value == int(value) for value in rows_of(train_validation_split.validation, [0, 1, 2, 3]))
    assert not any(value == int(value) for value in rows_of(train_validation_split.train, list(range(12))))


def test_compose_equals_separate_transforms() -> None:
    parts = [transforms.Normalize(1.0, 2.0), transforms.Compose([Jitter(), transforms.Clip(0.0, 3.0)])]
    one, other = (
        line().map(transforms.Compose(parts)),
        line().map(parts[0]).map(Jitter()).map(transforms.Clip(0.0, 3.0)),
    )
    assert rows_of(one.train, list(range(12))) == rows_of(other.train, list(range(12)))
    composed = transforms.Compose(parts)
    np.testing.assert_array_equal(composed(np.array([[3.0], [99.0]])), [[1.0], [3.0]])
    assert composed.spec(Spec((1,), dtypes.uint8)) == Spec((1,), dtypes.float64)


def test_lambda() -> None:
    double = transforms.Lambda(lambda samples: np.concatenate([samples, samples], 1) * 2)
    assert double.spec(Spec((3,), dtypes.int64)) == Spec((6,), dtypes.int64)
    assert np.asarray(double(np.ones((1, 2)))).tolist() == [[2, 2, 2, 2]]
    with pytest.raises(ValueError, match="Set sample_spec"):
        double.spec(Spec((Dim("L"),), dtypes.int64))


def test_transforms_of_targets() -> None:
    splits = line().map(transforms.Normalize(0.0, 2.0), on="targets")
    assert (splits.input, splits.target) == (Spec((1,), dtypes.float32), Spec((), dtypes.float32))
    assert splits.classes is None
    assert splits.train.batch(np.array([1, 2]))[1].tolist() == [0.5, 1]
    assert np.asarray(splits.train.targets(np.array([1, 2]))).tolist() == [0.5, 1]
    assert splits.train.batch(np.array([1, 2]))[0].tolist() == [[1], [2]]


def test_fitted_uses_training_samples_without_augmentations() -> None:
    splits = line().map(Jitter())
    assert splits.fitted(transforms.MinMaxScale) == {"low": 0.0, "high": 11.0}
    learned = splits.fitted(transforms.Normalize)
    assert learned["mean"] == pytest.approx(5.5)
    assert learned["std"] == pytest.approx(np.arange(12).std())
    assert splits.fitted(transforms.MinMaxScale, on="targets") == {"low": 0.0, "high": 2.0}


def test_samples_of_different_sizes() -> None:
    ragged = Ragged()
    mapped = data.MappedSamples(ragged, transforms.Normalize(0.0, 1.0))
    inputs, _ = mapped.arrays(np.array([0, 2]))
    assert [value.tolist() for value in inputs] == [[0], [2, 2, 2]]
    assert isinstance(mapped.arrays(np.array([2, 2]))[0], np.ndarray)
    with pytest.raises(DataError, match="samples of 1 and 3 cannot be stacked into a batch"):
        mapped.batch(np.array([0, 2]))
    assert mapped.batch(np.array([2]))[0].tolist() == [[2, 2, 2]]
    assert [len(sample) for sample, _ in mapped.__getitems__([0, 2])] == [1, 3]
    joined = data.JoinedSamples([ragged, ragged])
    assert [len(value) for value in joined.arrays(np.array([7, 0, 11, 2]))[0]] == [2, 1, 6, 3]
    with pytest.raises(ShapeError, match="samples are 3×H×W uint8: H and W may vary between samples"):
        check_sizes(Spec((3, Dim("H"), Dim("W")), dtypes.uint8))


@given(st.lists(st.integers(0, 14), max_size=20))
def test_joined_and_picked_samples(rows: list[int]) -> None:
    splits = line(12, 3)
    assert splits.validation is not None
    joined = data.JoinedSamples([splits.train, splits.validation])
    expected = [*range(12), 100, 101, 102]
    assert len(joined) == 15
    assert rows_of(joined, rows) == [expected[row] for row in rows]
    picked = data.PickedSamples(joined, np.arange(15)[::-1])
    assert rows_of(picked, rows) == [expected[14 - row] for row in rows]
    assert np.asarray(picked.targets(np.array(rows, np.int64))).tolist() == [
        [*(np.arange(12) % 3), 0, 1, 2][14 - row] for row in rows
    ]


def test_k_fold_validates_each_sample_once() -> None:
    seen: list[float] = []
    for fold in range(5):
        splits = data.KFold(line(), folds=5, fold=fold)
        assert splits.validation is not None
        validation = rows_of(splits.validation, list(range(len(splits.validation))))
        training = rows_of(splits.train, list(range(len(splits.train))))
        assert sorted(validation + training) == [*range(12), 100, 101, 102, 103]
        seen += validation
    assert sorted(seen) == [*range(12), 100, 101, 102, 103]
    assert len(data.KFold(line(), folds=5, fold=5).train) == len(data.KFold(line(), folds=5, fold=0).train)
    with pytest.raises(DataError, match="Set folds to at most 16"):
        _ = data.KFold(line(), folds=17).train


def test_hold_out() -> None:
    splits = data.HoldOut(line(), validation=0.25, stratify=True)
    assert splits.validation is not None
    assert np.bincount(np.asarray(splits.validation.targets(np.arange(len(splits.validation))))).tolist() == [2, 1, 1]
    assert len(splits.train) == 12
    assert (splits.input, splits.target, splits.classes, splits.class_names, splits.files) == (
        line().input,
        line().target,
        3,
        (),
        (),
    )
    assert data.HoldOut(line(), validation=0).validation is None
    drawn = [rows_of(data.HoldOut(line(), seed=seed).train, list(range(10))) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(DataError, match="Turn stratify off"):
        _ = data.HoldOut(data.ArraySplits((np.ones((4, 1)), np.ones((4, 1)))), stratify=True).train


def test_mapped_arrays_are_pickled_as_file_locations(tmp_path: Path, mnist_like: Callable[..., Path]) -> None:
    train = data.IDX(str(mnist_like(train=500, test=None))).train
    content = pickle.dumps(train)
    assert len(content) < 12_000  # the labels and row numbers, not 392,000 bytes of images
    copy: Samples = pickle.loads(content)
    for samples in (copy, pickle.loads(pickle.dumps(copy))):
        np.testing.assert_array_equal(samples.arrays(np.arange(9))[0], train.arrays(np.arange(9))[0])
    zipped = data.IDX(str(mnist_like(train=5, test=None, suffix=".gz")), validation=0).train
    copy = pickle.loads(pickle.dumps(zipped))
    np.testing.assert_array_equal(copy.arrays(np.arange(5))[0], zipped.arrays(np.arange(5))[0])


def test_file_locations_of_views(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(24, dtype=np.int32).reshape(4, 6))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for view in (mapped, mapped[1:, ::2], mapped.T, mapped[::-1]):
        samples = data.ArraySamples(view, np.arange(len(view)))
        copy: Samples = pickle.loads(pickle.dumps(samples))
        np.testing.assert_array_equal(copy.arrays(np.arange(len(view)))[0], view)


@pytest.mark.parametrize("nested", [False, True])
def test_each_pass_is_augmented_differently(nested: bool) -> None:
    train: Any = line().map(Jitter()).train

    def passes(workers: int) -> list[list[list[float]]]:
        dataset = data.Subset(train, range(12)) if nested else train
        loader = data.DataLoader(dataset, 5, num_workers=workers, generator=Generator(3))
        return [[batch[0].flatten().tolist() for batch in loader] for _ in range(2)]

    first, second = passes(0)
    assert first != second
    assert passes(2) == [first, second]
    loader = data.DataLoader(train, 5)
    for _ in range(2):
        loader.set_epoch(4, 9)
        train.set_epoch(4, 9)
        expected = rows_of(train, list(range(12)))
        assert [value for batch in loader for value in batch[0].flatten().tolist()] == expected


@settings(deadline=None, max_examples=60)
@given(count=st.integers(0, 3000), share=st.floats(0, 0.999), block=st.sampled_from([64, 1000, 2**18]))
def test_validation_rows_are_the_first_of_a_permutation(count: int, share: float, block: int) -> None:
    """Found without the whole of it; so runs of the past keep the samples that they validate with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_samples, "_BLOCK", block)
        train, held = validation_split(count, share)
    order = Generator(0).fork("validation").permutation(count)
    wanted = validation_count(count, share)
    np.testing.assert_array_equal(held, np.sort(order[:wanted]))
    np.testing.assert_array_equal(train, np.sort(order[wanted:]))


def test_equal_keys_are_split_in_stable_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Generator, "bits", lambda _, count: np.arange(count, dtype=np.uint64) % np.uint64(3))
    order = Generator(0).permutation(50)
    np.testing.assert_array_equal(validation_split(50, 0.3)[1], np.sort(order[:15]))
