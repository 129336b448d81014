"""Autograd on another device: gradients are computed on the device of their tensors."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import engine
from engine.autograd import detect_anomaly, gradcheck, graph
from engine.errors import AutogradError
from engine.utils.checkpoint import checkpoint
from tests.engine import fake_cupy


@pytest.fixture
def leaf(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))
    numbers = engine.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=engine.float64)
    return lambda: numbers.to("cuda").requires_grad_()


def test_passes_accumulate_on_the_device(leaf: Any) -> None:
    x = leaf()
    for _ in range(2):
        (x * x).sum().backward()
    assert (str(x.grad.device), x.grad.cpu().tolist()) == ("cuda:0", [[2.0, -4.0], [8.0, 1.0]])


def test_hooks_checkpoints_and_saved_tensors(leaf: Any) -> None:
    x = leaf()
    x.register_hook(lambda g: g * 2)
    with graph.save_on_cpu():
        y = checkpoint(lambda x: x.sin().exp(), x)
    y.sum().backward()
    again = leaf()
    again.sin().exp().sum().backward()
    assert x.grad.cpu().tolist() == (again.grad * 2).cpu().tolist()


def test_functions_and_higher_orders(leaf: Any) -> None:
    class Cube(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x, x * 1

        @staticmethod
        def backward(ctx: Any, g: Any, unused: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g + unused

    x = leaf()
    (first,) = engine.grad(Cube.apply(x)[0].sum(), x, create_graph=True)
    (second,) = engine.grad(first.sum(), x)
    assert second.cpu().tolist() == (x.detach() * 6).cpu().tolist()


def test_anomaly_mode(leaf: Any) -> None:
    with detect_anomaly():
        y = ((leaf() * 0).sqrt() * 0).sum()
        with pytest.raises(AutogradError, match="SqrtBackward0"):
            y.backward()


def test_gradcheck(leaf: Any) -> None:
    assert gradcheck(lambda x: x.sin() * x, leaf())
    assert gradcheck(lambda x: x.sin() * x, leaf(), fast_mode=True)
