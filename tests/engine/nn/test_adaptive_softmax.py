"""The adaptive softmax against PyTorch's: loss, gradients, all classes, keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import RangeError, ShapeError

torch = pytest.importorskip("torch")


def both(**options: Any) -> tuple[Any, Any]:
    ours = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 12], **options).double()
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 12], **options).double()
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    return ours, theirs


@pytest.mark.parametrize("options", [{}, {"div_value": 2.0, "head_bias": True}])
@pytest.mark.parametrize("targets", [[0, 4, 5, 11, 12, 19, 7], [1, 2], 13])
def test_values_and_gradients_match_pytorch(options: dict[str, Any], targets: Any) -> None:
    ours, theirs = both(**options)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    values = np.random.default_rng(0).standard_normal((*np.shape(targets), 16))
    x, y = engine.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    actual, expected = ours(x, engine.tensor(targets)), theirs(y, torch.tensor(targets))
    np.testing.assert_allclose(actual.output.detach().numpy(), expected.output.detach().numpy(), rtol=1e-10)
    actual.loss.backward()
    expected.loss.backward()
    assert actual.loss.item() == pytest.approx(expected.loss.item())
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-9, atol=1e-12)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        if q.grad is not None and p.grad is not None:
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_all_classes() -> None:
    ours, theirs = both()
    values = np.random.default_rng(0).standard_normal((6, 16))
    result = ours.log_prob(engine.tensor(values))
    np.testing.assert_allclose(
        result.detach().numpy(), theirs.log_prob(torch.tensor(values)).detach().numpy(), rtol=1e-9
    )
    np.testing.assert_allclose(result.exp().sum(1).detach().numpy(), 1)
    assert ours.predict(engine.tensor(values)).tolist() == theirs.predict(torch.tensor(values)).tolist()


def test_refused_arguments() -> None:
    for cutoffs in ([], [5, 5], [0, 3], [7, 3], [30]):
        with pytest.raises(ValueError, match="increasing integers"):
            nn.AdaptiveLogSoftmaxWithLoss(4, 20, cutoffs)
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5])
    with pytest.raises(RangeError, match="between 0 and 19"):
        layer(engine.ones(1, 4), engine.tensor([20]))
    with pytest.raises(ShapeError, match="N×in_features"):
        layer(engine.ones(2, 4), engine.tensor([1]))
