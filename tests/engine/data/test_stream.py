"""Samples that are not counted before they are read."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine import data
from engine.data import transforms
from engine.data.sample_stream import Record, SampleStream, StreamBatchSampler, first_samples
from engine.dtypes import float32, int64
from engine.errors import DataError
from engine.random import Generator
from engine.shape import Spec
from tests.engine.data.test_web_dataset import picture, samples, shard


class Numbers(SampleStream):
    """0, 1, 2, … as inputs and targets, in groups that a random order shuffles."""

    def __init__(self, groups: list[int], buffer: int) -> None:
        super().__init__([("value", "i8")], buffer)
        self.groups = groups
        self.read: list[int] = []

    def records(self, generator: Generator | None) -> Iterator[Record]:
        ends = np.cumsum([0, *self.groups])
        for index in range(len(self.groups)) if generator is None else generator.permutation(len(self.groups)).tolist():
            for value in range(ends[index], ends[index + 1]):
                yield (int(value),)

    def targets(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows["value"].copy()

    def arrays(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        self.read += rows["value"].tolist()
        return rows["value"].astype(np.float32)[:, np.newaxis], self.targets(rows)


class Counting(data.Splits):
    def __init__(self, *groups: int, buffer: int = 7) -> None:
        self._train = Numbers(list(groups), buffer)

    input = Spec((1,), float32)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    target = Spec((), int64)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    classes = None  # pyright: ignore[reportAssignmentType]
    class_names = ()  # pyright: ignore[reportAssignmentType]
    files = ()  # pyright: ignore[reportAssignmentType]

    @property
    def train(self) -> SampleStream:
        return self._train

    @property
    def validation(self) -> SampleStream:
        return self._train


class Shaken(transforms.Augmentation):
    """Adds a number that is another one for each sample and epoch."""

    numbers = 1

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        return samples + numbers.astype(np.float32)

    def spec(self, sample: Spec) -> Spec:
        return sample


Batches = list[tuple[NDArray[Any], list[int]]]


def passed(loader: data.DataLoader, epoch: int, seed: int, skip: int = 0) -> Batches:
    loader.set_epoch(epoch, seed, skip)
    return [(inputs.numpy().copy(), targets.tolist()) for inputs, targets in loader]


def same(one: Batches, other: Batches) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(a, b) and mine == others for (a, mine), (b, others) in zip(one, other, strict=True)
    )


@settings(max_examples=40, deadline=None)
@given(
    groups=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    buffer=st.integers(1, 30),
    batch_size=st.integers(1, 9),
    shuffle=st.booleans(),
    drop_last=st.booleans(),
    seed=st.integers(0, 99),
    skip=st.integers(0, 6),
)
def test_each_sample_once_in_one_order_for_all_loaders(
    groups: list[int], buffer: int, batch_size: int, shuffle: bool, drop_last: bool, seed: int, skip: int
) -> None:
    splits = Counting(*groups, buffer=buffer).map(Shaken())
    loaders = [data.Batches(splits, batch_size, shuffle, drop_last, workers).train for workers in (0, 1, 4)]
    whole = [passed(loader, 1, seed) for loader in loaders]
    assert same(whole[0], whole[1])
    assert same(whole[0], whole[2])
    seen = [value for _, targets in whole[0] for value in targets]
    total = sum(groups)
    assert len(seen) == len(set(seen)) == (total // batch_size * batch_size if drop_last else total)
    assert shuffle or seen == sorted(seen)
    for loader in loaders:  # as a run that is resumed goes on
        assert same(passed(loader, 1, seed, skip), whole[0][skip:])


def test_order_depends_on_epoch_and_seed() -> None:
    loader = data.Batches(Counting(20, 20, 20, buffer=30), 60).train
    orders = [passed(loader, epoch, seed)[0][1] for epoch, seed in ((0, 0), (1, 0), (0, 1), (0, 0))]
    assert orders[0] == orders[3]
    assert len({tuple(order) for order in orders}) == 3


def test_buffer_limits_the_displacement() -> None:
    [(_, near)], [(_, far)] = (passed(data.Batches(Counting(500, buffer=size), 500).train, 0, 0) for size in (1, 500))
    assert near == sorted(near)
    assert np.abs(np.array(far) - np.arange(500)).mean() > 100
    [(_, between)] = passed(data.Batches(Counting(500, buffer=20), 500).train, 0, 0)
    assert max(np.arange(500) - np.array(between)) > 20  # one may be held for long
    assert max(np.array(between) - np.arange(500)) <= 20  # none comes before it could have been read


def test_skipped_samples_are_not_read() -> None:
    splits = Counting(30)
    found = passed(data.Batches(splits, 4, shuffle=False).train, 0, 0, skip=5)
    assert splits.train.read == list(range(20, 30))
    assert len(found) == 3


def test_a_stream_has_no_length() -> None:
    stream = Counting(5).train
    for thing in (stream, data.DataLoader(stream, batch_sampler=StreamBatchSampler(stream, 2))):
        with pytest.raises(TypeError):
            len(thing)


def test_first_samples_can_be_indexed() -> None:
    mapped = Counting(30).map(transforms.Normalize(1.0, 2.0)).train
    first = first_samples(mapped, 8)
    assert len(first) == 8
    np.testing.assert_array_equal(first.arrays(np.array([7, 0]))[0], [[3.0], [-0.5]])
    assert first_samples(mapped, 8).stream is not None
    counted = data.ArraySplits((np.zeros((3, 1)), np.zeros(3))).train
    assert first_samples(counted, 8) is counted


def test_transforms_are_fitted_to_the_whole_stream() -> None:
    assert Counting(500, 500).fitted(transforms.MinMaxScale) == {"low": 0.0, "high": 999.0}


# -- shards -----------------------------------------------------------------------------------


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    for number in range(4):
        shard(tmp_path / f"{number}.tar", samples(5 * number, 5))
    return tmp_path


def shades(samples: data.Samples) -> list[int]:
    """The images of a stream by their shade, with their labels checked."""
    found: list[int] = []
    for rows in StreamBatchSampler(samples.stream, 3):  # pyright: ignore[reportArgumentType]
        images, labels = samples.arrays(rows)
        found += [int(image[0, 0, 0]) // 10 for image in images]
        assert np.asarray(labels).tolist() == [shade % 3 for shade in found[-len(images) :]]
    return found


def labels(samples: data.Samples, most: int) -> list[int]:
    return np.asarray(first_samples(samples, most).targets(np.arange(len(first_samples(samples, most))))).tolist()


def test_shards_are_streamed(shards: Path) -> None:
    source = data.WebDataset(str(shards), validation=0, stream=True)
    assert shades(source.train) == list(range(20))
    assert (source.classes, source.class_names, source.validation) == (None, (), None)
    assert data.WebDataset(str(shards), stream=True, classes=3).classes == 3
    copy = pickle.loads(pickle.dumps(source.train))
    assert shades(copy) == list(range(20))


def test_whole_shards_are_kept_for_validation(shards: Path) -> None:
    source = data.WebDataset(str(shards), validation=0.25, stream=True)
    assert source.validation is not None
    parts = [shades(source.train), shades(source.validation)]
    assert [len(part) for part in parts] == [15, 5]
    assert sorted(parts[0] + parts[1]) == list(range(20))


def test_opening_a_stream_reads_no_shard(shards: Path) -> None:
    (shards / "9.tar").write_bytes(b"no tar file" * 100)
    source = data.WebDataset(str(shards), validation=0, stream=True)
    assert labels(source.train, 4) == [0, 1, 2, 0]
    with pytest.raises(DataError, match=r"9\.tar: is not a tar file"):
        shades(source.train)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "txt"}, "cannot number class names before it has read all of them"),
        ({"classes": 2}, "the label of part/0002.png is 2, but classes are 0 to 1. Set classes"),
    ],
)
def test_unsupported_stream_options(shards: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        shades(data.WebDataset(str(shards), validation=0, stream=True, **options).train)


def test_single_shard_cannot_be_split(tmp_path: Path) -> None:
    shard(tmp_path / "0.tar", samples(0, 5))
    with pytest.raises(DataError, match="uses whole shards for validation, but has only one"):
        data.WebDataset(str(tmp_path), stream=True)
    assert shades(data.WebDataset(str(tmp_path), validation=0, stream=True).train) == list(range(5))


def test_undecodable_images_in_a_stream(tmp_path: Path) -> None:
    files = samples(0, 4)
    files["part/0001.png"] = b"damaged"
    shard(tmp_path / "0.tar", files)
    with pytest.raises(DataError, match=r"0\.tar: part/0001\.png: is not a readable image"):
        shades(data.WebDataset(str(tmp_path), validation=0, stream=True).train)
    source = data.WebDataset(str(tmp_path), validation=0, on_error="skip", stream=True)
    with pytest.warns(UserWarning, match="Another image replaces it"):
        assert shades(source.train) == [0, 2, 2, 3]


def test_removed_shard_is_named(shards: Path) -> None:
    source = data.WebDataset(str(shards), validation=0, stream=True).map(transforms.Resize((4, 4)))
    batches = iter(data.Batches(source, 2, workers=2).train)
    next(batches)
    for path in shards.iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"\.tar: file not found"):
        list(batches)


def test_threads_end_with_the_stream(shards: Path) -> None:
    before = threading.active_count()
    source = data.WebDataset(str(shards), validation=0, stream=True).map(transforms.Resize((4, 4)))
    for _ in data.Batches(source, 2, workers=3).train:
        break
    assert threading.active_count() == before


def test_stream_equals_indexed_shards(tmp_path: Path) -> None:
    """Files of one sample may stand in any order."""
    files = {"a.cls": b"1", "b.png": picture(20), "a.png": picture(10), "b.cls": b"2"}
    shard(tmp_path / "0.tar", files)
    source = data.WebDataset(str(tmp_path), validation=0, stream=True)
    assert sorted(labels(source.train, 9)) == [1, 2]
    assert len(data.WebDataset(str(tmp_path), validation=0).train) == 2
