"""Clipping, and parameters as vectors, against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import RangeError, ShapeError

torch = pytest.importorskip("torch")
GRADIENTS = [np.array([[3.0, -4.0], [0.5, 2.0]]), None, np.array([12.0])]


def parameters(library: Any, gradients: Any = GRADIENTS) -> list[Any]:
    result = []
    for gradient in gradients:
        p = library.nn.Parameter(library.ones(*(1,) if gradient is None else gradient.shape, dtype=library.float64))
        p.grad = None if gradient is None else library.tensor(gradient)
        result.append(p)
    return result


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3, float("inf"), 0.5])
@pytest.mark.parametrize("max_norm", [1.0, 100.0, 0.0])
def test_by_norm(norm_type: float, max_norm: float) -> None:
    ours, theirs = parameters(engine), parameters(torch)
    total = nn.utils.clip_grad_norm_(ours, max_norm, norm_type)
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    assert total.item() == pytest.approx(expected.item())
    for a, b in zip(ours, theirs, strict=True):
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-12)


def test_one_tensor_and_none() -> None:
    p = parameters(engine)[0]
    nn.utils.clip_grad_norm_(p, 1.0)
    assert np.linalg.norm(p.grad.numpy()) == pytest.approx(1, abs=1e-5)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0
    assert nn.utils.clip_grad_norm_(iter(parameters(engine)), 1.0).item() > 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_norms(bad: float) -> None:
    p = parameters(engine, [np.array([bad])])
    with pytest.raises(RangeError, match="cannot be clipped"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert not np.isfinite(nn.utils.clip_grad_norm_(p, 1.0).item())


def test_by_value() -> None:
    ours, theirs = parameters(engine), parameters(torch)
    nn.utils.clip_grad_value_(ours, 2.5)
    torch.nn.utils.clip_grad_value_(theirs, 2.5)
    np.testing.assert_array_equal(ours[0].grad.numpy(), theirs[0].grad.numpy())


def test_total_norm() -> None:
    tensors = [engine.tensor([3.0]), engine.tensor([[4.0]])]
    assert nn.utils.get_total_norm(tensors).item() == 5
    assert nn.utils.get_total_norm(tensors, float("inf")).item() == 4


def test_vectors() -> None:
    layer = nn.Linear(3, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    np.testing.assert_array_equal(vector.detach().numpy()[6:], layer.bias.detach().numpy())
    assert vector.requires_grad
    nn.utils.vector_to_parameters(engine.arange(8).float(), layer.parameters())
    assert layer.weight.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert layer.bias.tolist() == [6, 7]
    with pytest.raises(ShapeError, match="the parameters need more"):
        nn.utils.vector_to_parameters(engine.zeros(7), layer.parameters())
    with pytest.raises(TypeError, match="list"):
        nn.utils.vector_to_parameters([1.0], layer.parameters())  # pyright: ignore[reportArgumentType]


def test_deprecated_name() -> None:
    x = engine.ones(4, requires_grad=True)
    (x * 3).sum().backward()
    with pytest.warns(FutureWarning, match="deprecated"):
        assert nn.utils.clip_grad_norm([x], 1.0).item() == 6.0
    assert x.grad is not None
    assert x.grad.norm().item() == pytest.approx(1.0, rel=1e-5)
