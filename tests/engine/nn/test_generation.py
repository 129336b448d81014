"""Layers that generative networks need and PyTorch has no modules for: noise, constants, halves."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import ShapeError
from engine.shape import Dim

N = Dim("N")


def test_noise_has_one_row_per_sample() -> None:
    engine.manual_seed(0)
    samples = nn.Noise(1000)(engine.zeros(50, 3, dtype=engine.int64)).numpy()
    assert samples.shape == (50, 1000) and samples.dtype == np.float32
    assert abs(samples.mean()) < 0.02 and abs(samples.std() - 1) < 0.02
    even = nn.Noise((10, 100), "uniform")(engine.zeros(50)).numpy()
    assert even.shape == (50, 10, 100)
    assert -1 <= even.min() < -0.99 and 0.99 < even.max() < 1


def test_noise_follows_the_seed_and_is_new_each_time() -> None:
    layer, x = nn.Noise(4), engine.zeros(2)
    engine.manual_seed(7)
    first, second = layer(x).numpy(), layer.eval()(x).numpy()
    assert not np.array_equal(first, second)
    engine.manual_seed(7)
    np.testing.assert_array_equal(layer(x).numpy(), first)


def test_compiled_noise_equals_eager_noise() -> None:
    layer, x = nn.Noise(5), engine.zeros(3)
    compiled = engine.compile(lambda x: layer(x) + 0)
    engine.manual_seed(3)
    eager = [layer(x).numpy() for _ in range(4)]
    engine.manual_seed(3)
    np.testing.assert_array_equal([compiled(x).numpy() for _ in range(4)], eager)


def test_noise_has_two_distributions() -> None:
    with pytest.raises(ValueError, match="'normal' or 'uniform'"):
        nn.Noise(3, "cauchy")  # pyright: ignore[reportArgumentType]


def test_fill_is_a_constant() -> None:
    x = engine.randn(2, 3, requires_grad=True)
    filled = nn.Fill(0.9)(x)
    np.testing.assert_array_equal(filled.numpy(), np.full((2, 3), 0.9, np.float32))
    assert not filled.requires_grad


def test_halves_undo_a_concatenation() -> None:
    a, b = engine.randn(3, 2, requires_grad=True), engine.randn(3, 2)
    first, second = nn.Halves()(engine.cat([a, b]))
    np.testing.assert_array_equal(first.detach().numpy(), a.detach().numpy())
    np.testing.assert_array_equal(second.detach().numpy(), b.numpy())
    (first * 2 + second).sum().backward()
    assert a.grad is not None
    np.testing.assert_array_equal(a.grad.numpy(), np.full((3, 2), 2, np.float32))
    left, right = nn.Halves(-1)(a)
    assert left.shape == right.shape == (3, 1)


@pytest.mark.parametrize(("dim", "message"), [(0, "size 3"), (2, "dim=2 is out of range")])
def test_refused_inputs_of_halves(dim: int, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        nn.Halves(dim)(engine.zeros(3, 2))


def test_shapes_with_a_symbolic_batch() -> None:
    x = engine.zeros(N, 6, device="meta")
    assert nn.Noise((4, 2))(x).shape == (N, 4, 2)
    assert nn.Fill()(x).shape == (N, 6)
    assert [half.shape for half in nn.Halves()(engine.cat([x, x]))] == [(N, 6), (N, 6)]
    with pytest.raises(ShapeError, match="size N"):
        nn.Halves()(x)


def test_repr_names_the_arguments() -> None:
    assert repr(nn.Noise(3)) == "Noise(size=(3,), distribution='normal')"
    assert repr(nn.Fill(0.5)) == "Fill(value=0.5)"
    assert repr(nn.Halves(1)) == "Halves(dim=1)"
