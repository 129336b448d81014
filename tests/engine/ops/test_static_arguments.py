"""Arguments modified after a call change neither its gradient nor its views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine

torch = pytest.importorskip("torch")

Call = Callable[[Any, Any, Any], Any]
"""Function of the library, a tensor, and the argument that is modified afterwards."""


def reverse(values: list[int]) -> None:
    values.reverse()


def other(values: list[int]) -> None:
    values[0] = 1


def written(m: Any, x: Any, columns: Any) -> Any:
    copy = x * 1
    copy[:, columns] = x[:, columns] * 2
    return copy


LISTS: dict[str, tuple[Call, list[int], Callable[[list[int]], None]]] = {
    "sum": (lambda m, x, dims: x.sum(dims), [0], other),
    "sum by keyword": (lambda m, x, dims: x.sum(dim=dims), [0], other),
    "var": (lambda m, x, dims: x.var(dims), [0], other),
    "amax": (lambda m, x, dims: x.amax(dims), [0], other),
    "logsumexp": (lambda m, x, dims: x.logsumexp(dims), [0], other),
    "permute": (lambda m, x, dims: x.permute(dims), [2, 0, 1], reverse),
    "movedim": (lambda m, x, dims: x.movedim(dims, [0, 1]), [2, 0], reverse),
    "flip": (lambda m, x, dims: x.flip(dims), [0], other),
    "roll": (lambda m, x, shifts: x.roll(shifts, [0, 1]), [1, 2], reverse),
    "rot90": (lambda m, x, dims: m.rot90(x, 1, dims), [0, 1], reverse),
    "repeat": (lambda m, x, counts: x.repeat(counts), [1, 2, 3], reverse),
    "expand": (lambda m, x, sizes: x[:1].expand(sizes), [2, 3, 4], reverse),
    "reshape": (lambda m, x, sizes: x.reshape(sizes), [4, 6], reverse),
    "unflatten": (lambda m, x, sizes: x.unflatten(2, sizes), [1, 4], reverse),
    "pad": (lambda m, x, widths: m.nn.functional.pad(x, widths), [1, 2, 0, 1], reverse),
    "avg_pool2d": (lambda m, x, sizes: m.nn.functional.avg_pool2d(x, sizes), [1, 2], reverse),
    "conv1d": (lambda m, x, p: m.nn.functional.conv1d(x, m.ones(2, 3, 2, dtype=x.dtype), padding=p), [1], other),
    "layer_norm": (lambda m, x, sizes: m.nn.functional.layer_norm(x, sizes), [4], list.clear),
    "as_strided": (lambda m, x, sizes: x.as_strided(sizes, [4, 1]), [2, 3], reverse),
    "a list as index": (lambda m, x, rows: x[:, rows], [0, 2, 2], reverse),
    "written by a list": (written, [0, 2], reverse),
}

COUNTS: dict[str, Call] = {
    "index": lambda m, x, n: x[:, n],
    "start of a slice": lambda m, x, n: x[:, n : n + 1],
    "stop of a slice": lambda m, x, n: x[:, :n],
    "step of a slice": lambda m, x, n: x[..., :: n + 1],
    "narrow": lambda m, x, n: x.narrow(2, n, 2),
    "reshape": lambda m, x, n: x.reshape(n, 24),
    "written slice": lambda m, x, n: written(m, x, slice(n, n + 1)),
}


def gradient(m: Any, call: Call, argument: Any, change: Callable[[Any], Any]) -> list[float]:
    x = m.arange(24.0, dtype=m.float64).reshape(2, 3, 4).requires_grad_()
    y = call(m, x, argument)
    change(argument)
    (y * m.arange(float(y.numel())).reshape(y.shape)).sum().backward()
    return x.grad.flatten().tolist()


@pytest.mark.parametrize("name", LISTS)
def test_list_modified_after_call_does_not_change_gradient(name: str) -> None:
    call, values, change = LISTS[name]
    found, expected = (gradient(m, call, list(values), change) for m in (engine, torch))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", COUNTS)
def test_counter_tensor_modified_after_call_does_not_change_gradient(name: str) -> None:
    found, expected = (gradient(m, COUNTS[name], m.tensor(1), lambda n: n.add_(1)) for m in (engine, torch))
    assert found == expected


def test_array_modified_after_call_does_not_change_gradient() -> None:
    found, expected = (
        gradient(m, lambda m, x, rows: x[:, rows], np.array([0, 2]), lambda rows: rows.fill(1)) for m in (engine, torch)
    )
    assert found == expected


@pytest.mark.parametrize("m", [engine, torch], ids=["engine", "torch"])
def test_view_uses_arguments_at_call_time(m: Any) -> None:
    x, dims, begin = m.arange(6.0).reshape(2, 3), [1, 0], m.tensor(0)
    turned, part = x.permute(dims), x[:, begin : begin + 2]
    dims.reverse()
    begin += 1
    x.mul_(2)
    assert turned.tolist() == [[0, 6], [2, 8], [4, 10]] and part.tolist() == [[0, 2], [6, 8]]
    turned.add_(1)
    assert x.tolist() == [[1, 3, 5], [7, 9, 11]]


def test_index_tensor_is_read_at_call_time() -> None:
    """As when unpacking packed sequences: `begin` is a tensor after the first addition."""

    def trained(m: Any) -> list[float]:
        x = m.arange(6.0).requires_grad_()
        outputs, begin = m.zeros(6), 0
        for batch in m.tensor([3, 2, 1]):
            outputs[begin : begin + batch] = x[begin : begin + batch] * batch
            begin += batch
        (outputs * m.arange(6.0)).sum().backward()
        return x.grad.tolist()

    assert trained(engine) == trained(torch) == [0, 3, 6, 6, 8, 5]


@pytest.mark.parametrize("index", [slice("a", None), slice(None, 1.5), slice(np.array([1, 2]), None)], ids=str)
def test_invalid_slice_raises(index: slice) -> None:
    with pytest.raises(TypeError, match="slice bounds must be integers"):
        engine.arange(6.0)[index]
