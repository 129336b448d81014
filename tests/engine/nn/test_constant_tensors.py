"""Layers with constant tensors; PyTorch has none of them, so the references are its functions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.shape import Dim

torch = pytest.importorskip("torch")
N = Dim("N")

LAYERS = [
    (nn.ConstantTensor((2, 2), (1.0, 2.0, 3.0, 4.0)), torch.tensor([[1.0, 2.0], [3.0, 4.0]])),
    (nn.ConstantTensor((2, 2), 7.0), torch.full((2, 2), 7.0)),
    (nn.ConstantTensor(3, (5, -1, 2), "int64"), torch.tensor([5, -1, 2])),
    (nn.ConstantTensor((1, 2), (1, 0), "bool"), torch.tensor([[True, False]])),
    (nn.RangeTensor(5), torch.arange(5)),
    (nn.RangeTensor(-3, 7, -4), torch.arange(7, -3, -4)),
    (nn.RangeTensor(4, 1, dtype="float"), torch.arange(1.0, 4.0)),
    (nn.LinspaceTensor(5, -1.0, 1.0), torch.linspace(-1, 1, 5)),
    (nn.LinspaceTensor(1), torch.linspace(0, 1, 1)),
    (nn.IdentityMatrix(3), torch.eye(3)),
    (nn.IdentityMatrix(2, 4), torch.eye(2, 4)),
]


@pytest.mark.parametrize(("layer", "expected"), LAYERS, ids=[repr(layer) for layer, _ in LAYERS])
def test_values(layer: Any, expected: Any) -> None:
    assert layer().numpy().dtype == expected.numpy().dtype
    np.testing.assert_array_equal(layer().numpy(), expected.numpy())
    batch = layer(engine.zeros(4, 6))
    np.testing.assert_array_equal(batch.numpy(), expected.expand(4, *expected.shape).numpy())
    on_shapes = copy.deepcopy(layer).to("meta")
    assert on_shapes(engine.empty(N, 6, device="meta")).shape == (N, *expected.shape)
    assert not list(layer.parameters())


def test_given_values_are_saved_and_computed_ones_are_not() -> None:
    saved = {name: list(layer.state_dict()) for name, layer in zip("abcd", [LAYERS[0][0], *_computed()], strict=True)}
    assert saved == {"a": ["weight"], "b": [], "c": [], "d": []}


def _computed() -> list[nn.Module]:
    return [nn.RangeTensor(5), nn.LinspaceTensor(5), nn.IdentityMatrix(5)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: nn.ConstantTensor((2, 3), (1.0, 2.0)), "1 or 6 numbers"),
        (lambda: nn.ConstantTensor(2, 1.5, "int64"), "whole numbers for the dtype int64, not 1.5"),
        (lambda: nn.ConstantTensor(2, 2, "bool"), "0 or 1 for the dtype bool, not 2"),
        (lambda: nn.RangeTensor(0), "from 0 to 0 in steps of 1 it has 0"),
        (lambda: nn.RangeTensor(5, step=0), "steps of 0"),
        (lambda: nn.RangeTensor(10**12), "at most|1 to 16,777,216"),
    ],
)
def test_unusable_arguments(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
