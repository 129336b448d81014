"""GradScaler against PyTorch's on the CPU: the factor over good and bad steps, states, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.amp import GradScaler

torch = pytest.importorskip("torch")

GRADIENTS = [1.0, 2.0, np.inf, 1.0, 1.0, np.nan, 1.0, 1.0, 1.0, 1.0]
OPTIONS = {"init_scale": 8.0, "growth_interval": 2, "growth_factor": 3.0, "backoff_factor": 0.25}


def follow(library: Any, scaler: Any, gradients: list[float], clip: bool = False) -> list[tuple[float, float]]:
    p = library.nn.Parameter(library.tensor([1.0]))
    optimizer = library.optim.SGD([p], lr=0.1)
    result = []
    for gradient in gradients:
        optimizer.zero_grad()
        scaler.scale((p * gradient).sum()).backward()
        if clip:
            scaler.unscale_(optimizer)
            p.grad.clamp_(-0.5, 0.5)
        scaler.step(optimizer)
        scaler.update()
        result.append((p.item(), scaler.get_scale()))
    return result


@pytest.mark.parametrize("clip", [False, True])
def test_scale_and_steps_match_pytorch(clip: bool) -> None:
    ours = follow(engine, GradScaler("cpu", **OPTIONS), GRADIENTS, clip)
    theirs = follow(torch, torch.amp.GradScaler("cpu", **OPTIONS), GRADIENTS, clip)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_state_is_exchanged_with_pytorch() -> None:
    ours, theirs = GradScaler("cpu", **OPTIONS), torch.amp.GradScaler("cpu", **OPTIONS)
    follow(engine, ours, GRADIENTS[:5])
    follow(torch, theirs, GRADIENTS[:5])
    assert ours.state_dict() == theirs.state_dict()
    later, their_later = GradScaler("cpu"), torch.amp.GradScaler("cpu")
    later.load_state_dict(theirs.state_dict())
    their_later.load_state_dict(ours.state_dict())
    ours_later, theirs_later = follow(engine, later, GRADIENTS[5:]), follow(torch, their_later, GRADIENTS[5:])
    np.testing.assert_allclose(ours_later, theirs_later, rtol=1e-6)


def test_disabled_scaler_changes_nothing() -> None:
    scaler = GradScaler("cpu", enabled=False)
    p = nn.Parameter(engine.tensor([1.0]))
    optimizer = optim.SGD([p], lr=1.0)
    loss = p.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert p.item() == 0
    assert scaler.get_scale() == 1
    assert scaler.state_dict() == {}
    scaler.load_state_dict({})
    assert not scaler.is_enabled()


def test_scaler_is_disabled_without_a_gpu() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not engine.cuda.amp.GradScaler().is_enabled()


def test_several_losses_and_optimizers() -> None:
    scaler = GradScaler("cpu", init_scale=4.0)
    a, b = (nn.Parameter(engine.tensor([1.0])) for _ in range(2))
    first, second = optim.SGD([a], lr=1.0), optim.SGD([b], lr=1.0)
    losses = scaler.scale([a.sum(), (b * np.inf).sum()])
    assert losses[0].item() == 4
    for loss in losses:
        loss.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (a.item(), b.item(), scaler.get_scale()) == (0.0, 1.0, 2.0)
    scaler.update(new_scale=engine.tensor(16.0))
    assert scaler.get_scale() == 16


def test_scale_and_factors_can_be_set() -> None:
    scaler = GradScaler("cpu")
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.1)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (4.0, 0.1, 7)


def test_refused_arguments() -> None:
    p = nn.Parameter(engine.tensor([1.0]))
    optimizer = optim.SGD([p], lr=1.0)
    scaler = GradScaler("cpu")
    with pytest.raises(AssertionError, match=r"Call step\(\) first"):
        scaler.update()
    p.grad = engine.ones(1)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"after step\(\)"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="not support a closure"):
        scaler.step(optimizer, closure=lambda: 1)
    with pytest.raises(ValueError, match="iterable of tensors"):
        scaler.scale(3)
    with pytest.raises(ValueError, match="growth_factor"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(ValueError, match="backoff_factor"):
        GradScaler("cpu", backoff_factor=1.0)
    with pytest.raises(RuntimeError, match="with enabled=False"):
        scaler.load_state_dict({})
    scaler.update()
    half = nn.Parameter(engine.tensor([1.0], dtype=engine.float16))
    half.grad = engine.ones(1, dtype=engine.float16)
    with pytest.raises(ValueError, match="float16 gradients"):
        scaler.unscale_(optim.SGD([half]))
