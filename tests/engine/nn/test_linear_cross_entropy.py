"""Cross entropy with its linear layer, against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import EngineError

torch: Any = pytest.importorskip("torch")

RANDOM = np.random.default_rng(0)
X, ONE = RANDOM.standard_normal((6, 5)), RANDOM.standard_normal(5)
W, WIDE = RANDOM.standard_normal((4, 5)), RANDOM.standard_normal((4, 2, 3, 5))
CLASSES, PLACES = RANDOM.integers(0, 4, 6), RANDOM.integers(0, 4, (6, 2, 3))
SHARES = RANDOM.uniform(0, 1, (6, 4))
CASES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "plain": ((X, W, CLASSES), {}),
    "one sample": ((ONE, W, CLASSES[0]), {}),
    "sum": ((X, W, CLASSES), {"reduction": "sum"}),
    "each": ((X, W, CLASSES), {"reduction": "none"}),
    "bias and weights": ((X, W, CLASSES), {"linear_bias": W[:, 0], "weight": SHARES[0]}),
    "ignored": ((X, W, CLASSES), {"ignore_index": int(CLASSES[0])}),
    "smoothed": ((X, W, CLASSES), {"label_smoothing": 0.2}),
    "probabilities": ((X, W, SHARES), {}),
    "places": ((X, WIDE, PLACES), {"linear_bias": WIDE[..., 0], "reduction": "none"}),
}
REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "sizes": ((X, W[:, :4], CLASSES), {}),
    "a vector": ((X, W[0], CLASSES), {}),
    "dimensions": ((X[None], W, CLASSES), {}),
    "bias": ((X, W, CLASSES), {"linear_bias": W[:3, 0]}),
    "places of one sample": ((ONE, WIDE, PLACES[0]), {}),
    "ignored probabilities": ((X, W, SHARES), {"ignore_index": 1}),
}


def call(library: Any, args: Any, kwargs: Any) -> list[np.ndarray[Any, Any]]:
    def tensor(value: Any) -> Any:
        return library.tensor(np.array(value)) if isinstance(value, (np.ndarray, np.integer)) else value

    given, named = [tensor(a) for a in args], {name: tensor(value) for name, value in kwargs.items()}
    for leaf in given[:2]:
        leaf.requires_grad_()
    result = library.nn.functional.linear_cross_entropy(*given, **named)
    result.sum().backward()
    return [result.detach().numpy(), given[0].grad.numpy(), given[1].grad.numpy()]


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str) -> None:
    for ours, theirs in zip(call(engine, *CASES[case]), call(torch, *CASES[case]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", REFUSED)
def test_refused_arguments(case: str) -> None:
    with pytest.raises(RuntimeError):
        call(torch, *REFUSED[case])
    with pytest.raises(EngineError, match="linear_cross_entropy"):
        call(engine, *REFUSED[case])


def test_module_matches_pytorch() -> None:
    options = {"out_features": (2, 3), "bias": True, "label_smoothing": 0.1, "weight": SHARES[0].astype(np.float32)}
    ours, theirs = (
        library.nn.LinearCrossEntropyLoss(5, 4, **{**options, "weight": library.tensor(options["weight"])})
        for library in (engine, torch)
    )
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    values = [
        module(library.tensor(X.astype(np.float32)), library.tensor(PLACES)).item()
        for library, module in ((engine, ours), (torch, theirs))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    with pytest.raises(EngineError, match="one per class"):
        nn.LinearCrossEntropyLoss(5, 4, weight=engine.ones(3))
    with pytest.raises(EngineError, match="between 0 and 1"):
        nn.LinearCrossEntropyLoss(5, 4, label_smoothing=2.0)
