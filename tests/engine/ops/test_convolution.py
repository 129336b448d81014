"""Convolution in blocks of samples or rows equals PyTorch's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from engine.ops.spatial import column_tiles, conv, convolution_grid
from engine.ops.spatial.conv import convolution, convolution_backward_weight, convolution_transpose

torch = pytest.importorskip("torch")


def _geometry(seed: int) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Random shapes of input and weight, and options for which the kernel fits into the input."""
    draw = random.Random(seed)
    ndim, groups = draw.choice([1, 2, 2, 3]), draw.choice([1, 1, 2, 3])
    sides = [
        (draw.randint(1, 4), draw.choice([1, 1, 2, 3]), draw.randint(0, 4), draw.choice([1, 1, 2])) for _ in range(ndim)
    ]
    sizes = [draw.randint(max(1, d * (k - 1) + 1 - 2 * p), 10) for k, _, p, d in sides]
    x = (draw.randint(1, 3), groups * draw.randint(1, 3), *sizes)
    weight = (groups * draw.choice([1, 2, 5]), x[1] // groups, *(side[0] for side in sides))
    names = ("stride", "padding", "dilation")
    return x, weight, {name: tuple(side[i] for side in sides) for i, name in enumerate(names, 1)} | {"groups": groups}


@pytest.mark.parametrize("cache_bytes", [64, 1000, 4000])
@pytest.mark.parametrize("seed", range(40))
def test_convolution_in_blocks_equals_pytorch(seed: int, cache_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution_grid, "CACHE_BYTES", cache_bytes)
    monkeypatch.setattr(convolution_grid, "MAX_BYTES", 2 * cache_bytes)
    monkeypatch.setattr(convolution_grid, "cheapest", convolution_grid.cheapest.__wrapped__)
    monkeypatch.setattr(column_tiles, "_tiles", column_tiles._tiles.__wrapped__)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(conv, "cheapest", convolution_grid.cheapest)
    shape, kernel, options = _geometry(seed)
    x, weight = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in (shape, kernel))
    expected = getattr(torch.nn.functional, f"conv{len(shape) - 2}d")(x, weight, None, **options)
    gradient = torch.randn_like(expected)
    expected.backward(gradient)
    assert x.grad is not None and weight.grad is not None
    a, w, g = (tensor.detach().numpy() for tensor in (x, weight, gradient))
    np.testing.assert_allclose(convolution.kernel(np, a, w, None, **options), expected.detach().numpy(), atol=1e-10)
    found = convolution_transpose.kernel(np, g, w, sizes=shape[2:], **options)
    np.testing.assert_allclose(found, x.grad.numpy(), atol=1e-10)
    found = convolution_backward_weight.kernel(np, g, a, kernel=kernel[2:], **options)
    np.testing.assert_allclose(found, weight.grad.numpy(), atol=1e-10)
