"""Reading and writing by index: what PyTorch gives, for generated indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import engine
from engine.errors import AutogradError, DTypeError, ShapeError
from engine.shape import Dim

SHAPES = ((4,), (3, 4), (2, 3, 4), (3, 0, 2), (), (1, 5), (2, 3, 2, 3))


KINDS = (
    "int", "slice", "None", "...", "whole", "list", "mask", "mask over two", "bool", "tensor", "array", "int32",
    "range", "tuple", "NumPy number", "byte mask", "NumPy mask",
)  # fmt: skip


@st.composite
def _cases(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Any]]:
    """A shape, and an index for it: a pair of a kind and data stands for what `_index` makes of it."""
    shape = draw(st.sampled_from(SHAPES))
    items: list[Any] = []
    at = 0
    while at < len(shape) and draw(st.integers(0, 6)):
        kind = draw(st.sampled_from(KINDS))
        if kind == "..." and ... not in items:
            items.append(...)
            at += draw(st.integers(0, len(shape) - at))
        elif kind == "mask over two" and at + 1 < len(shape):
            row = st.lists(st.booleans(), min_size=shape[at + 1], max_size=shape[at + 1])
            items.append(("tensor", draw(st.lists(row, min_size=shape[at], max_size=shape[at]))))
            at += 2
        elif kind == "bool":
            items.append(draw(st.booleans()))
        elif kind in ("None", "...", "mask over two"):
            items.append(None)
        else:
            items.append(draw(_item(kind, shape[at])))
            at += 1
    return shape, items


def _item(kind: str, size: int) -> st.SearchStrategy[Any]:
    """An item that takes one dimension."""
    place = st.integers(-size, size - 1) if size else st.just(0)
    places = st.lists(place, min_size=2, max_size=2)
    bound = st.none() | st.integers(-size - 2, size + 2)
    marks = st.lists(st.booleans(), min_size=size, max_size=size)
    simple: dict[str, st.SearchStrategy[Any]] = {
        "int": st.integers(-size - 1, size),
        "slice": st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 3])),
        "list": places,
    }
    data = {
        "whole": st.lists(places, min_size=1, max_size=2), "mask": marks, "byte mask": marks, "NumPy mask": marks,
        "tensor": place, "NumPy number": place, "range": st.integers(1, 2),
    }  # fmt: skip
    kinds = {"whole": "tensor", "mask": "tensor"}
    return simple[kind] if kind in simple else st.tuples(st.just(kinds.get(kind, kind)), data.get(kind, places))


def _index(lib: Any, items: list[Any]) -> Any:
    # An empty list of booleans reads as floats.
    def tensor(data: Any) -> Any:
        return lib.tensor(data) if np.size(data) else lib.tensor(data, dtype=lib.bool)

    kinds: dict[str, Callable[[Any], Any]] = {
        "tensor": tensor,
        "array": np.array,
        "int32": lambda data: lib.tensor(data, dtype=lib.int32),
        "tuple": tuple,
        "NumPy number": np.int64,
        "range": range,
        "byte mask": lambda data: lib.tensor(data, dtype=lib.uint8),
        "NumPy mask": lambda data: np.array(data, bool),
    }
    return tuple(kinds[item[0]](item[1]) if isinstance(item, tuple) else item for item in items)


def _attempt(operation: Any) -> tuple[Any, Exception | None]:
    try:
        return operation(), None
    except (IndexError, ValueError, TypeError, RuntimeError) as error:
        return None, error


@pytest.mark.filterwarnings("ignore:as in PyTorch, a uint8 index", "ignore:indexing with dtype torch.uint8")
@settings(max_examples=400)
@given(_cases())
def test_reading(case: tuple[tuple[int, ...], list[Any]]) -> None:
    torch = pytest.importorskip("torch")
    shape, items = case
    numbers = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    x, tx = engine.tensor(numbers, requires_grad=True), torch.tensor(numbers, requires_grad=True)
    actual, error = _attempt(lambda: x[_index(engine, items)])
    expected, their_error = _attempt(lambda: tx[_index(torch, items)])
    if error is not None and "out of bounds" in str(error) and expected is not None and expected.numel() == 0:
        return  # PyTorch does not check indices of empty selections
    assert (error is None) == (their_error is None), (error, their_error)
    if error is not None:
        assert isinstance(error, (ShapeError, DTypeError)), repr(error)
        assert isinstance(error, IndexError) == isinstance(their_error, IndexError), (error, their_error)
        return
    np.testing.assert_array_equal(actual.detach().numpy(), expected.detach().numpy())
    weights = np.arange(expected.numel(), dtype=float).reshape(expected.shape) + 1
    (actual * engine.tensor(weights)).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy())  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore:as in PyTorch, a uint8 index", "ignore:indexing with dtype torch.uint8")
@settings(max_examples=400)
@given(_cases(), st.sampled_from(["number", "full", "row"]))
def test_writing(case: tuple[tuple[int, ...], list[Any]], kind: str) -> None:
    torch = pytest.importorskip("torch")
    shape, items = case
    assume(("byte mask",) not in [item[:1] for item in items if isinstance(item, tuple)])  # PyTorch refuses some
    numbers = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    x, tx = engine.tensor(numbers), torch.tensor(numbers)
    part, error = _attempt(lambda: tx[_index(torch, items)])
    if error is not None:
        with pytest.raises((ShapeError, DTypeError)):
            x[_index(engine, items)] = 7.0
        return
    if kind == "number":
        value, theirs = 7.0, 7.0
    else:
        samples = np.random.default_rng(0).normal(size=part.shape if kind == "full" else part.shape[-1:])
        value, theirs = engine.tensor(samples, requires_grad=True), torch.tensor(samples, requires_grad=True)
    _, error = _attempt(lambda: x.__setitem__(_index(engine, items), value))
    _, their_error = _attempt(lambda: tx.__setitem__(_index(torch, items), theirs))
    if error is not None and "out of bounds" in str(error) and part.numel() == 0:
        return
    assert (error is None) == (their_error is None), (error, their_error)
    np.testing.assert_array_equal(x.detach().numpy(), tx.detach().numpy())
    if kind == "number" or error is not None or not tx.requires_grad or any(_repeats(item) for item in items):
        return  # the order of two writes to one index is undefined
    weights = np.arange(numbers.size, dtype=float).reshape(shape)
    (x * engine.tensor(weights)).sum().backward()
    (tx * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(value.grad.numpy(), theirs.grad.numpy())


def _repeats(item: Any) -> bool:
    return isinstance(item, list) or (isinstance(item, tuple) and np.asarray(item[1]).dtype.kind in "if")


def test_repeated_positions_add_their_gradients() -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    x[engine.tensor([0, 0, 1])].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 1.0]


def test_a_range_and_an_array_are_lists_of_positions() -> None:
    x = engine.arange(5)
    assert x[range(1, 3)].tolist() == [1, 2]
    assert x[np.array([3, 0])].tolist() == [3, 0]
    assert x[np.array([True, False, False, False, True])].tolist() == [0, 4]
    assert x[np.int64(2)].item() == 2
    assert x[engine.tensor([], dtype=engine.int64)].tolist() == []
    assert x[[]].tolist() == []


def test_a_position_may_come_from_a_tensor() -> None:
    x = engine.arange(5)
    assert x[engine.tensor(1) : engine.tensor(3)].tolist() == [1, 2]
    assert "abc"[engine.tensor(2)] == "c"
    with pytest.raises(TypeError, match="integer tensors"):
        "abc"[engine.tensor(2.0)]


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (3, ShapeError, r"index 3 is out of range for a dimension of size 3 in 3×4"),
        ((0, 0, 0), ShapeError, r"too many indices: got 3 for a tensor of 2 dimensions \(3×4\)"),
        ((..., 0, ...), ShapeError, "only one ellipsis"),
        (slice(None, None, -1), ValueError, r"positive, not -1\. Use flip\(\)"),
        (1.5, TypeError, "an index can contain integers.* not of float"),
        ("a", TypeError, "not of str"),
        ([0.5], DTypeError, r"an integer dtype or bool, not float64.*\.long\(\)"),
        ([True, False], ShapeError, "a mask of 2 does not match 3×4 from dimension 0 on"),
        ([5], ShapeError, "index 5 is out of bounds for axis 0 with size 3"),
    ],
)
def test_errors_of_wrong_indices(index: Any, error: type[Exception], message: str) -> None:
    x = engine.zeros(3, 4)
    with pytest.raises(error, match=message):
        x[index]
    with pytest.raises(error, match=message):
        x[index] = 1.0
    assert x._storage.version == 0


def test_a_value_that_does_not_fit_is_refused() -> None:
    x = engine.zeros(3, 4)
    with pytest.raises(ShapeError, match="3 does not broadcast to 4"):
        x[0] = engine.ones(3)
    with pytest.raises(ShapeError, match="index assignment: the value 3 does not broadcast to the indexed shape 2×4"):
        x[[0, 1]] = engine.ones(3)
    assert x._storage.version == 0


def test_written_values_are_converted() -> None:
    x = engine.zeros(3, dtype=engine.int64)
    x[0] = 2.7
    x[1:] = engine.tensor([1.9, -1.9])
    x[[0]] = True
    assert x.tolist() == [1, 1, -1]


def test_iterating_gives_views() -> None:
    x = engine.zeros(2, 2)
    for row in x:
        row += 1
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(TypeError, match="0-dimensional"):
        list(engine.tensor(1.0))


def test_symbolic_sizes() -> None:
    N = Dim("N")
    x = engine.zeros(N, 5, device="meta")
    assert x[0].shape == (5,)
    assert x[:, None, 1:3].shape == (N, 1, 2)
    assert x[1:].shape == (N - 1, 5)
    assert x[-2:].shape == (2, 5)
    assert x[..., [0, 2]].shape == (N, 2)
    assert x[engine.zeros(7, dtype=engine.int64)].shape == (7, 5)
    with pytest.raises(ShapeError, match=r"mask.*where\(\)"):
        x[:, x[0] > 0]


def test_gather_scatter_and_one_hot_check_positions() -> None:
    x = engine.arange(6.0).reshape(2, 3)
    assert x.gather(1, engine.tensor([[2, 0]])).tolist() == [[2.0, 0.0]]
    with pytest.raises(ShapeError, match=r"gather: index 3 is out of range for dimension 1 of size 3\. Use 0 to 2"):
        x.gather(1, engine.tensor([[3]]))
    with pytest.raises(DTypeError, match="gather: the index must be an integer tensor, not float32"):
        x.gather(1, engine.ones(2, 3))
    with pytest.raises(ShapeError, match="gather: the index must have 2 dimensions like the tensor, not 1"):
        x.gather(1, engine.tensor([0]))
    with pytest.raises(ShapeError, match="gather: index 3×1 is larger than 2×3 in dimension 0"):
        x.gather(1, engine.zeros(3, 1, dtype=engine.int64))
    with pytest.raises(ShapeError, match="scatter: index -1 is out of range"):
        x.scatter_add(1, engine.tensor([[-1]]), engine.ones(1, 1))
    assert x.scatter_add(1, engine.tensor([[0]]), engine.ones(2, 3)).tolist() == [[1.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert engine.nn.functional.one_hot(engine.tensor([1, 0]), 2).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ShapeError, match="2 is not one of the 2 classes"):
        engine.nn.functional.one_hot(engine.tensor([2]), 2)
    with pytest.raises(AutogradError, match="leaf"):
        engine.ones(2, requires_grad=True)[engine.tensor([0])] = 1.0
