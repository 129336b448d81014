"""Every declared optimizer against PyTorch's over 20 steps, with every option, and its state both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.errors import WeightsError
from engine.registry import OPTIMIZERS

torch = pytest.importorskip("torch")

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-3}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.01, "amsgrad": True}),
    ("Adam", {"lr": 0.01, "maximize": True, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.3, "betas": (0.7, 0.9)}),
    ("AdamW", {"lr": 0.01, "amsgrad": True, "maximize": True}),
]
DATA = np.random.default_rng(0)
INPUTS = DATA.standard_normal((20, 16, 5))
TARGETS = DATA.integers(0, 3, (20, 16))


def models(dtype: str) -> tuple[Any, Any]:
    ours = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).to(getattr(engine, dtype))
    theirs = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    theirs.to(getattr(torch, dtype))
    theirs.load_state_dict({name: torch.tensor(tensor.numpy()) for name, tensor in ours.state_dict().items()})
    return ours, theirs


def train(library: Any, model: Any, optimizer: Any, dtype: str, steps: range) -> list[float]:
    cross_entropy = library.nn.functional.cross_entropy
    losses = []
    for step in steps:
        optimizer.zero_grad()
        loss = cross_entropy(model(library.tensor(INPUTS[step].astype(dtype))), library.tensor(TARGETS[step]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare(ours: Any, theirs: Any, dtype: str) -> None:
    tolerance = {"rtol": 2e-4, "atol": 2e-6} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-12}
    for name, parameter in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].numpy(), parameter.numpy(), **tolerance)


def to_torch(value: Any) -> Any:
    """A state dict of ours as PyTorch's: the same nesting, other tensors."""
    if isinstance(value, engine.Tensor):
        return torch.tensor(value.numpy())
    if isinstance(value, dict):
        return {key: to_torch(item) for key, item in value.items()}
    return [to_torch(item) for item in value] if isinstance(value, list) else value


def to_numpy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {key: to_numpy(item) for key, item in value.items()}
    return [to_numpy(item) for item in value] if isinstance(value, list) else value


def test_every_optimizer_and_option_has_a_variant() -> None:
    assert {entry.target.__name__ for entry in OPTIMIZERS} == {name for name, _ in VARIANTS}
    for entry in OPTIMIZERS:
        tried = {option for name, options in VARIANTS if name == entry.target.__name__ for option in options}
        assert {parameter.name for parameter in entry.parameters} - tried <= {"eps"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_twenty_steps(name: str, options: dict[str, Any], dtype: str) -> None:
    ours, theirs = models(dtype)
    losses = train(engine, ours, getattr(optim, name)(ours.parameters(), **options), dtype, range(20))
    expected = train(torch, theirs, getattr(torch.optim, name)(theirs.parameters(), **options), dtype, range(20))
    compare(ours, theirs, dtype)
    np.testing.assert_allclose(losses, expected, rtol=1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_pytorch_goes_on_from_our_state(name: str, options: dict[str, Any]) -> None:
    ours, theirs = models("float64")
    optimizer = getattr(optim, name)(ours.parameters(), **options)
    train(engine, ours, optimizer, "float64", range(10))
    theirs.load_state_dict(to_torch(ours.state_dict()))
    their_optimizer = getattr(torch.optim, name)(theirs.parameters())
    their_optimizer.load_state_dict(to_torch(optimizer.state_dict()))
    train(engine, ours, optimizer, "float64", range(10, 20))
    train(torch, theirs, their_optimizer, "float64", range(10, 20))
    compare(ours, theirs, "float64")


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_we_go_on_from_pytorchs_state(name: str, options: dict[str, Any]) -> None:
    ours, theirs = models("float64")
    their_optimizer = getattr(torch.optim, name)(theirs.parameters(), **options)
    train(torch, theirs, their_optimizer, "float64", range(10))
    ours.load_state_dict(to_numpy(theirs.state_dict()))
    optimizer = getattr(optim, name)(ours.parameters())
    optimizer.load_state_dict(to_numpy(their_optimizer.state_dict()))
    train(engine, ours, optimizer, "float64", range(10, 20))
    train(torch, theirs, their_optimizer, "float64", range(10, 20))
    compare(ours, theirs, "float64")


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_resumed_run_is_the_same_run(name: str, options: dict[str, Any]) -> None:
    whole, _ = models("float32")
    half, _ = models("float32")
    half.load_state_dict(whole.state_dict())
    train(engine, whole, getattr(optim, name)(whole.parameters(), **options), "float32", range(20))
    first = getattr(optim, name)(half.parameters(), **options)
    train(engine, half, first, "float32", range(10))
    second = getattr(optim, name)(half.parameters())
    second.load_state_dict(first.state_dict())
    train(engine, half, second, "float32", range(10, 20))
    for key, tensor in whole.state_dict().items():
        np.testing.assert_array_equal(half.state_dict()[key].numpy(), tensor.numpy())


@pytest.mark.parametrize("entry", OPTIMIZERS, ids=lambda entry: entry.key)
def test_is_documented(entry: Any) -> None:
    assert entry.summary
    assert all(parameter.help for parameter in entry.parameters)
    defaults = {p.name: p.default for p in entry.parameters}
    theirs = getattr(torch.optim, entry.target.__name__)([torch.zeros(1)]).defaults
    assert defaults == {name: theirs[name] for name in defaults}


# -- the base ---------------------------------------------------------------------------------


def parameter(*values: float) -> nn.Parameter:
    return nn.Parameter(engine.tensor(values))


def test_groups_have_their_own_options() -> None:
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    a.grad, b.grad = engine.ones(1), engine.ones(1)
    optimizer.step()
    assert a.item() == pytest.approx(0.5)
    assert b.item() == pytest.approx(0.9)
    optimizer.param_groups[1]["lr"] = 0.4
    optimizer.step()
    assert b.item() == pytest.approx(0.5)


def test_named_parameters() -> None:
    layer = nn.Linear(1, 1)
    optimizer = optim.Adam(layer.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"] == [layer.weight, layer.bias]


def test_parameters_without_a_gradient_are_left_alone() -> None:
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.Adam([a, b], weight_decay=0.1)
    a.grad = engine.ones(1)
    optimizer.step()
    assert b.item() == 1
    assert list(optimizer.state) == [a]


def test_closure_runs_with_gradients() -> None:
    p = parameter(3.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure() -> engine.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with engine.no_grad():
        assert optimizer.step(closure).item() == 9
    assert p.item() == pytest.approx(2.4)


def test_a_step_records_nothing_and_keeps_gradients() -> None:
    p = parameter(3.0)
    p.grad = engine.ones(1)
    for optimizer in (optim.SGD([p], 0.1, 0.9, weight_decay=0.1), optim.AdamW([p], maximize=True)):
        optimizer.step()
        assert p.is_leaf
        assert p.grad.tolist() == [1]


def test_zero_grad() -> None:
    p = parameter(3.0)
    optimizer = optim.SGD([p])
    p.grad = engine.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0]
    optimizer.zero_grad()
    assert p.grad is None


def test_repr() -> None:
    p = parameter(1.0)
    optimizer = optim.SGD([{"params": [p], "lr": 0.5}], momentum=0.9)
    assert repr(optimizer) == (
        "SGD (\nParameter Group 0\n    dampening: 0.0\n    lr: 0.5\n    maximize: False\n"
        "    momentum: 0.9\n    nesterov: False\n    weight_decay: 0.0\n)"
    )


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: optim.SGD([]), ValueError, "no parameters"),
        (lambda: optim.SGD(parameter(1.0)), TypeError, "Put it into a list"),
        (lambda: optim.SGD([1.0]), TypeError, "float"),
        (lambda: optim.SGD([parameter(1.0) * 2]), ValueError, "result of an op"),
        (lambda: optim.SGD([parameter(1.0)] * 2), ValueError, "given twice"),
        (lambda: optim.SGD([{"params": {parameter(1.0)}}]), TypeError, "order"),
        (lambda: optim.SGD([parameter(1.0)], lr=-1), ValueError, "lr must be a number ≥ 0, not -1"),
        (lambda: optim.SGD([parameter(1.0)], lr=float("nan")), ValueError, "not nan"),
        (lambda: optim.SGD([parameter(1.0)], nesterov=True), ValueError, "nesterov needs a momentum"),
        (lambda: optim.Adam([parameter(1.0)], betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda: optim.Adam([("a", parameter(1.0)), parameter(2.0)]), ValueError, "names"),
    ],
)
def test_what_is_refused(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_state_of_other_parameters_is_refused() -> None:
    p = parameter(1.0, 2.0)
    p.grad = engine.ones(2)
    optimizer = optim.Adam([p])
    optimizer.step()
    state = optimizer.state_dict()
    with pytest.raises(WeightsError, match=r"groups of \[2\] parameters, the saved one of \[1\]"):
        optim.Adam([parameter(1.0), parameter(1.0)]).load_state_dict(state)
    other = optim.Adam([parameter(1.0)], lr=0.5)
    with pytest.raises(WeightsError, match="exp_avg is 2, but its parameter is 1"):
        other.load_state_dict(state)
    assert other.param_groups[0]["lr"] == 0.5
