"""Distributions against PyTorch's: densities, moments, entropies, divergences, gradients; samples by their moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import distributions
from engine.errors import RangeError

torch: Any = pytest.importorskip("torch")
theirs: Any = pytest.importorskip("torch.distributions")

A, B = np.array([0.3, -1.2, 2.0]), np.array([0.5, 1.5, 0.9])
P = np.array([[0.2, 0.5, 0.3], [0.6, 0.4, 0.0]])
C = np.array([[2.0, 0.3], [0.3, 0.7]])
CALLS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "normal": ("Normal", {"loc": A, "scale": B}, A * 0.7),
    "normal of numbers": ("Normal", {"loc": 0.5, "scale": 2.0}, A[:2]),
    "laplace": ("Laplace", {"loc": A, "scale": B}, A * 0.7),
    "exponential": ("Exponential", {"rate": B}, B * 2),
    "uniform": ("Uniform", {"low": A, "high": A + B}, A + B / 3),
    "bernoulli": ("Bernoulli", {"probs": P[0]}, np.array([0.0, 1.0, 1.0])),
    "bernoulli of logits": ("Bernoulli", {"logits": A}, np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])),
    "categorical": ("Categorical", {"probs": P}, np.array([[2, 1], [0, 0]])),
    "categorical of logits": ("Categorical", {"logits": np.stack([A, B])}, np.array([2, 1])),
    "categorical of weights": ("Categorical", {"probs": P[0] * 5}, np.array([2, 1])),
    "one-hot": ("OneHotCategorical", {"probs": P}, np.eye(3)[[2, 1]]),
    "one-hot of logits": ("OneHotCategorical", {"logits": np.stack([A, B])}, np.eye(3)[2]),
    "straight through": ("OneHotCategoricalStraightThrough", {"probs": P}, np.eye(3)[[[0, 1], [2, 0]]]),
    "vectors": ("MultivariateNormal", {"loc": A[:2], "covariance_matrix": C}, np.stack([A[:2], B[:2]])),
    "vectors of a factor": (
        "MultivariateNormal", {"loc": np.stack([A[:2], B[:2]]), "scale_tril": np.tril(C)}, B[:2],
    ),
    "vectors of a precision": ("MultivariateNormal", {"loc": A[:2], "precision_matrix": C}, B[:2]),
}  # fmt: skip
OTHERS: dict[str, dict[str, Any]] = {
    "Normal": {"loc": 0.1, "scale": 0.7},
    "Laplace": {"loc": 0.1, "scale": 0.7},
    "Exponential": {"rate": 0.3},
    "Uniform": {"low": -5.0, "high": 5.0},
    "Bernoulli": {"probs": 0.3},
    "Categorical": {"probs": np.array([0.5, 0.25, 0.25])},
    "OneHotCategorical": {"probs": np.array([0.5, 0.25, 0.25])},
    "OneHotCategoricalStraightThrough": {"logits": A},
    "MultivariateNormal": {"loc": np.zeros(2), "covariance_matrix": np.eye(2) * 1.5},
}
"""What the divergence is taken from."""


def build(space: Any, library: Any, kind: str, arguments: dict[str, Any], **more: Any) -> Any:
    def tensor(value: Any) -> Any:
        return library.tensor(value, requires_grad=True) if isinstance(value, np.ndarray) else value

    return getattr(space, kind)(**{name: tensor(value) for name, value in arguments.items()}, **more)


def pair(call: str) -> tuple[Any, Any]:
    kind, arguments, _ = CALLS[call]
    return build(distributions, engine, kind, arguments), build(theirs, torch, kind, arguments)


def same(ours: Any, want: Any, what: str) -> None:
    assert tuple(ours.shape) == tuple(want.shape), what
    np.testing.assert_allclose(ours.detach().numpy(), want.detach().numpy(), rtol=1e-6, atol=1e-7, err_msg=what)


@pytest.mark.parametrize("call", CALLS)
def test_attributes_and_log_probabilities(call: str) -> None:
    ours, want = pair(call)
    value = CALLS[call][2]
    assert (tuple(ours.batch_shape), tuple(ours.event_shape)) == (tuple(want.batch_shape), tuple(want.event_shape))
    # PyTorch prints no parameters of one-hot distributions.
    assert repr(ours) == repr(want).replace("torch.", "engine.") or repr(want) == f"{CALLS[call][0]}()"
    for name in ("mean", "mode", "variance", "stddev"):
        if hasattr(ours, name):
            same(getattr(ours, name), getattr(want, name), name)
    same(ours.entropy(), want.entropy(), "entropy")
    same(ours.perplexity(), want.perplexity(), "perplexity")
    same(ours.log_prob(engine.tensor(value)), want.log_prob(torch.tensor(value)), "log_prob")
    for name, at in (("cdf", value), ("icdf", np.array([0.1, 0.5, 0.9]))):
        try:
            expected = getattr(want, name)(torch.tensor(at))
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                getattr(ours, name)(engine.tensor(at))
        else:
            same(getattr(ours, name)(engine.tensor(at)), expected, name)
    wide = ours.expand((2, *ours.batch_shape))
    assert type(wide) is type(ours)
    same(wide.log_prob(engine.tensor(value)), want.expand((2, *want.batch_shape)).log_prob(torch.tensor(value)), "wide")
    if want.has_enumerate_support:
        for expand in (True, False):
            same(ours.enumerate_support(expand), want.enumerate_support(expand), "enumerate_support")


@pytest.mark.parametrize("call", CALLS)
def test_divergences(call: str) -> None:
    kind = CALLS[call][0]
    ours, expected = pair(call)
    other = build(distributions, engine, kind, OTHERS[kind]), build(theirs, torch, kind, OTHERS[kind])
    same(distributions.kl_divergence(ours, other[0]), theirs.kl_divergence(expected, other[1]), "kl")
    same(distributions.kl_divergence(other[0], ours), theirs.kl_divergence(other[1], expected), "kl")


@pytest.mark.parametrize("call", CALLS)
def test_gradients(call: str) -> None:
    kind, arguments, value = CALLS[call]
    actual = []
    for space, library in ((distributions, engine), (theirs, torch)):
        tensors = {
            name: library.tensor(argument, requires_grad=True)
            for name, argument in arguments.items()
            if isinstance(argument, np.ndarray)
        }
        chosen = getattr(space, kind)(**{**arguments, **tensors})
        total = chosen.log_prob(library.tensor(value)).sum()
        entropy = chosen.entropy().sum()
        (total + (entropy if entropy.requires_grad else 0)).backward() if total.requires_grad else None
        actual.append([None if tensor.grad is None else tensor.grad.numpy() for tensor in tensors.values()])
    for ours, expected in zip(*actual, strict=True):
        assert (ours is None) is (expected is None)
        if ours is not None:
            np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("call", CALLS)
def test_samples(call: str) -> None:
    engine.manual_seed(0)
    ours, want = pair(call)
    samples = ours.sample((20000,))
    expected = want.sample((3,))
    assert tuple(samples.shape) == (20000, *expected.shape[1:])
    assert samples.dtype.name == str(expected.dtype).rpartition(".")[2]
    assert not samples.requires_grad
    if CALLS[call][0] == "Categorical":
        shares = np.stack([(samples == k).double().mean(0).numpy() for k in range(3)], -1)
        np.testing.assert_allclose(shares, want.probs.detach().numpy(), atol=0.02)
    else:
        np.testing.assert_allclose(samples.mean(0).numpy(), want.mean.detach().numpy(), atol=0.08)
        np.testing.assert_allclose(samples.var(0).numpy(), want.variance.detach().numpy(), rtol=0.08, atol=0.01)
    assert ours.has_rsample is want.has_rsample
    if ours.has_rsample:
        assert ours.rsample((2,)).requires_grad is any(isinstance(v, np.ndarray) for v in CALLS[call][1].values())
    else:
        with pytest.raises(NotImplementedError):
            ours.rsample()


def test_gradients_straight_through_one_hot_samples() -> None:
    result = []
    for space, library in ((distributions, engine), (theirs, torch)):
        logits, weight = library.tensor(np.stack([A, B]), requires_grad=True), library.tensor(np.stack([B, A]))
        samples = space.OneHotCategoricalStraightThrough(logits=logits).rsample((4,))
        assert ((samples - samples.round()).abs() < 1e-12).all()
        assert (samples.detach().round().sum(-1) == 1).all()
        (samples * weight).sum().backward()
        result.append(logits.grad.numpy())
    np.testing.assert_allclose(*result, rtol=1e-6, atol=1e-9)


def test_one_hot_values_and_text() -> None:
    ours = distributions.OneHotCategorical(probs=engine.tensor(P))
    assert repr(ours) == "OneHotCategorical(probs: engine.Size([2, 3]))"
    with pytest.raises(RangeError, match="OneHotCategorical: value must be a one-hot vector"):
        ours.log_prob(engine.tensor([1.0, 1.0, 0.0]))


def test_independent() -> None:
    ours = distributions.Independent(pair("normal")[0], 1)
    expected = theirs.Independent(pair("normal")[1], 1)
    assert (tuple(ours.batch_shape), tuple(ours.event_shape)) == ((), (3,))
    same(ours.log_prob(engine.tensor(B)), expected.log_prob(torch.tensor(B)), "log_prob")
    same(ours.entropy(), expected.entropy(), "entropy")
    same(ours.expand((2,)).log_prob(engine.tensor(B)), expected.expand((2,)).log_prob(torch.tensor(B)), "wide")
    same(distributions.kl_divergence(ours, ours), theirs.kl_divergence(expected, expected), "kl")
    assert tuple(ours.rsample((2,)).shape) == (2, 3)
    assert repr(ours) == repr(expected).replace("torch.", "engine.")


def test_a_policy_learns() -> None:
    """REINFORCE, with the action that pays."""
    engine.manual_seed(0)
    policy = engine.nn.Linear(2, 3)
    optimizer = engine.optim.Adam(policy.parameters(), lr=0.05)
    state = engine.ones(16, 2)
    for _ in range(60):
        choice = distributions.Categorical(logits=policy(state))
        action = choice.sample()
        loss = -(choice.log_prob(action) * (action == 1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert distributions.Categorical(logits=policy(state[0])).probs[1].item() > 0.8


@pytest.mark.parametrize("wrong", [
    lambda d, lib: d.Normal(0.0, -1.0),
    lambda d, lib: d.Uniform(1.0, 0.0),
    lambda d, lib: d.Bernoulli(1.5),
    lambda d, lib: d.Bernoulli(),
    lambda d, lib: d.Categorical(probs=lib.tensor([0.5]), logits=lib.tensor([0.5])),
    lambda d, lib: d.Categorical(probs=lib.tensor([-0.5, 1.5])),
    lambda d, lib: d.Categorical(probs=lib.tensor([0.5, 0.5])).log_prob(lib.tensor(2)),
    lambda d, lib: d.OneHotCategorical(),
    lambda d, lib: d.OneHotCategorical(probs=lib.tensor([-0.5, 1.5])),
    lambda d, lib: d.OneHotCategorical(probs=lib.tensor([0.5, 0.5])).log_prob(lib.tensor([0.5, 0.5])),
    lambda d, lib: d.OneHotCategoricalStraightThrough(probs=lib.tensor([0.5, 0.5])).log_prob(lib.zeros(2)),
    lambda d, lib: d.Uniform(0.0, 1.0).log_prob(lib.tensor(2.0)),
    lambda d, lib: d.MultivariateNormal(lib.zeros(2), -lib.eye(2)),
    lambda d, lib: d.MultivariateNormal(lib.zeros(2)),
    lambda d, lib: d.Independent(d.Normal(0.0, 1.0), 1),
])  # fmt: skip
def test_refused_arguments(wrong: Any) -> None:
    for space, library in ((theirs, torch), (distributions, engine)):
        with pytest.raises(ValueError):
            wrong(space, library)


def test_argument_checks_can_be_disabled() -> None:
    assert distributions.Uniform(0.0, 1.0, validate_args=False).log_prob(engine.tensor(2.0)).item() == -np.inf
    with pytest.raises(NotImplementedError, match="register_kl"):
        distributions.kl_divergence(distributions.Normal(0.0, 1.0), distributions.Uniform(0.0, 1.0))
    distributions.Distribution.set_default_validate_args(False)
    try:
        distributions.Normal(0.0, -1.0)
    finally:
        distributions.Distribution.set_default_validate_args(True)
    with pytest.raises(RangeError, match="positive"):
        distributions.Normal(0.0, -1.0)
