"""F.pad against PyTorch's: every mode, values and gradients, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import ShapeError
from engine.nn import functional as F
from engine.shape import Dim

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("amounts", [(1, 2), (0, 3, 2, 0), (2, 2, 1, 1), (0, 0, 0, 2)])
def test_values_and_gradients(mode: Any, amounts: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    values = random.standard_normal((2, 3, 4, 5) if len(amounts) == 4 else (2, 3, 5))
    x, y = engine.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    ours, theirs = F.pad(x, amounts, mode), torch.nn.functional.pad(y, amounts, mode)
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())
    gradient = random.standard_normal(tuple(ours.shape))
    ours.backward(engine.tensor(gradient))
    theirs.backward(torch.tensor(gradient))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("value", [0.1, -np.inf])
def test_constant_padding_leaves_the_input_unchanged(value: float) -> None:
    x = engine.randn(2, 3)
    padded = F.pad(x, (1, 0), value=value)
    np.testing.assert_array_equal(padded.numpy()[:, 0], np.float32(value))
    np.testing.assert_array_equal(padded.numpy()[:, 1:], x.numpy())


def test_zero_padding_returns_the_input() -> None:
    x = engine.ones(2, 3)
    assert F.pad(x, (0, 0)) is x


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_symbolic_batch(mode: Any) -> None:
    N = Dim("N")
    assert F.pad(engine.ones(N, 4, 5, device="meta"), (1, 2, 1, 0), mode).shape == (N, 5, 8)


@pytest.mark.parametrize("amounts", [(1,), (1,) * 6])
def test_refused_padding_sizes(amounts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="two numbers for each of up to 2 dimensions"):
        F.pad(engine.ones(2, 3), amounts)


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="'replicate' or 'circular', not 'same'"):
        F.pad(engine.ones(2, 3), (1, 1), "same")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("mode", "most"), [("reflect", 2), ("circular", 3)])
def test_padding_larger_than_the_input(mode: Any, most: int) -> None:
    with pytest.raises(ShapeError, match=f"at most {most} elements to dimension 1 of 2×3, not {most + 1}"):
        F.pad(engine.ones(2, 3), (most + 1, 0), mode)
