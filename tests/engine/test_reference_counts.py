"""Where CPython counts references differently, memory is not reused, and results are the same."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.compiler import CompiledFunction
from engine.system import reference_counts
from engine.system.self_test import SelfTest


def train(model: nn.Module, optimizer: optim.Optimizer, x: engine.Tensor) -> engine.Tensor:
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def trained() -> list[bytes]:
    """Weights after some eager and some replayed training steps."""
    engine.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = optim.Adam(model.parameters())
    x = engine.randn(4, 8)
    for _ in range(3):
        train(model, optimizer, x)
    compiled = CompiledFunction(train, exact=True, replay_classes=(nn.Sequential, nn.Linear, nn.Tanh))
    for _ in range(6):
        compiled(model, optimizer, x)
    assert compiled.replays.count > 0, compiled.replays.refused
    return [parameter.detach().numpy().tobytes() for parameter in model.parameters()]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_other_counts_give_the_same_weights(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = trained()
    monkeypatch.setattr(reference_counts, "getrefcount", lambda _: count)
    monkeypatch.setattr(reference_counts, "SELF_TEST", SelfTest(reference_counts._check, "Reference counts", "Effect."))
    with pytest.warns(RuntimeWarning, match=r"Reference counts: the self-test failed .* Effect\."):
        assert not reference_counts.SELF_TEST.passed
    assert reference_counts.sole_references([np.empty(2)]) == [False]
    assert trained() == expected


def test_counts_are_as_expected_here() -> None:
    assert reference_counts.SELF_TEST.failure is None


def test_a_check_runs_once_in_all_threads() -> None:
    ran: list[int] = []
    test = SelfTest(lambda: ran.append(1), "Test", "Effect.")
    threads = [threading.Thread(target=lambda: test.passed) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ran == [1]
    assert test.failure is None
    test.require()


def test_failed_checks_warn_and_refuse() -> None:
    def check() -> None:
        raise ValueError("7, not 8")

    test = SelfTest(check, "Layout", "It is slower.")
    with pytest.warns(RuntimeWarning):
        assert test.failure == "Layout: the self-test failed (ValueError: 7, not 8). It is slower."
    with pytest.raises(RuntimeError, match="7, not 8"):
        test.require()
