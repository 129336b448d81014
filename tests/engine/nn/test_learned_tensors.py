"""Layers with learned tensors; PyTorch has none of them, so the references are its functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import ShapeError
from engine.nn.layers.learned_tensors import Initialization
from engine.shape import Dim
from engine.utils.checkpoint import checkpoint

torch = pytest.importorskip("torch")
N = Dim("N")


def test_a_learned_tensor_broadcasts_and_gets_gradients() -> None:
    layer, x = nn.LearnedTensor((4, 3)), engine.randn(5, 4, 3)
    assert layer().shape == (4, 3) and list(layer.state_dict()) == ["weight"]
    weight = torch.tensor(layer.weight.detach().numpy(), requires_grad=True)
    (x * layer()).sum().backward()
    (torch.tensor(x.numpy()) * weight).sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), weight.grad.numpy(), rtol=1e-6)  # pyright: ignore[reportOptionalMemberAccess]


def test_a_batch_expands_the_tensor() -> None:
    layer = nn.LearnedTensor((1, 3))
    tokens = engine.randn(5, 2, 3)
    expanded = layer(tokens)
    assert expanded.shape == (5, 1, 3)
    assert engine.cat([expanded, tokens], dim=1).shape == (5, 3, 3)
    np.testing.assert_array_equal(expanded[4].detach().numpy(), layer.weight.detach().numpy())


@pytest.mark.parametrize(
    ("initialization", "low", "high", "deviation"),
    [
        ("zeros", 0, 0, 0),
        ("ones", 1, 1, 0),
        ("normal", -math.inf, math.inf, 0.5),
        ("uniform", -0.5, 0.5, 0.5 / math.sqrt(3)),
        ("xavier_uniform", -math.sqrt(6 / 200), math.sqrt(6 / 200), math.sqrt(2 / 200)),
        ("xavier_normal", -math.inf, math.inf, math.sqrt(2 / 200)),
        ("kaiming_uniform", -math.sqrt(6 / 100), math.sqrt(6 / 100), math.sqrt(2 / 100)),
        ("kaiming_normal", -math.inf, math.inf, math.sqrt(2 / 100)),
    ],
)
def test_initial_values(initialization: Initialization, low: float, high: float, deviation: float) -> None:
    engine.manual_seed(0)
    values = nn.LearnedTensor((100, 100), initialization, scale=0.5)().detach().numpy()
    assert low - 1e-6 <= values.min() and values.max() <= high + 1e-6
    np.testing.assert_allclose(values.std(), deviation, rtol=0.05)


def test_unusable_arguments() -> None:
    with pytest.raises(ValueError, match="'cauchy'"):
        nn.LearnedTensor(3, "cauchy")  # pyright: ignore[reportArgumentType]
    with pytest.raises((ValueError, ShapeError), match="two dimensions"):
        nn.LearnedTensor(3, "xavier_normal")


def test_class_tokens_come_first() -> None:
    layer, x = nn.ClassToken(3, tokens=2), engine.randn(5, 4, 3)
    y = layer(x)
    assert y.shape == (5, 6, 3)
    np.testing.assert_array_equal(y[:, 2:].detach().numpy(), x.numpy())
    np.testing.assert_array_equal(y[3, :2].detach().numpy(), layer.weight.detach().numpy())
    y[:, 0].sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), [[5, 5, 5], [0, 0, 0]])  # pyright: ignore[reportOptionalMemberAccess]
    with pytest.raises(ShapeError, match="sequences"):
        layer(engine.randn(5, 3))


def test_learned_positions_are_added() -> None:
    layer, x = nn.LearnedPositions(6, 3), engine.randn(5, 4, 3)
    np.testing.assert_array_equal(layer(x).detach().numpy(), (x + layer.weight[:4]).detach().numpy())
    with pytest.raises(ShapeError, match="7 positions"):
        layer(engine.randn(1, 7, 3))


@pytest.mark.parametrize("features", [6, 5])
def test_sinusoidal_positions(features: int) -> None:
    layer = nn.SinusoidalPositions(8, features)
    expected = torch.zeros(8, features)
    for p in range(8):
        for i in range(features):
            angle = p / 10000 ** (i // 2 * 2 / features)
            expected[p, i] = math.cos(angle) if i % 2 else math.sin(angle)
    np.testing.assert_allclose(layer(engine.zeros(2, 8, features))[1].numpy(), expected.numpy(), atol=1e-6)
    assert list(layer.parameters()) == [] and list(layer.state_dict()) == ["weight"]


@pytest.mark.parametrize("layer", [nn.ClassToken, nn.LearnedPositions, nn.SinusoidalPositions, nn.LearnedTensor])
def test_shapes_on_the_meta_device(layer: Any) -> None:
    with engine.device("meta"):
        x = engine.empty(N, 4, 3)
        if layer is nn.LearnedTensor:
            assert layer((2, 3))(x).shape == (N, 2, 3)
        elif layer is nn.ClassToken:
            assert layer(3)(x).shape == (N, 5, 3)
        else:
            assert layer(4, 3)(x).shape == (N, 4, 3)


def test_a_running_average_weighs_the_first_batches_equally_and_is_saved() -> None:
    layer = nn.RunningAverage(3, momentum=0.25)
    batches = [engine.randn(5, 2, 3) for _ in range(6)]
    expected = np.zeros(3, np.float32)
    for number, batch in enumerate(batches, start=1):
        weight = max(0.25, 1 / number)
        expected += weight * (batch.numpy().reshape(-1, 3).mean(0) - expected)
        found = layer(batch)
        assert found.shape == batch.shape
        np.testing.assert_allclose(found[0, 0].numpy(), expected, rtol=1e-5, atol=1e-6)
        assert not found.requires_grad
    before = {name: value.numpy().copy() for name, value in layer.state_dict().items()}
    assert list(before) == ["average", "num_batches_tracked"] and before["num_batches_tracked"] == 6
    layer.eval()
    np.testing.assert_array_equal(layer(batches[0])[3, 1].numpy(), before["average"])
    assert list(layer.parameters()) == []
    with pytest.raises(ShapeError, match="expected 3 features"):
        layer(engine.randn(5, 2))


def test_a_recomputed_batch_counts_once_in_a_running_average() -> None:
    layer, linear = nn.RunningAverage(3), nn.Linear(3, 3)
    x = engine.randn(5, 3)
    y = checkpoint(lambda x: linear(x) - layer(linear(x)), x, use_reentrant=False)
    y.square().sum().backward()
    assert layer.num_batches_tracked.item() == 1
