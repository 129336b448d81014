"""Layers of attention that PyTorch has no modules for: heads, positions, causal mask."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import ShapeError
from engine.nn import functional as F
from engine.shape import Dim

N = Dim("N")


def test_heads_are_split_and_merged() -> None:
    x = engine.randn(2, 5, 6, requires_grad=True)
    heads = nn.SplitHeads(3)(x)
    assert heads.shape == (2, 3, 5, 2)
    np.testing.assert_array_equal(heads.detach().numpy()[1, 2], x.detach().numpy()[1, :, 4:6])
    merged = nn.MergeHeads()(heads)
    np.testing.assert_array_equal(merged.detach().numpy(), x.detach().numpy())
    (merged * 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 5, 6), 2, np.float32))


def test_attention_from_parts_is_multihead_attention() -> None:
    engine.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = engine.randn(3, 4, 8)
    q, k, v = (x @ attention.in_proj_weight.T + attention.in_proj_bias).chunk(3, dim=-1)
    split = nn.SplitHeads(2)
    heads = F.scaled_dot_product_attention(split(q), split(k), split(v), attn_mask=nn.CausalMask()(x))
    expected, _ = attention(x, x, x, attn_mask=nn.CausalMask()(x))
    found = attention.out_proj(nn.MergeHeads()(heads))
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_mask_is_that_of_pytorch() -> None:
    mask = nn.CausalMask()(engine.zeros(2, 4, dtype=engine.int64))
    np.testing.assert_array_equal(mask.numpy(), nn.Transformer.generate_square_subsequent_mask(4).numpy())
    assert nn.CausalMask()(engine.zeros(2, 4, 3, dtype=engine.float64)).dtype is engine.float64


def test_positions_count_the_steps() -> None:
    positions = nn.Positions()(engine.zeros(2, 4, 3))
    assert positions.tolist() == [0, 1, 2, 3]
    assert positions.dtype is engine.int64


def test_attention_part_shapes_with_a_symbolic_batch() -> None:
    x = engine.zeros(N, 6, 8, device="meta")
    heads = nn.SplitHeads(2)(x)
    assert heads.shape == (N, 2, 6, 4)
    assert nn.MergeHeads()(heads).shape == (N, 6, 8)
    assert nn.CausalMask()(x).shape == (6, 6)
    assert nn.Positions()(x).shape == (6,)


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (nn.SplitHeads(3), (2, 4, 8), "8 features cannot be split into 3 heads"),
        (nn.SplitHeads(2), (2, 8), "expects an input of 3 dimensions, N×T×E, not 2"),
        (nn.MergeHeads(), (2, 4, 8), "expects an input of 4 dimensions, N×H×T×D, not 3"),
        (nn.Positions(), (4,), "expects a batch of sequences"),
        (nn.CausalMask(), (4,), "expects a batch of sequences"),
    ],
)
def test_attention_parts_refuse_other_shapes(layer: nn.Module, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        layer(engine.zeros(*shape))


def test_compiled_mask_and_positions_equal_eager() -> None:
    mask, positions, table = nn.CausalMask(), nn.Positions(), nn.Embedding(6, 3)

    def function(x: engine.Tensor) -> engine.Tensor:
        return x + mask(x).softmax(-1) @ table(positions(x))

    compiled, x = engine.compile(function), engine.randn(2, 6, 3)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x).detach().numpy(), function(x).detach().numpy())
