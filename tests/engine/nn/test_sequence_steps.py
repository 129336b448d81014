"""Masks of padding and the last step of sequences, which PyTorch has no modules for."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import ShapeError
from engine.shape import Dim


def test_padding_is_where_the_index_is() -> None:
    tokens = engine.tensor([[3, 1, 0], [0, 2, 0]])
    np.testing.assert_array_equal(nn.PaddingMask()(tokens).numpy(), [[False, False, True], [True, False, True]])
    np.testing.assert_array_equal(nn.PaddingMask(2)(tokens).numpy(), [[False] * 3, [False, True, False]])


def test_the_last_step_is_that_before_the_padding() -> None:
    x = engine.arange(24, dtype=engine.float32).reshape(4, 3, 2).requires_grad_()
    mask = engine.tensor([[False, False, True], [True, True, False], [True, True, True], [False, False, False]])
    last = nn.LastStep()(x, mask)
    np.testing.assert_array_equal(last.detach().numpy(), x.detach().numpy()[[0, 1, 2, 3], [1, 2, 0, 2]])
    last.sum().backward()
    assert x.grad.sum().item() == 8
    np.testing.assert_array_equal(nn.LastStep()(x).detach().numpy(), x.detach().numpy()[:, -1])


def test_masked_attention_ignores_padding() -> None:
    engine.manual_seed(0)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    tokens = engine.tensor([[1, 2, 0, 0]])
    x = engine.randn(1, 4, 4)
    other = x.clone()
    other[:, 2:] += 1
    mask = nn.PaddingMask()(tokens)
    first, second = (attention(each, each, each, key_padding_mask=mask)[0][:, :2] for each in (x, other))
    np.testing.assert_allclose(first.detach().numpy(), second.detach().numpy())


def test_shapes_without_values() -> None:
    batch = Dim("N")
    x = engine.empty((batch, 5, 3), device="meta")
    mask = engine.empty((batch, 5), dtype=engine.bool, device="meta")
    assert nn.LastStep()(x, mask).shape == (batch, 3)
    with pytest.raises(ShapeError, match="LastStep expects sequences N×T×E, not 2 dimensions"):
        nn.LastStep()(engine.zeros(2, 3))
