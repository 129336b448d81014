"""Batches whose rows continue each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import data
from engine.data.joint_loader import in_order
from engine.errors import DataError
from tests.engine.data.test_stream import Counting


def splits(count: int) -> data.ArraySplits:
    numbers = np.arange(count)
    return data.ArraySplits((numbers[:, None].astype(np.float32), numbers), (numbers[:, None] * 2.0, numbers))


def rows(loader: Any) -> list[list[int]]:
    return [batch[1].tolist() for batch in loader]


@given(count=st.integers(1, 60), size=st.integers(1, 12), workers=st.sampled_from([0, 2]))
def test_each_row_continues_in_the_next_batch(count: int, size: int, workers: int) -> None:
    loader = data.Batches(splits(count), size, workers=workers, contiguous=True).train
    found = rows(loader)
    assert len(loader) == len(found) == max(count // size, 1)
    assert {len(batch) for batch in found} == {min(size, count)}
    assert all(b == a + 1 for one, other in pairwise(found) for a, b in zip(one, other, strict=True))
    seen = sorted(number for batch in found for number in batch)
    assert len(set(seen)) == len(seen) and max(seen) < count and count - len(seen) < size


def test_each_epoch_and_validation_have_the_same_order_and_a_pass_continues_at_any_batch() -> None:
    batches = data.Batches(splits(23), 4, contiguous=True)
    expected = [[0, 5, 10, 15], [1, 6, 11, 16], [2, 7, 12, 17], [3, 8, 13, 18], [4, 9, 14, 19]]
    for epoch in range(2):
        for skip in range(5):
            batches.train.set_epoch(epoch, seed=1, skip=skip)
            assert rows(batches.train) == expected[skip:]
    assert batches.validation is not None and rows(batches.validation) == expected
    assert rows(in_order(batches.train))[0] == [0, 1, 2, 3]


def test_several_loaders_continue_their_rows_together() -> None:
    joint = data.JointBatches([data.Batches(splits(8), 2, contiguous=True) for _ in range(2)]).train
    assert [[part.tolist() for part in batch[1::2]] for batch in joint] == [[[i, i + 4]] * 2 for i in range(4)]


def test_a_stream_is_refused() -> None:
    with pytest.raises(DataError, match="Turn contiguous off"):
        data.Batches(Counting(3, 4), 2, contiguous=True)
