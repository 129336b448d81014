"""Making tensors: PyTorch's dtypes and shapes, no copy where that is promised, and explained refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import AutogradError, DTypeError, RangeError, ShapeError
from engine.random import Generator
from engine.shape import Dim
from engine.tensors import Tensor

CASES: dict[str, Callable[[Any], Any]] = {
    "whole number": lambda lib: lib.tensor(5),
    "boolean": lambda lib: lib.tensor(True),
    "fraction": lambda lib: lib.tensor(2.5),
    "mixed list": lambda lib: lib.tensor([1, 2.5, True]),
    "booleans and numbers": lambda lib: lib.tensor([True, 2]),
    "nothing": lambda lib: lib.tensor([]),
    "rows of nothing": lambda lib: lib.tensor([[], []]),
    "tuple": lambda lib: lib.tensor(((1, 2), (3, 4))),
    "NumPy number": lambda lib: lib.tensor(np.float64(2)),
    "NumPy array": lambda lib: lib.tensor(np.arange(3, dtype=np.int16)),
    "list of arrays": lambda lib: lib.tensor([np.array([1.0, 2.0]), np.array([3.0, 4.0])]),
    "list of tensors": lambda lib: lib.tensor([lib.tensor(1), lib.tensor(2)]),
    "list of tensors with a dimension": lambda lib: lib.tensor([lib.tensor([0.3]), lib.tensor([[0.4]])]),
    "tensors and numbers": lambda lib: lib.tensor([[lib.tensor([1]), 2.5], (3, lib.tensor(True))]),
    "given dtype": lambda lib: lib.tensor([1.7, -1.7], dtype=lib.int64),
    "range": lambda lib: lib.tensor(range(3)),
    "leaf": lambda lib: lib.tensor([1.0], requires_grad=True),
    "zeros": lambda lib: lib.zeros(2, 3),
    "zeros of a tuple": lambda lib: lib.zeros((2, 3), dtype=lib.int32),
    "zeros of a shape": lambda lib: lib.zeros(lib.ones(2, 0).shape),
    "zero dimensions": lambda lib: lib.zeros(()),
    "ones": lambda lib: lib.ones([2, 1], requires_grad=True),
    "full of whole numbers": lambda lib: lib.full((2,), 3),
    "full of fractions": lambda lib: lib.full((2, 2), 0.5),
    "full of booleans": lambda lib: lib.full((2,), True),
    "arange": lambda lib: lib.arange(5),
    "arange of fractions": lambda lib: lib.arange(5.0),
    "arange with step": lambda lib: lib.arange(1, 10, 3),
    "arange downwards": lambda lib: lib.arange(5, 0, -2),
    "arange in tenths": lambda lib: lib.arange(0, 1, 0.1),
    "arange by name": lambda lib: lib.arange(start=1, end=4),
    "arange as a leaf": lambda lib: lib.arange(3.0, requires_grad=True),
    "empty arange": lambda lib: lib.arange(0),
    "linspace": lambda lib: lib.linspace(0, 1, 5),
    "linspace of one": lambda lib: lib.linspace(3, 5, 1),
    "linspace of whole numbers": lambda lib: lib.linspace(0, 10, 5, dtype=lib.int64),
    "eye": lambda lib: lib.eye(2, 3),
    "eye of booleans": lambda lib: lib.eye(2, dtype=lib.bool),
    "zeros_like": lambda lib: lib.zeros_like(lib.ones(2, dtype=lib.float16)),
    "ones_like": lambda lib: lib.ones_like(lib.ones(2), dtype=lib.int32),
    "full_like": lambda lib: lib.full_like(lib.ones(2, dtype=lib.int64), 2.7),
    "like, as a leaf": lambda lib: lib.zeros_like(lib.ones(2), requires_grad=True),
    "as_tensor": lambda lib: lib.as_tensor([1, 2]),
    "new_tensor": lambda lib: lib.ones(2, dtype=lib.int32).new_tensor([1.5]),
    "new_zeros": lambda lib: lib.ones(2, dtype=lib.int32).new_zeros(3),
    "new_ones": lambda lib: lib.ones(2).new_ones((2, 2)),
    "new_full": lambda lib: lib.ones(2).new_full((2,), 3),
    "drawn": lambda lib: lib.rand(2, 3) * 0,
    "drawn whole": lambda lib: lib.randint(2, 5, (3,)) * 0,
    "drawn whole by name": lambda lib: lib.randint(low=2, high=5, size=(3,)) * 0,
    "drawn order": lambda lib: lib.randperm(3).double().mean(),
}


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list:UserWarning")
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_creation_matches_pytorch(make: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    found, expected = make(engine), make(torch)
    assert f"torch.{found.dtype.name}" == str(expected.dtype)
    assert (tuple(found.shape), found.requires_grad) == (tuple(expected.shape), expected.requires_grad)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-6)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "rows of different lengths": (lambda: engine.tensor([[1], [1, 2]]), ShapeError, "rows of different lengths"),
    "tensors of several elements in a list": (
        lambda: engine.tensor([engine.ones(2, 1)]), ShapeError, r"not shape 2×1\. Use engine\.stack\(list\)"
    ),
    "text": (lambda: engine.tensor(["a"]), DTypeError, "cannot create a tensor from str elements"),
    "None": (lambda: engine.tensor(None), DTypeError, "from NoneType elements"),
    "a huge number": (lambda: engine.tensor(2**70), RangeError, "too large for int64"),
    "a number beyond its dtype": (
        lambda: engine.tensor(300, dtype=engine.uint8), DTypeError, "300 out of bounds for uint8.*larger dtype"
    ),
    "text as numbers": (lambda: engine.tensor("a", dtype=engine.float32), DTypeError, "convert the data to float32"),
    "whole numbers with gradients": (lambda: engine.tensor([1], requires_grad=True), AutogradError, "one is int64"),
    "no size": (engine.zeros, TypeError, "a size is missing"),
    "a negative size": (lambda: engine.zeros(2, -1), ShapeError, r"negative: \(2, -1\)"),
    "a negative size on meta": (lambda: engine.zeros(-1, device="meta"), ShapeError, "negative"),
    "a fraction of a size": (lambda: engine.zeros(2.5), TypeError, "float"),
    "a symbolic size with numbers": (lambda: engine.zeros(Dim("N")), ShapeError, "N has a symbolic size.*meta"),
    "a step the wrong way": (lambda: engine.arange(0, 5, -1), ShapeError, "a step of -1 does not lead from 0 to 5"),
    "no step": (lambda: engine.arange(0, 5, 0), ShapeError, "a step of 0 does not lead from 0 to 5"),
    "no end": (engine.arange, TypeError, "needs an end"),
    "a negative count": (lambda: engine.linspace(0, 1, -1), ShapeError, "negative"),
    "randint without bounds": (lambda: engine.randint(size=(2,)), TypeError, "low, high, size"),
    "shapes that do not stack": (
        lambda: engine.stack([engine.ones(2), engine.ones(3)]), ShapeError, "tensor 0 is 2 and tensor 1 is 3"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_arguments(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_copies_and_shared_memory() -> None:
    array = np.zeros(2, np.float32)
    copy, same, view = engine.tensor(array), engine.as_tensor(array), engine.from_numpy(array)
    array[0] = 1
    assert (copy[0].item(), same[0].item(), view[0].item()) == (0, 1, 1)
    x = engine.ones(2, requires_grad=True)
    assert engine.as_tensor(x) is x
    assert engine.tensor(x).is_leaf
    assert not np.shares_memory(engine.tensor(x).numpy(), x.detach().numpy())


def test_a_symbolic_size_on_the_meta_device() -> None:
    N = Dim("N")
    for make in (engine.zeros, engine.ones, engine.empty, engine.rand, engine.randn):
        assert make(N, 3, device="meta").shape == (N, 3)
    with engine.device("meta"):
        assert engine.full((N,), 2.0).is_meta
        assert engine.tensor([1.0, 2.0]).shape == (2,)
        assert engine.zeros(1, device="cpu").device == engine.device("cpu")
    assert not engine.zeros(1).is_meta


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: engine.rand(3, generator=g),
        lambda g: engine.randn(3, generator=g),
        lambda g: engine.randperm(9, generator=g),
        lambda g: engine.randint(100, (5,), generator=g),
    ],
)
def test_random_numbers_repeat_with_their_seed(draw: Callable[[Any], Tensor]) -> None:
    first, again, other = draw(Generator(1)), draw(Generator(1)), draw(Generator(2))
    assert first.tolist() == again.tolist() != other.tolist()
    engine.manual_seed(3)
    samples = draw(None).tolist()
    assert draw(None).tolist() != samples
    engine.manual_seed(3)
    assert draw(None).tolist() == samples


def test_like_follows_dtype_and_device() -> None:
    x = engine.zeros(2, dtype=engine.float64)
    for make in (engine.rand_like, engine.randn_like, engine.empty_like):
        assert (make(x).dtype, tuple(make(x).shape)) == (engine.float64, (2,))
        assert make(x.to("meta")).is_meta
