"""Random tensors have the distributions that they should have, and can be drawn again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.random import Generator

N = 40_000


def _normal(z: Any) -> Any:
    return np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in np.ravel(z)])


DRAWS: dict[str, tuple[Callable[[Generator], Any], Callable[[Any], Any]]] = {
    "rand": (lambda g: engine.rand(N, generator=g), lambda x: x),
    "randn": (lambda g: engine.randn(N, generator=g), _normal),
    "randn in float64": (lambda g: engine.randn(N, generator=g, dtype=engine.float64), _normal),
    "normal of numbers": (lambda g: engine.normal(3.0, 2.0, (N,), generator=g), lambda x: _normal((x - 3) / 2)),
    "normal of tensors": (
        lambda g: engine.normal(engine.full((N,), 3.0), engine.tensor(2.0), generator=g), lambda x: _normal((x - 3) / 2)
    ),
    "uniform_": (lambda g: engine.empty(N).uniform_(-1, 3, generator=g), lambda x: (x + 1) / 4),
    "normal_": (lambda g: engine.empty(N).normal_(3, 2, generator=g), lambda x: _normal((x - 3) / 2)),
    "exponential_": (lambda g: engine.empty(N).exponential_(2.0, generator=g), lambda x: 1 - np.exp(-2 * x)),
    "log_normal_": (
        lambda g: engine.empty(N).log_normal_(1, 0.5, generator=g), lambda x: _normal((np.log(x) - 1) / 0.5)
    ),
    "cauchy_": (
        lambda g: engine.empty(N).cauchy_(1, 2, generator=g), lambda x: 0.5 + np.arctan((x - 1) / 2) / np.pi
    ),
}  # fmt: skip


@pytest.mark.parametrize(("draw", "cdf"), DRAWS.values(), ids=DRAWS)
def test_continuous(draw: Callable[[Generator], Any], cdf: Callable[[Any], Any]) -> None:
    samples = draw(Generator(7))
    assert samples.tolist() == draw(Generator(7)).tolist() != draw(Generator(8)).tolist()
    ranks = np.sort(cdf(np.sort(samples.double().numpy())))
    distance = np.abs(ranks - (np.arange(N) + 0.5) / N).max()
    assert distance < 1.95 / math.sqrt(N)  # Kolmogorov and Smirnov: one in a thousand is further away


DISCRETE: dict[str, tuple[Callable[[Generator], Any], Callable[[int], float]]] = {
    "randint": (lambda g: engine.randint(2, 7, (N,), generator=g), lambda k: 0.2 if 2 <= k < 7 else 0),
    "random_": (lambda g: engine.empty(N).random_(2, 7, generator=g), lambda k: 0.2 if 2 <= k < 7 else 0),
    "bernoulli": (
        lambda g: engine.bernoulli(engine.full((N,), 0.3), generator=g), lambda k: {0: 0.7, 1: 0.3}.get(k, 0)
    ),
    "bernoulli_": (lambda g: engine.empty(N).bernoulli_(0.3, generator=g), lambda k: {0: 0.7, 1: 0.3}.get(k, 0)),
    "geometric_": (lambda g: engine.empty(N).geometric_(0.4, generator=g), lambda k: 0.4 * 0.6 ** (k - 1) * (k >= 1)),
    "poisson": (
        lambda g: engine.poisson(engine.full((N,), 3.0), generator=g), lambda k: math.exp(-3) * 3**k / math.factorial(k)
    ),
    "multinomial": (
        lambda g: engine.multinomial(engine.tensor([1.0, 0.0, 2.0, 1.0]), N, replacement=True, generator=g),
        lambda k: (0.25, 0, 0.5, 0.25)[k] if k < 4 else 0,
    ),
    "multinomial of rows": (
        lambda g: engine.multinomial(engine.tensor([[1.0, 1.0]] * 10), N // 10, replacement=True, generator=g),
        lambda k: 0.5 if k < 2 else 0,
    ),
    "first of multinomial without replacement": (
        lambda g: engine.multinomial(engine.tensor([[1.0, 0.0, 2.0, 1.0]] * N), 2, generator=g)[:, 0],
        lambda k: (0.25, 0, 0.5, 0.25)[k] if k < 4 else 0,
    ),
    "second of multinomial without replacement": (
        lambda g: engine.multinomial(engine.tensor([[1.0, 0.0, 2.0, 1.0]] * N), 2, generator=g)[:, 1],
        lambda k: (1 / 3, 0, 1 / 3, 1 / 3)[k] if k < 4 else 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("draw", "probability"), DISCRETE.values(), ids=DISCRETE)
def test_discrete(draw: Callable[[Generator], Any], probability: Callable[[int], float]) -> None:
    samples = draw(Generator(5))
    assert samples.tolist() == draw(Generator(5)).tolist()
    actual = np.bincount(samples.long().numpy().reshape(-1), minlength=12)
    for value, count in enumerate(actual):
        expected = probability(value)
        assert abs(count - N * expected) <= 4.5 * math.sqrt(N * expected * (1 - expected)) + 1e-9, value


def test_without_replacement_samples_are_distinct() -> None:
    samples = engine.multinomial(engine.rand(50, 20) + 0.1, 20)
    assert (np.sort(samples.numpy(), 1) == np.arange(20)).all()


def test_random_integers_cover_the_dtype() -> None:
    for dtype, most in ((engine.uint8, 255), (engine.int8, 127), (engine.float16, 2048), (engine.bool, 1)):
        samples = engine.empty(20_000, dtype=dtype).random_()
        assert (int(samples.double().numpy().min()), int(samples.double().numpy().max())) == (0, most)


def test_views_are_filled_in_place_and_followed() -> None:
    x = engine.ones(3, 4, requires_grad=True)
    y = x * 2
    y[:, 1].normal_()
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0, 0.0, 2.0, 2.0]] * 3
    z = engine.zeros(3, 4)
    z.T[0].uniform_(1, 2)
    assert ((z > 0).sum().item(), (z[:, 0] >= 1).all().item()) == (3, True)


# -- generators -------------------------------------------------------------------------------


def test_generator_matches_pytorch() -> None:
    g = engine.Generator(device="cpu")
    assert str(g.device) == "cpu"
    assert engine.Generator("cpu").initial_seed() == engine.Generator().initial_seed()
    assert g.manual_seed(3) is g
    assert g.initial_seed() == 3
    state = g.get_state()
    first = engine.rand(3, generator=g).tolist()
    other = g.clone_state()
    g.set_state(state)
    assert engine.rand(3, generator=g).tolist() == first
    assert engine.rand(3, generator=g).tolist() == engine.rand(3, generator=other).tolist()
    assert g.seed() == g.initial_seed() != 3


def test_default_generator_state() -> None:
    outer = engine.get_rng_state()
    try:
        engine.manual_seed(1)
        state = engine.get_rng_state()
        first = engine.rand(2).tolist()
        engine.set_rng_state(state)
        assert engine.rand(2).tolist() == first
        with engine.random.fork_rng(devices=[]):
            inside = engine.rand(2).tolist()
        assert engine.rand(2).tolist() == inside
        with engine.random.fork_rng(enabled=False):
            inside = engine.rand(2).tolist()
        assert engine.rand(2).tolist() != inside
        assert engine.default_generator.initial_seed() == engine.initial_seed() == 1
        engine.cuda.manual_seed_all(4)
        assert engine.initial_seed() == 4
        engine.seed()
        assert engine.initial_seed() != 4
    finally:
        engine.set_rng_state(outer)
