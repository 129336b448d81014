"""Views share memory and history; writes go through them, and autograd knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import AutogradError, DTypeError, ShapeError
from engine.tensors import Tensor

VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "number": lambda x: x[1],
    "all numbers": lambda x: x[1, 2],
    "slice": lambda x: x[1:, ::2],
    "new axis": lambda x: x[None, ..., 0],
    "everything": lambda x: x[...],
    "empty": lambda x: x[2:1],
    "transpose": lambda x: x.transpose(0, 1),
    "T": lambda x: x.T,
    "permute": lambda x: x.permute(1, 0),
    "reshape": lambda x: x.reshape(4, 3),
    "view": lambda x: x.view(2, -1),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(1, (2, 2)),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(1, 3, 4),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "chunk": lambda x: x.chunk(2, 1)[1],
    "split": lambda x: x.split([1, 2])[1],
    "view of a view": lambda x: x[1:].T[0],
}


@pytest.fixture
def x() -> Tensor:
    return engine.arange(1, 13, dtype=engine.float64).reshape(3, 4).clone()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_shares_memory_and_version(x: Tensor, view: Callable[[Tensor], Tensor]) -> None:
    part = view(x)
    assert part._storage is x._storage
    part.zero_()
    assert x._storage.version == 1
    assert int((x == 0).sum()) == part.numel()
    x.fill_(7.0)
    assert bool((part == 7).all())


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_history_goes_through_a_view(x: Tensor, view: Callable[[Tensor], Tensor]) -> None:
    """Gradient of a write through a view: 0 for the overwritten elements, and the gradient of the new ones."""
    x.requires_grad_()
    weight = engine.tensor(3.0, dtype=engine.float64, requires_grad=True)
    whole = x * 1
    part = view(whole)
    part.copy_(weight)
    assert part.grad_fn is not None
    (whole * 2).sum().backward()
    written = np.zeros((3, 4))
    view(engine.from_numpy(written)).fill_(1.0)
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), 2 * (1 - written))
    assert weight.grad is not None
    assert weight.grad.item() == 2 * written.sum()


def test_view_follows_its_base() -> None:
    x = engine.ones(3, requires_grad=True)
    base = engine.zeros(3)
    part = base[1:]
    assert not part.requires_grad
    base.add_(x)
    assert part.requires_grad
    part.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


def test_two_views_of_one_base_see_each_others_writes() -> None:
    x = engine.ones(4, requires_grad=True)
    base = x * 1
    left, right = base[:3], base[1:]
    left.mul_(10)
    right.mul_(2)
    assert left.tolist() == [10.0, 20.0, 20.0]
    left.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [10.0, 20.0, 20.0, 0.0]


def test_write_that_reads_its_target() -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.mul_(y)
    y.mul_(y)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 32.0]  # of x⁴


def test_backward_refuses_a_saved_view_that_was_overwritten() -> None:
    y = engine.tensor([1.0, 2.0], requires_grad=True) * 1
    y.mul_(y[...])
    with pytest.raises(AutogradError, match="changed in place"):
        y.sum().backward()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.__setitem__(engine.tensor([0]), 1.0),
        lambda x: x[1:].zero_(),
    ],
)
def test_leaves_that_require_gradients_are_not_written_to(x: Tensor, write: Callable[[Tensor], Any]) -> None:
    before = x.tolist()
    x.requires_grad_()
    with pytest.raises(AutogradError, match=r"leaf that requires gradients.*no_grad"):
        write(x)
    assert x.tolist() == before
    with engine.no_grad():
        write(x)
    assert x.tolist() != before
    assert x.is_leaf


def test_a_view_made_without_recording_has_no_history() -> None:
    """PyTorch says requires_grad=True of such a view, though no gradient flows through it."""
    x = engine.ones(3, requires_grad=True)
    with engine.no_grad():
        part = x[1:]
    assert not part.requires_grad
    with pytest.raises(AutogradError, match="created under no_grad"):
        part.mul_(2)
    with engine.no_grad():
        part.mul_(2)
    assert x.tolist() == [1.0, 2.0, 2.0]


def test_writes_to_a_detached_tensor_are_detected() -> None:
    y = engine.tensor([1.0, 2.0], requires_grad=True) * 1
    z = y * y
    y.detach().zero_()
    assert y.tolist() == [0.0, 0.0]
    with pytest.raises(AutogradError, match="changed in place"):
        z.sum().backward()


def test_writes_to_data_are_not_detected() -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    z = x * x
    x.data.add_(1)
    z.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 6.0]
    x.data = engine.tensor([9.0])
    assert x.tolist() == [9.0]


def test_numpy_shares_memory_both_ways() -> None:
    array = np.zeros(3, np.float32)
    x = engine.from_numpy(array)
    x[0] = 1.0
    assert array.tolist() == [1.0, 0.0, 0.0]
    x.numpy()[1] = 2.0
    assert array.tolist() == [1.0, 2.0, 0.0]


# -- what cannot be written -------------------------------------------------------------------


def test_repeated_elements_are_not_written_to() -> None:
    x = engine.zeros(3, 1).expand(3, 4)
    with pytest.raises(ShapeError, match=r"add_\(\) on an expanded tensor.*contiguous\(\)"):
        x.add_(1)
    x.expand(3, 4).contiguous().add_(1)
    engine.zeros(3, 4).expand(1, 3, 4).add_(1)
    engine.zeros(0, 1).expand(0, 4).add_(1)


def test_a_result_must_fit_what_it_is_written_to() -> None:
    with pytest.raises(ShapeError, match=r"add_\(\): the result is 2×3, but the tensor is 3"):
        engine.zeros(3).add_(engine.zeros(2, 3))
    with pytest.raises(ShapeError, match="2×3 does not broadcast to 3"):
        engine.zeros(3).copy_(engine.zeros(2, 3))
    with pytest.raises(DTypeError, match=r"mul_\(\) cannot write its float32 result into a int64 tensor"):
        engine.ones(3, dtype=engine.int64).mul_(0.5)
    with pytest.raises(DTypeError, match="bool tensor"):
        engine.ones(3, dtype=engine.bool).add_(1)


def test_in_place_keeps_the_dtype() -> None:
    x = engine.ones(2, dtype=engine.float16)
    x.add_(engine.ones(2, dtype=engine.float64))
    assert (x.dtype, x.tolist()) == (engine.float16, [2.0, 2.0])
    n = engine.tensor([1, 2], dtype=engine.uint8)
    n += engine.tensor([1, 1])
    assert (n.dtype, n.tolist()) == (engine.uint8, [2, 3])


def test_copy_converts_dtypes_and_passes_gradients_on() -> None:
    x = engine.ones(2, dtype=engine.float64, requires_grad=True)
    y = engine.zeros(3, 2).copy_(x)
    assert y.dtype is engine.float32
    y.sum().backward()
    assert x.grad is not None
    assert (x.grad.dtype, x.grad.tolist()) == (engine.float64, [3.0, 3.0])


def test_writing_from_memory_that_overlaps() -> None:
    x = engine.arange(5)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3]
    y = engine.arange(6).reshape(2, 3)
    y.add_(y.flip(0))
    assert y.tolist() == [[3, 5, 7], [3, 5, 7]]


def test_assignment_operators_write_in_place() -> None:
    x = engine.tensor([4.0, 8.0])
    alias = x
    x += 1
    x -= engine.tensor([1.0, 2.0])
    x *= 3
    x /= 2
    x **= 2
    assert x is alias
    assert x.tolist() == [36.0, 110.25]


def test_negating_in_place_with_gaps_in_memory() -> None:
    """NumPy 2.4's `negative` reads wrong elements there."""
    x = engine.arange(24.0, dtype=engine.float64).reshape(2, 3, 4)
    x[1:2, ::2][..., 0].neg_()
    assert x[1, :, 0].tolist() == [-12, 16, -20]


@pytest.mark.parametrize(
    ("size", "stride", "offset"), [((-1,), (1,), 0), ((2,), (-1,), 0), ((2,), (-1,), 3), ((2,), (1,), -1)]
)
def test_as_strided_stays_within_the_storage(size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    with pytest.raises(ShapeError, match="Use numbers of at least 0"):
        engine.arange(4).as_strided(size, stride, offset)
    with pytest.raises(ShapeError, match="at least 0"):
        engine.zeros(1).set_(engine.arange(4.0), offset, size, stride)


def test_as_strided_of_a_view_with_another_dtype_counts_its_elements() -> None:
    x = engine.arange(64, dtype=engine.uint8)
    wide = x.view(engine.float64)
    assert wide.as_strided((2,), (2,), 1).numpy().tobytes() == wide[1:4:2].numpy().tobytes()
    with pytest.raises(ShapeError, match="exceeds the storage"):
        wide.as_strided((64,), (1,), 0)
    assert wide.view(engine.uint8).as_strided((64,), (1,), 0).tolist() == x.tolist()
