"""Numbers of a compiled training do not depend on when something was recorded or compiled."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim, random
from engine.compiler import CompiledFunction, disable, wait
from engine.compiler.compile_progress import compile_state
from engine.compiler.kernels.kernel_cache import COMPILER

SIZES = (24, 24, 10, 24, 10, 7, 24)
"""Of batches: each new one is recorded."""


class Noise(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + engine.randn_like(x) * engine.empty(x.shape[1]).bernoulli_(0.5)


class Training:
    """A step with what keeps state: running means, dropout, noise, moments, a growing count, sums over steps."""

    def __init__(self) -> None:
        engine.manual_seed(1)
        self.model = nn.Sequential(
            nn.Linear(12, 16),
            nn.BatchNorm1d(16),
            nn.GELU(),
            nn.Dropout(0.3),
            nn.LayerNorm(16),
            Noise(),
            nn.Tanh(),
            nn.Linear(16, 5),
        )
        self.optimizer = optim.AdamW(self.model.parameters(), lr=0.02, amsgrad=True)
        self.schedule = optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)
        self.total = engine.zeros(2, 3)
        self.calls = 0
        self.by: Any = CompiledFunction(self.step, exact=True)

    def step(self, x: Any, y: Any) -> Any:
        self.calls += 1
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.total[:, 1].mul_(0.5).add_(loss.detach())
        self.total.T[0] += float(self.calls)
        return loss

    def run(self, number: int) -> list[Any]:
        draw = random.Generator(5).fork(number)
        size = SIZES[number % len(SIZES)]
        x = engine.from_numpy(draw.normal((size, 12)))
        found = self.by(x, engine.arange(size) % 5)
        self.schedule.step()
        return [found.item(), *self.state()]

    def state(self) -> list[Any]:
        tensors = [*self.model.state_dict().values(), self.total]
        tensors += [v for s in self.optimizer.state.values() for v in s.values() if isinstance(v, engine.Tensor)]
        return [one.detach().clone().numpy().tobytes() for one in tensors]

    def resumed(self) -> Training:
        """The same state in new objects without recordings."""
        other = Training()
        other.model.load_state_dict(copy.deepcopy(self.model.state_dict()))
        other.optimizer.load_state_dict(copy.deepcopy(self.optimizer.state_dict()))
        other.schedule.load_state_dict(self.schedule.state_dict())
        other.total.copy_(self.total)
        other.calls = self.calls
        return other


@pytest.mark.parametrize("resume", [1, 3, 6])
def test_resumed_training_is_bit_identical(resume: int) -> None:
    whole = Training()
    expected = [whole.run(number) for number in range(10)]
    assert (compile_state(whole.by, 0).breaks, compile_state(whole.by, 0).recompiles) == (0, 2)
    first = Training()
    for number in range(resume):
        assert first.run(number) == expected[number]
    state = random.get_rng_state()
    second = first.resumed()
    random.set_rng_state(state)
    wait()
    for number in range(resume, 10):
        assert second.run(number) == expected[number], number


def test_reference_kernels_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Training()
    expected = [whole.run(number) for number in range(7)]
    monkeypatch.setattr("engine.compiler.kernels.cpu_kernel.CpuKernel.ready", property(lambda _: False))
    other = Training()
    assert [other.run(number) for number in range(7)] == expected
    assert compile_state(other.by, 0).tier == "interpreted"


def test_failed_kernels_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Training()
    expected = [whole.run(number) for number in range(7)]

    def broken(_: object) -> None:
        raise ImportError("no module named llvmlite")

    monkeypatch.setattr("engine.compiler.kernels.kernel_cache._load", broken)
    monkeypatch.setattr("engine.compiler.kernels.kernel_cache._compile", broken)
    monkeypatch.setattr(COMPILER, "modules", {})
    other = Training()
    found = [other.run(number) for number in range(3)]
    for plan in other.by.plans:
        plan.wait()
    found += [other.run(number) for number in range(3, 7)]
    assert found == expected
    state = compile_state(other.by, 0)
    assert (state.tier, state.kernels_failed, state.kernels_ready) == ("interpreted", state.kernels, 0)


def branching(x: Any, w: Any) -> Any:
    w.mul_(0.9)
    y = (x @ w).tanh()
    if y.mean() > 0:
        w.add_(y.sum(0))
        y = y * 2
    w[0] = y.exp().mean()
    return y.softmax(1).log()


def looking(x: Any, w: Any) -> Any:
    y = (x @ w).softmax(0)
    w.sub_(y[:4].exp(), alpha=y.sum().item())
    return y.std() + w.norm()


def helped(x: Any, w: Any) -> Any:
    w *= 1.5
    inside = disable(lambda: w.cumsum(0).exp().mean())()
    w /= inside
    return (x @ w).exp().sum()


def views(x: Any, w: Any) -> Any:
    flat, turned = w.view(-1), w.T
    flat[3:9] *= 2
    turned[1] += x.mean()
    w.clamp_(-2, 2)
    return (flat.exp() * turned.reshape(-1)).sum(), w[1:3]


@pytest.mark.parametrize("function", [branching, looking, helped, views])
def test_first_call_matches_later_calls(function: Callable[..., Any]) -> None:
    def called(compiled: Any, number: int) -> list[Any]:
        draw = random.Generator(9).fork(number)
        x, w = engine.from_numpy(draw.normal((33, 4))), engine.from_numpy(draw.normal((4, 4))).clone()
        found = compiled(x, w)
        return [one.clone().numpy().tobytes() for one in (*(found if isinstance(found, tuple) else (found,)), w)]

    known = CompiledFunction(function, exact=True)
    for number in range(6):
        called(known, number)
    for number in range(6):
        assert called(CompiledFunction(function, exact=True), number) == called(known, number)


def test_error_keeps_changes_before_the_last_break(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(w: Any) -> None:
        w.mul_(2.0).exp_()
        raise RuntimeError("stop")

    found = []
    compiled = CompiledFunction(failing, exact=True)
    for _ in range(3):
        w = engine.linspace(0, 1, 7)
        with pytest.raises(RuntimeError, match="stop"):
            compiled(w)
        found.append(w.clone().numpy().tobytes())
    assert found[0] == found[1] == found[2]
    np.testing.assert_allclose(np.frombuffer(found[0], np.float32), np.exp(np.linspace(0, 2, 7)), rtol=1e-6)
