"""Distances and similarities of vectors against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine

torch = pytest.importorskip("torch")
A, B = np.random.default_rng(0).standard_normal((2, 3, 4, 5))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("CosineSimilarity", {}),
        ("CosineSimilarity", {"dim": -1, "eps": 3.0}),
        ("PairwiseDistance", {}),
        ("PairwiseDistance", {"p": 1.0, "eps": 0.1, "keepdim": True}),
        ("PairwiseDistance", {"p": 3.0}),
    ],
)
def test_values_and_gradients(name: str, options: dict[str, Any]) -> None:
    results = []
    for library in (engine, torch):
        layer = getattr(library.nn, name)(**options)
        a, b = (library.tensor(array, requires_grad=True) for array in (A, B[:1]))
        result = layer(a, b)
        (result * result).sum().backward()
        results.append((result.detach().numpy(), a.grad.numpy(), b.grad.numpy()))
        assert repr(layer) == f"{name}()"
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
