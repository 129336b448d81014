"""Random ops in compiled functions draw the numbers of eager mode, leave generators as it does, and are no breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine import nn, optim
from engine.compiler import CompiledFunction, compile, explain
from engine.nn import functional
from engine.random import default_generator
from tests.compiled import bitwise

OWN = engine.Generator()
SIZE = 5


def several(x: Any) -> Any:
    noise, dropped = engine.rand(SIZE), functional.dropout(x, 0.4)
    more = engine.randn(SIZE) * dropped
    engine.rand(3)  # unused, but it advances the generator
    return noise + more + engine.rand_like(x)


def repeated(x: Any) -> Any:
    for _ in range(4):
        x = (x + engine.randn_like(x) * 0.1).relu()
    return x


def seeded(x: Any) -> Any:
    engine.manual_seed(3)
    return x + engine.randn(SIZE)


def without_gradient(x: Any) -> Any:
    with engine.no_grad():
        noise = engine.randn_like(x) * x
    return x * noise


def written(x: Any) -> Any:
    y = x.detach().clone()
    y[1:].uniform_()
    return y * x


OPS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda x: engine.rand(SIZE) * x,
    "rand without dimensions": lambda x: engine.rand(()) * x,
    "rand without elements": lambda x: engine.rand(0).sum() + x,
    "rand with gradient": lambda x: engine.rand(SIZE, requires_grad=True) * x,
    "rand out": lambda x: engine.rand(SIZE, out=engine.empty(SIZE)) + x,
    "randn float64": lambda x: engine.randn(SIZE, dtype=engine.float64) + x,
    "randint": lambda x: engine.randint(-3, 9, (SIZE,)) + x,
    "randint of 40 bits": lambda x: engine.randint(0, 2**40, (SIZE,)) + x,
    "randperm": lambda x: x[engine.randperm(SIZE)],
    "like": lambda x: engine.rand_like(x) + engine.randn_like(x) + engine.randint_like(x, 7) + x,
    "normal": lambda x: engine.normal(0.0, 2.0, (SIZE,)) + x,
    "normal of means": lambda x: engine.normal(x.detach(), 2.0) + x,
    "uniform_": lambda x: engine.empty(SIZE).uniform_(-1, 2) + x,
    "normal_": lambda x: x.detach().clone().normal_(1, 2) * x,
    "normal_ float16": lambda x: engine.empty(SIZE, dtype=engine.float16).normal_(1, 2) + x.half(),
    "log_normal_": lambda x: engine.empty(SIZE).log_normal_() + x,
    "exponential_": lambda x: engine.empty(SIZE).exponential_(2.0) + x,
    "cauchy_": lambda x: engine.empty(SIZE).cauchy_() + x,
    "geometric_": lambda x: engine.empty(SIZE).geometric_(0.3) + x,
    "random_": lambda x: engine.empty(SIZE, dtype=engine.int64).random_(0, 10) + x,
    "bernoulli_": lambda x: engine.empty(SIZE, dtype=engine.bool).bernoulli_(0.3) * x,
    "bernoulli of a number": lambda x: x.bernoulli(0.3) + x,
    "another generator": lambda x: engine.rand(SIZE, generator=OWN) * engine.rand(SIZE) + x,
    "a view": written,
    "several": several,
    "repeated": repeated,
    "seeded": seeded,
    "without gradient": without_gradient,
}


def run(function: Callable[[Any], Any]) -> list[Any]:
    """Results, gradients and generator states of calls, with a new seed and a call without gradients between them."""
    engine.manual_seed(5)
    OWN.manual_seed(9)
    found: list[Any] = []
    for call in range(6):
        if call == 4:
            engine.manual_seed(11)
        x = engine.tensor([0.1, 0.5, -0.3, 0.2, 0.9], requires_grad=True)
        with engine.set_grad_enabled(call != 3):
            y = function(x)
        if y.requires_grad:
            y.sum().backward()
        gradient = None if x.grad is None else x.grad.tolist()
        found.append((y.tolist(), gradient, default_generator.get_state(), OWN.get_state()))
    return found


@pytest.mark.parametrize("name", OPS)
def test_numbers_gradients_and_generators_are_those_of_eager_mode(name: str) -> None:
    with bitwise():
        assert run(compile(OPS[name])) == run(OPS[name])
    assert explain(compile(OPS[name]))(engine.ones(SIZE)).breaks == ()


def test_probabilities_in_a_tensor_are_read() -> None:
    probability = engine.tensor([0.0, 0.2, 0.5, 0.8, 1.0])

    def f(x: Any) -> Any:
        return engine.bernoulli(probability * 1) * x

    assert run(compile(f)) == run(f)
    [found] = explain(compile(f))(engine.ones(SIZE)).breaks
    assert found.reason == "array"


class Noise(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + engine.randn_like(x) * 0.1


def train(step: Callable[..., Any] | None) -> list[Any]:
    """Losses, parameters and the generator after each step of a network of repeated blocks with noise."""
    engine.manual_seed(1)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(6, 6), Noise(), nn.ReLU(), nn.Dropout(0.2)) for _ in range(3)))
    optimizer, x = optim.SGD(model.parameters(), 0.1, momentum=0.9), engine.randn(8, 6)
    found: list[Any] = []
    for _ in range(8):
        loss = (step or one_step)(model, optimizer, x)
        found.append((loss.item(), [p.tolist() for p in model.parameters()], default_generator.get_state()))
    return found


def one_step(model: nn.Module, optimizer: optim.Optimizer, x: Any) -> Any:
    optimizer.zero_grad()
    loss = (model(x) - engine.rand(8, 6)).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def test_replayed_steps_draw_the_numbers_of_eager_mode() -> None:
    compiled = CompiledFunction(one_step, replay_classes=(Noise,))
    with bitwise():
        found, expected = train(compiled), train(None)
    assert found == expected
    assert compiled.replays.count >= 4, compiled.replays.refused


def test_recomputed_parts_draw_the_same_numbers() -> None:
    def f(x: Any) -> Any:
        return engine.utils.checkpoint.checkpoint(lambda y: (y * engine.rand_like(y)).square(), x, use_reentrant=False)

    with bitwise():
        assert run(compile(f)) == run(f)


def test_sizes_may_vary_between_calls() -> None:
    def f(x: Any) -> Any:
        return engine.randn(x.shape[0], 3) * x

    def results(function: Callable[[Any], Any]) -> list[Any]:
        engine.manual_seed(0)
        return [function(engine.ones(size, 3)).tolist() for size in (2, 4, 7, 5, 2)]

    assert results(compile(f)) == results(f)
