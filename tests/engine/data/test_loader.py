from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import data
from engine.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    random_split,
)
from engine.data.sampler import CHUNK
from engine.random import Generator


class Squares(Dataset):
    """Yield samples one by one, without batches."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        return np.float32(index), index**2


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))


def rows(size: int) -> TensorDataset:
    return TensorDataset(engine.arange(size), engine.arange(size) * 2)


@given(size=st.integers(1, 60), batch_size=st.integers(1, 20), drop_last=st.booleans(), seed=st.integers(0, 99))
def test_each_sample_once_in_the_order_of_the_seed(size, batch_size, drop_last, seed) -> None:
    def taken(dataset: Any) -> list[list[int]]:
        loader = DataLoader(dataset, batch_size, shuffle=True, drop_last=drop_last, generator=Generator(seed))
        batches = [first.tolist() for first, _ in loader]
        assert len(batches) == len(loader)
        return batches

    batches = taken(rows(size))
    counts = Counter(number for batch in batches for number in batch)
    assert set(counts.values()) <= {1}
    assert len(counts) == (size // batch_size * batch_size if drop_last else size)
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert taken(rows(size)) == batches
    assert taken(Squares(size)) == batches


@given(size=st.integers(2, 80), first=st.floats(0, 1), seed=st.integers(0, 99))
def test_random_split_uses_each_sample_once(size: int, first: float, seed: int) -> None:
    counts = [round(size * first), size - round(size * first)]
    for lengths in (counts, [first / 2, first / 2, 1 - first]):
        parts = random_split(rows(size), lengths, Generator(seed))
        assert sorted(int(i) for part in parts for i in part.indices) == list(range(size))
        again = random_split(rows(size), lengths, Generator(seed))
        assert [part.indices.tolist() for part in parts] == [part.indices.tolist() for part in again]
    assert [len(part) for part in random_split(rows(size), counts)] == counts


def test_random_split_rounds_as_pytorch() -> None:
    torch_data = pytest.importorskip("torch.utils.data")
    for lengths in ([0.7, 0.2, 0.1], [0.5, 0.5], [0.34, 0.33, 0.33], [3, 8]):
        theirs = [len(part) for part in torch_data.random_split(range(11), lengths)]
        assert [len(part) for part in random_split(rows(11), lengths)] == theirs
    with pytest.raises(ValueError, match="add up to 12, but the data set has 11"):
        random_split(rows(11), [4, 8])
    with pytest.raises(ValueError, match="must not be negative"):
        random_split(rows(11), [-1, 12])
    with pytest.raises(ValueError, match="add up to"):
        random_split(rows(11), [5.5, 5.5])


def test_set_epoch_gives_the_order_of_the_epoch() -> None:
    loader = DataLoader(rows(30), 30, shuffle=True, generator=Generator(1))

    def order() -> list[int]:
        return next(iter(loader))[0].tolist()

    first, second = order(), order()
    assert first != second
    orders = []
    for epoch in (0, 1, 2, 1):
        loader.set_epoch(epoch, seed=7)
        orders.append(order())
    assert orders[1] == orders[3]
    assert len({tuple(order) for order in orders}) == 3
    DataLoader(rows(3)).set_epoch(1, seed=0)


def test_batches_are_indexed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = rows(10)
    monkeypatch.setattr(TensorDataset, "__getitem__", lambda *_: pytest.fail("taken one by one"))
    assert [batch[1].tolist() for batch in DataLoader(Subset(dataset, range(1, 8)), 4)] == [[2, 4, 6, 8], [10, 12, 14]]


def test_overridden_getitem_is_used() -> None:
    class Negative(TensorDataset):
        def __getitem__(self, index):
            return tuple(-value for value in super().__getitem__(index))

    assert next(iter(DataLoader(Negative(engine.arange(3)), 3)))[0].tolist() == [0, -1, -2]


def test_plain_sequences_and_streams() -> None:
    assert [batch.tolist() for batch in DataLoader([1, 2, 3], 2)] == [[1, 2], [3]]
    assert [batch.tolist() for batch in DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]
    assert [batch.tolist() for batch in DataLoader(Stream(), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError, match="number of batches is unknown"):
        len(DataLoader(Stream()))
    with pytest.raises(ValueError, match="cannot be shuffled"):
        DataLoader(Stream(), shuffle=True)


def test_chunked_order_equals_unchunked_order() -> None:
    many = CHUNK * 2 + 5
    random = Generator(3)
    few = range(CHUNK - 3)
    assert list(RandomSampler(range(10), True, many, random)) == Generator(3).integers(0, 10, many).tolist()
    assert random.get_state() == Generator(3, 0, -(-many // 4)).get_state()
    wide = RandomSampler(range(2**33), True, many, random)
    assert np.array_equal(np.concatenate([*wide.chunks()]), Generator(3, 0, -(-many // 4)).integers(0, 2**33, many))
    passes = Generator(3)
    whole = np.concatenate([passes.permutation(len(few)) for _ in range(3)])[:many]
    again = Generator(3)
    assert np.array_equal(np.concatenate([*RandomSampler(few, False, many, again).chunks()]), whole)
    assert again.get_state() == passes.get_state()
    batches = [*BatchSampler(SequentialSampler(range(many)), 1000).arrays()]
    assert {len(batch) for batch in batches[:-1]} == {1000}
    assert np.array_equal(np.concatenate(batches), np.arange(many))


@pytest.mark.parametrize("replacement", [True, False])
def test_random_numbers_between_batches_do_not_change_the_order(replacement: bool) -> None:
    def order(draws: int) -> list[list[int]]:
        engine.manual_seed(0)
        batches = []
        for batch in BatchSampler(RandomSampler(range(5), replacement, 20), 3):
            engine.rand(draws)
            batches.append(batch)
        return batches

    assert order(0) == order(7)


@pytest.mark.parametrize(
    "sampler",
    [
        RandomSampler(range(10), replacement=True, num_samples=2**27),
        RandomSampler(range(10), num_samples=2**27),
        data.WeightedRandomSampler([1.0, 2.0], 2**27),
        SequentialSampler(range(2**27)),
    ],
    ids=["replacement", "passes", "weighted", "sequential"],
)
def test_long_orders_need_little_memory(sampler: Any) -> None:
    tracemalloc.start()
    try:
        assert len(next(BatchSampler(sampler, 8).arrays())) == 8
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


def test_no_batches() -> None:
    samples = list(DataLoader(Squares(3), batch_size=None))
    assert [type(first) for first, _ in samples] == [engine.Tensor] * 3
    assert len(DataLoader(Squares(3), batch_size=None)) == 3
    with pytest.raises(ValueError, match="drop_last requires"):
        DataLoader(Squares(3), batch_size=None, drop_last=True)


def test_samplers() -> None:
    assert list(SequentialSampler([1] * 3)) == [0, 1, 2]
    assert list(BatchSampler([5, 6, 7], 2)) == [[5, 6], [7]]
    assert list(BatchSampler(SequentialSampler([1] * 3), 2, drop_last=True)) == [[0, 1]]
    assert sorted(SubsetRandomSampler([4, 2, 9])) == [2, 4, 9]
    assert Counter(RandomSampler([1] * 4, num_samples=8)) == dict.fromkeys(range(4), 2)
    drawn = list(RandomSampler([1] * 4, replacement=True, num_samples=50, generator=Generator(0)))
    assert len(drawn) == 50
    assert set(drawn) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="empty data set"):
        list(RandomSampler([], num_samples=2))
    with pytest.raises(ValueError, match="at least 1"):
        RandomSampler([1], num_samples=0)
    assert list(DataLoader([], shuffle=True)) == []
    assert [batch.tolist() for batch in DataLoader([7, 8, 9], sampler=[2, 0], batch_size=2)] == [[9, 7]]
    assert [batch.tolist() for batch in DataLoader([7, 8, 9], batch_sampler=[[0], [2, 1]])] == [[7], [9, 8]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_workers": -1}, "num_workers must be an integer of at least 0, not -1"),
        ({"prefetch_factor": 2}, "prefetch_factor=2 requires workers"),
        ({"persistent_workers": True}, "persistent_workers"),
        ({"timeout": -3}, "timeout must be at least 0"),
        ({"shuffle": True, "sampler": [0]}, "cannot be combined"),
        ({"batch_sampler": [[0]], "batch_size": 3}, "batch_sampler cannot be combined"),
        ({"batch_size": 0}, "positive integer, not 0"),
        ({"batch_size": 2.5}, "positive integer, not 2.5"),
        ({"batch_size": True}, "positive integer, not True"),
    ],
)
def test_invalid_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(rows(3), **arguments)


class Own(data.Sampler):
    def __iter__(self):
        return iter([2, 0])


class Lines(IterableDataset):
    def __iter__(self):
        return iter("abc")

    def __len__(self) -> int:
        return 3


def test_custom_sampler_needs_only_iter() -> None:
    assert [batch.tolist() for batch in DataLoader([7, 8, 9], sampler=Own(), batch_size=2)] == [[9, 7]]


def test_concat_dataset() -> None:
    row = Squares(3) + Squares(2)
    assert isinstance(row, data.ConcatDataset)
    assert (len(row), row.cumulative_sizes) == (5, [3, 5])
    assert row[4] == row[-1] == (1.0, 1)
    assert [batch[1].tolist() for batch in DataLoader(row, 4)] == [[0, 1, 4, 0], [1]]
    with pytest.raises(IndexError):
        row[5]
    with pytest.raises(TypeError, match="ChainDataset"):
        data.ConcatDataset([Stream()])
    with pytest.raises(ValueError, match="at least one"):
        data.ConcatDataset([])


def test_chain_dataset() -> None:
    assert list(Stream() + Lines()) == [0, 1, 2, 3, 4, "a", "b", "c"]
    assert len(data.ChainDataset([Lines(), Lines()])) == 6
    assert len(DataLoader(Lines(), 2)) == 2
    assert len(DataLoader(Lines(), 2, drop_last=True)) == 1
    with pytest.raises(TypeError, match="iterable data sets, not TensorDataset"):
        list(data.ChainDataset([rows(1)]))


def test_stack_dataset() -> None:
    assert data.StackDataset([1, 2], "ab")[1] == (2, "b")
    assert data.StackDataset(x=[1, 2], y="ab")[0] == {"x": 1, "y": "a"}
    assert len(data.StackDataset([1, 2])) == 2
    with pytest.raises(ValueError, match="one length"):
        data.StackDataset([1, 2], "a")
    with pytest.raises(ValueError, match="either by position or by keyword"):
        data.StackDataset([1], y=[2])


def test_weighted_random_sampler() -> None:
    drawn = Counter(data.WeightedRandomSampler([1, 0, 3], 4000, generator=Generator(0)))
    assert drawn[1] == 0
    assert 0.7 < drawn[2] / 4000 < 0.8
    several = [list(data.WeightedRandomSampler([1, 0, 3], 2, replacement=False)) for _ in range(400)]
    assert all(sorted(both) == [0, 2] for both in several)
    assert 0.65 < sum(both[0] == 2 for both in several) / 400 < 0.85
    with pytest.raises(ValueError, match="only 2 weights are above 0"):
        data.WeightedRandomSampler([1, 0, 3], 3, replacement=False)
    with pytest.raises(ValueError, match="finite numbers that are at least 0"):
        data.WeightedRandomSampler([1, -1], 1)


Pair = namedtuple("Pair", "x y")


def test_collate_matches_pytorch() -> None:
    torch = pytest.importorskip("torch")
    default_collate = pytest.importorskip("torch.utils.data").default_collate

    def plain(value: Any) -> Any:
        if isinstance(value, (torch.Tensor, engine.Tensor)):
            return str(value.dtype).partition(".")[2], value.tolist()
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return type(value)(*map(plain, value)) if isinstance(value, Pair) else list(map(plain, value))

    for batch in (
        [1, 2],
        [1.5, 2.5],
        [(np.ones(2, np.float32), 3), (np.zeros(2, np.float32), 4)],
        [{"a": 1, "b": [1.0, 2]}, {"a": 2, "b": [3.0, 4]}],
        [Pair(1, 2.0), Pair(3, 4.0)],
    ):
        assert plain(data.default_collate(batch)) == plain(default_collate(batch))
    assert data.default_collate(["a", "b"]) == default_collate(["a", "b"])


def test_collate_errors() -> None:
    with pytest.raises(ValueError, match=r"differ in shapes: sample 0 has \(2,\), sample 1 has \(3,\)"):
        data.default_collate([np.ones(2), np.ones(3)])
    with pytest.raises(ValueError, match="differ in lengths"):
        data.default_collate([(1, 2), (1,)])
    with pytest.raises(ValueError, match="differ in keys"):
        data.default_collate([{"a": 1}, {"b": 1}])
    with pytest.raises(TypeError, match="samples of type object"):
        data.default_collate([object()])
    with pytest.raises(ValueError, match="lengths 2, 3"):
        TensorDataset(engine.zeros(2), engine.zeros(3))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_collate_many_small_arrays(shape: tuple[int, ...], dtype: Any) -> None:
    arrays = [np.random.default_rng(number).integers(0, 2, shape).astype(dtype) for number in range(5)]
    expected = np.stack(arrays)
    tensors = [engine.tensor(array) for array in arrays]
    for batch in (arrays, tensors, [array[()] for array in arrays]):
        found = data.default_collate(batch)
        assert found.dtype == engine.tensor(expected).dtype
        np.testing.assert_array_equal(found.numpy(), expected)
        found.zero_()  # separate memory
    np.testing.assert_array_equal(np.stack(arrays), expected)
    np.testing.assert_array_equal(tensors[0].numpy(), expected[0])


def test_collate_keeps_gradients_and_promotes_dtypes() -> None:
    weight = engine.ones(2, requires_grad=True)
    data.default_collate([weight * 2, weight]).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [3, 3]
    assert data.default_collate([engine.ones(1), engine.ones(1, dtype=engine.float64)]).dtype == engine.float64
    with pytest.raises(ValueError, match="differ in shapes"):
        data.default_collate([engine.ones(1), engine.ones(2)])


def test_pad_collate() -> None:
    lengths = [(np.arange(n), {"text": "x" * n, "mask": engine.ones(n, 2)}, n) for n in (1, 3)]
    rows, more, numbers = data.pad_collate(lengths)
    assert rows.tolist() == [[0, 0, 0], [0, 1, 2]]
    assert more["text"] == ["x", "xxx"]
    assert more["mask"].sum(2).tolist() == [[2, 0, 0], [2, 2, 2]]
    assert numbers.tolist() == [1, 3]
    assert data.pad_collate([engine.ones(2, 1), engine.ones(1, 2)], -1).tolist() == [
        [[1, -1], [1, -1]],
        [[1, 1], [-1, -1]],
    ]
    assert data.pad_collate([Pair(np.zeros(1), 1), Pair(np.zeros(2), 2)]).x.shape == (2, 2)
    assert data.pad_collate([np.zeros(0), np.zeros(2)]).shape == (2, 2)
    with pytest.raises(ValueError, match="differ in dimensions"):
        data.pad_collate([np.zeros(2), np.zeros((2, 2))])


@given(
    size=st.integers(1, 40),
    replicas=st.integers(1, 6),
    drop_last=st.booleans(),
    seed=st.integers(0, 9),
    epoch=st.integers(0, 3),
)
def test_distributed_sampler_partitions_samples(
    size: int, replicas: int, drop_last: bool, seed: int, epoch: int
) -> None:
    dataset = range(size)
    parts = [
        data.DistributedSampler(dataset, replicas, rank, seed=seed, drop_last=drop_last) for rank in range(replicas)
    ]
    for part in parts:
        part.set_epoch(epoch)
    orders = [list(part) for part in parts]
    assert {len(order) for order in orders} == {len(parts[0])}
    counts = Counter(number for order in orders for number in order)
    if drop_last:
        assert set(counts.values()) <= {1}
    else:
        assert set(counts) == set(dataset)
    assert [list(part) for part in parts] == orders
    one = data.DistributedSampler(dataset, 1, 0, seed=seed)
    loader = DataLoader(dataset, 4, sampler=one)
    loader.set_epoch(epoch, seed=0)
    assert [int(number) for batch in loader for number in batch] == list(
        data.DistributedSampler(dataset, 1, 0, seed=seed) if epoch == 0 else one
    )


def test_distributed_sampler_matches_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = pytest.importorskip("torch.utils.data")
    for size, replicas, drop_last in itertools.product((1, 10, 11), (1, 3, 4, 20), (False, True)):
        for rank in range(replicas):
            arguments = (range(size), replicas, rank, False, 0, drop_last)
            ours, theirs = data.DistributedSampler(*arguments), peers.DistributedSampler(*arguments)
            assert list(ours) == list(theirs)
            assert (len(ours), ours.total_size) == (len(theirs), theirs.total_size)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "2")
    assert list(data.DistributedSampler(range(8), shuffle=False)) == [2, 6]
    with pytest.raises(ValueError, match="rank must be in 0 to 1, not 2"):
        data.DistributedSampler(range(8), 2)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        data.DistributedSampler(range(8), 0)


def test_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [batch[0] for batch in DataLoader(Squares(3), 2, pin_memory=True)]
    assert not batches[0].is_pinned()  # no GPU here: ordinary memory
    copies: list[Any] = []
    monkeypatch.setattr("engine.data.loader.cuda_available", lambda: True)
    monkeypatch.setattr(engine.Tensor, "pin_memory", lambda tensor: copies.append(tensor) or tensor + 1)
    for batch_type in (list, tuple, Pair._make, lambda pair: {"x": pair[0], "y": pair[1]}):
        (batch,) = DataLoader(Squares(3), 3, pin_memory=True, collate_fn=Collated(batch_type))
        values = list(batch.values()) if isinstance(batch, dict) else list(batch)
        assert [value.tolist() for value in values] == [[1, 2, 3], [1, 2, 5]]
        assert type(batch) is type(batch_type([0, 0]))
    assert len(copies) == 8


class Collated:
    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __call__(self, batch: Any) -> Any:
        return self.kind(data.default_collate(batch))


def test_custom_collate_gets_the_samples() -> None:
    assert list(DataLoader(Squares(3), 2, collate_fn=len)) == [2, 1]
