"""Gradients through conversions, views of other dtypes, memory formats, and writes to new tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import AutogradError, ShapeError

CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "to a dtype": lambda lib, x: x.to(lib.float64),
    "there and back": lambda lib, x: x.half().float(),
    "bfloat16": lambda lib, x: x.bfloat16(),
    "type": lambda lib, x: x.type(lib.DoubleTensor),
    "like another": lambda lib, x: x.to(lib.ones(1, dtype=lib.float64)),
    "copied": lambda lib, x: x.to(x.dtype, copy=True),
    "channels last": lambda lib, x: x.reshape(1, 1, 2, 3).to(memory_format=lib.channels_last),
    "contiguous, channels last": lambda lib, x: x.reshape(1, 1, 2, 3).contiguous(memory_format=lib.channels_last),
    "by index": lambda lib, x: x[[0, 1], 1:],
    "put": lambda lib, x: x.put(lib.tensor([0, 5]), lib.tensor([7.0, 8.0])),
    "put and added": lambda lib, x: x.put(lib.tensor([0, 0]), lib.tensor([7.0, 8.0]), accumulate=True),
    "index_put": lambda lib, x: x.index_put((lib.tensor([0, 1]), lib.tensor([1, 2])), lib.tensor([7.0, 8.0])),
    "index_put and added": lambda lib, x: x.index_put((lib.tensor([0, 0]),), lib.tensor([7.0]), accumulate=True),
    "filled diagonal": lambda lib, x: (x * 1).fill_diagonal_(3.0),
    "written over": lambda lib, x: (x * 1).copy_(lib.ones(3)),
    "a part drawn": lambda lib, x: (x * 1).index_put_((lib.tensor([0]),), lib.ones(3).uniform_(2, 2)),
    "H": lambda lib, x: x.H,
    "wrapped": lambda lib, x: x.real,
    "reversed": lambda lib, x: reversed(x),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_gradients(change: Callable[[Any, Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    grads: list[Any] = []
    for lib in (engine, torch):
        x = lib.tensor(numbers, requires_grad=True)
        y = change(lib, x)
        weights = lib.tensor(np.arange(y.numel(), dtype=np.float32).reshape(tuple(y.shape)) + 1)
        (y.double() * weights).sum().backward()
        grads.append((tuple(y.shape), y.detach().double().numpy(), x.grad.numpy()))
    assert grads[0][0] == grads[1][0]
    np.testing.assert_allclose(grads[0][1], grads[1][1])
    np.testing.assert_allclose(grads[0][2], grads[1][2])


def test_values_put_have_gradients() -> None:
    torch = pytest.importorskip("torch")
    for accumulate in (False, True):
        result: list[Any] = []
        for lib in (engine, torch):
            values = lib.tensor([[1.0], [2.0]], requires_grad=True)
            x = lib.zeros(3, 4)
            x.index_put_((lib.tensor([0, 2]),), values, accumulate=accumulate)
            (x * lib.arange(12.0).reshape(3, 4)).sum().backward()
            result.append(values.grad.tolist())
        assert result[0] == result[1]


def test_a_view_of_another_dtype_shares_memory() -> None:
    x = engine.zeros(2, 2)
    bits = x.view(engine.int32)
    bits[0, 0] = 0x3F800000
    assert x.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert x._version == bits._version == 1
    assert not engine.ones(2, requires_grad=True).view(engine.int32).requires_grad
    with pytest.raises(ShapeError, match="do not divide into"):
        engine.ones(2, 3).view(engine.float64)


def test_new_memory_is_not_shared() -> None:
    x = engine.ones(4)
    y = x.detach()
    y.resize_(8)
    y[:4] = 0
    assert x.tolist() == [1.0] * 4
    z = x.detach().resize_(2)
    z.zero_()
    assert x.tolist() == [0.0, 0.0, 1.0, 1.0]
    with pytest.raises(AutogradError, match="resize_"):
        engine.ones(2, requires_grad=True).resize_(3)
    with pytest.raises(ShapeError, match="exceeds the memory"):
        engine.zeros(1).set_(engine.arange(6.0), 4, (3,))


def test_to_without_a_change_returns_the_tensor() -> None:
    x = engine.ones(1, 2, 3, 4)
    for same in (x.to(x), x.to("cpu"), x.to(engine.float32), x.float(), x.cpu(), x.to(), x.contiguous(),
                 x.type(engine.FloatTensor), x.to(memory_format=engine.contiguous_format), +x):  # fmt: skip
        assert same is x
    last = x.to(memory_format=engine.channels_last)
    assert last.is_contiguous(memory_format=engine.channels_last)
    assert last.contiguous(memory_format=engine.channels_last).stride() == last.stride()
    assert last.contiguous().is_contiguous()
