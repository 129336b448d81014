"""L-BFGS against PyTorch's on problems whose minima can be found; its state both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.optim.line_search import LineSearchPoint, cubic_minimum, strong_wolfe
from tests.engine.optim.test_optimizers import to_numpy, to_torch

torch = pytest.importorskip("torch")

OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.5, "max_iter": 4, "max_eval": 3, "history_size": 3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 6},
    {"line_search_fn": "strong_wolfe", "tolerance_grad": 1e-3, "tolerance_change": 1e-4},
]


def bowl(a: Any, b: Any) -> Any:
    return ((a - 1) ** 2).sum() * 3 + ((b + a[:2]) ** 2).sum() + (a**4).sum() * 0.1


def valley(a: Any, b: Any) -> Any:
    """Rosenbrock's function."""
    return ((1 - a) ** 2).sum() + 5 * ((a[1:] - a[:-1] ** 2) ** 2).sum() + (b**2).sum()


def parameters(library: Any) -> list[Any]:
    values = [[-1.2, 1.0, 0.5], [0.3, -0.7]]
    return [library.nn.Parameter(library.tensor(value, dtype=library.float64)) for value in values]


def minimize(optimizer: Any, leaves: list[Any], loss_of: Callable[..., Any], steps: int) -> list[float]:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of(*leaves)
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(steps)]


def same(ours: list[Any], theirs: list[Any]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss_of", [bowl, valley])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_match_pytorch(options: dict[str, Any], loss_of: Any) -> None:
    if loss_of is valley and "line_search_fn" not in options:
        options = {**options, "lr": 0.1}  # full steps leave the valley
    ours, theirs = parameters(engine), parameters(torch)
    mine, other = optim.LBFGS(ours, **options), torch.optim.LBFGS(theirs, **options)
    np.testing.assert_allclose(minimize(mine, ours, loss_of, 4), minimize(other, theirs, loss_of, 4), rtol=1e-7)
    same(ours, theirs)
    assert mine.state[ours[0]]["n_iter"] == other.state[theirs[0]]["n_iter"]
    assert mine.state[ours[0]]["func_evals"] == other.state[theirs[0]]["func_evals"]


@pytest.mark.parametrize("options", OPTIONS[1:], ids=str)
def test_state_is_exchanged_with_pytorch(options: dict[str, Any]) -> None:
    options = {**options, "max_iter": 2}
    ours, theirs = parameters(engine), parameters(torch)
    mine, other = optim.LBFGS(ours, **options), torch.optim.LBFGS(theirs, **options)
    minimize(mine, ours, bowl, 3)
    minimize(other, theirs, bowl, 3)
    crossed_mine, crossed_other = optim.LBFGS(ours), torch.optim.LBFGS(theirs)
    state = to_torch(mine.state_dict())
    crossed_mine.load_state_dict(to_numpy(other.state_dict()))
    crossed_other.load_state_dict(state)
    minimize(crossed_mine, ours, bowl, 2)
    minimize(crossed_other, theirs, bowl, 2)
    same(ours, theirs)


def test_parameter_without_gradient_is_unchanged() -> None:
    a, b = parameters(engine)
    optimizer = optim.LBFGS([a, b], line_search_fn="strong_wolfe")
    minimize(optimizer, [a], lambda a: ((a - 1) ** 2).sum(), 2)
    np.testing.assert_allclose(a.detach().numpy(), 1)
    np.testing.assert_array_equal(b.detach().numpy(), [0.3, -0.7])


def test_minimum_ends_the_step_at_once() -> None:
    p = nn.Parameter(engine.zeros(2))
    optimizer = optim.LBFGS([p])
    assert minimize(optimizer, [p], lambda p: (p**2).sum(), 1) == [0.0]
    assert optimizer.state[p]["func_evals"] == 1


def test_cubic_minimum() -> None:
    def at(x: float) -> LineSearchPoint:  # (x - 1)² (x + 2), whose minimum is at 1
        return LineSearchPoint(x, (x - 1) ** 2 * (x + 2), None, 2 * (x - 1) * (x + 2) + (x - 1) ** 2)

    assert cubic_minimum(at(0.2), at(3.0)) == pytest.approx(1)
    assert cubic_minimum(at(3.0), at(0.2)) == pytest.approx(1)
    assert cubic_minimum(at(0.2), at(0.5), (0.1, 0.9)) == 0.9


def test_strong_wolfe_finds_a_flat_and_low_point() -> None:
    def at(x: float) -> LineSearchPoint:
        return LineSearchPoint(x, np.cos(x), None, -np.sin(x))

    start = LineSearchPoint(0.0, float(np.cos(1.0)), None, float(-np.sin(1.0)))
    result, count = strong_wolfe(lambda t: at(1.0 + t), start, 8.0, 1.0)
    assert result.loss < start.loss
    assert abs(result.slope) <= 0.9 * abs(start.slope)
    assert 1 <= count <= 25
