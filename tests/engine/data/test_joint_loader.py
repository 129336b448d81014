"""Several loaders in lockstep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.data import DataLoader, JointLoader, TensorDataset
from engine.data.joint_loader import in_order
from engine.errors import DataError
from engine.tensors.creation import arange


def loader(count: int, size: int, *, shuffle: bool = True, drop_last: bool = False, start: int = 0) -> DataLoader:
    numbers = arange(start, start + count)
    return DataLoader(TensorDataset(numbers, numbers * 10), size, shuffle=shuffle, drop_last=drop_last)


def steps(joint: JointLoader, epoch: int = 0, skip: int = 0, seed: int = 7) -> list[list[list[int]]]:
    joint.set_epoch(epoch, seed, skip)
    return [[part.tolist() for part in batch] for batch in joint]


def test_an_epoch_is_as_long_as_the_longest_and_shorter_loaders_start_again() -> None:
    joint = JointLoader([loader(10, 2), loader(4, 2, start=100)])
    batches = steps(joint)
    assert len(joint) == len(batches) == 5
    assert sorted(number for batch in batches for number in batch[0]) == list(range(10))
    second = [number for batch in batches for number in batch[2]]
    assert sorted(second[:4]) == sorted(second[4:8]) == [100, 101, 102, 103]
    assert all(batch[1] == [10 * number for number in batch[0]] for batch in batches)
    assert len(joint.dataset) == 14


def test_an_epoch_can_be_as_long_as_the_shortest() -> None:
    joint = JointLoader([loader(10, 2), loader(4, 2)], "shortest")
    assert len(joint) == len(steps(joint)) == 2


def test_each_loader_has_an_order_of_its_own_that_changes_with_pass_and_epoch() -> None:
    joint = JointLoader([loader(32, 32), loader(32, 32), loader(16, 16)], "longest")
    [first] = steps(joint)
    assert first[0] != first[2]
    [second] = steps(joint, epoch=1)
    assert first[0] != second[0]
    joint = JointLoader([loader(32, 16), loader(16, 16)])
    one, other = steps(joint)
    assert one[2] != other[2]


@pytest.mark.parametrize("skip", range(8))
def test_a_pass_continues_at_any_step(skip: int) -> None:
    made = [loader(15, 2), loader(5, 2, start=50), loader(7, 3, start=90)]
    assert steps(JointLoader(made), epoch=3, skip=skip) == steps(JointLoader(made), epoch=3)[skip:]


def test_a_single_loader_keeps_its_order() -> None:
    alone = loader(10, 3)
    alone.set_epoch(2, 7)
    assert steps(JointLoader([loader(10, 3)]), epoch=2) == [[part.tolist() for part in batch] for batch in alone]


def test_batches_of_equal_batch_sizes_are_cut_to_one_size() -> None:
    joint = JointLoader([loader(10, 4), loader(7, 4), loader(9, 3)])
    sizes = [[len(part) for part in batch] for batch in steps(joint)]
    assert sizes == [[4, 4, 4, 4, 3, 3], [3, 3, 3, 3, 3, 3], [2, 2, 2, 2, 3, 3]]


def test_validation_keeps_the_order_of_the_data() -> None:
    joint = JointLoader([loader(5, 2, shuffle=False), loader(3, 2, shuffle=False)])
    batches = [[part.tolist() for part in batch][::2] for batch in joint]
    assert batches == [[[0, 1], [0, 1]], [[2], [2]], [[4], [0]]]


def test_the_order_of_the_data_is_read_apart() -> None:
    joint = JointLoader([loader(6, 3), loader(6, 3)])
    assert [part.tolist() for part in next(iter(in_order(joint)))][::2] == [[0, 1, 2], [0, 1, 2]]
    first, _ = next(iter(in_order(loader(6, 3))))
    assert first.tolist() == [0, 1, 2]


def test_loaders_without_batches_or_length_are_refused() -> None:
    with pytest.raises(DataError, match="loader 2 of 2 has no batch"):
        JointLoader([loader(10, 2), loader(3, 4, drop_last=True)])

    class Endless:
        def __iter__(self) -> Any:
            return iter([np.zeros(1)])

    with pytest.raises(DataError, match="loader 1 of 1 is a stream"):
        JointLoader([DataLoader(TensorDataset(arange(3)), batch_sampler=Endless())])


def test_paired_loaders_have_one_order() -> None:
    joint = JointLoader([loader(9, 2), loader(9, 2, start=100)], order="paired")
    for batches in (
        steps(joint),
        steps(joint, epoch=4, skip=2),
        [[part.tolist() for part in batch] for batch in joint],
    ):
        assert all(batch[2] == [100 + number for number in batch[0]] for batch in batches)
    assert steps(joint) != steps(joint, epoch=1)
    with pytest.raises(DataError, match="9 in batches of 2, 8 in batches of 2"):
        JointLoader([loader(9, 2), loader(8, 2)], order="paired")
