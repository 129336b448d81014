"""Checkpointing: the same numbers with less memory."""

from __future__ import annotations

import gc
import importlib
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import AutogradError, CheckpointError
from engine.utils.checkpoint import checkpoint, checkpoint_sequential, set_checkpoint_early_stop
from tests.engine.autograd.both import assert_same

REENTRANT = pytest.mark.parametrize("use_reentrant", [False, True])


def network(seed: int = 0, dropout: float = 0.5) -> nn.Sequential:
    engine.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(6, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 2)
    )


def gradients(run: Callable[[nn.Sequential, Any], Any]) -> tuple[Any, ...]:
    """Results of a step of a network with dropout, and the random state after it."""
    model = network()
    engine.manual_seed(1)
    x = engine.randn(5, 6, requires_grad=True)
    out = run(model, x)
    (out * out).sum().backward()
    assert x.grad is not None
    grads = [p.grad.numpy() for p in model.parameters() if p.grad is not None]
    return out.detach().numpy(), x.grad.numpy(), *grads, engine.rand(3).numpy()


def assert_equal(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@REENTRANT
def test_gradients_with_dropout_are_unchanged(use_reentrant: bool) -> None:
    plain = gradients(lambda model, x: model(x))
    assert_equal(gradients(lambda model, x: checkpoint(model, x, use_reentrant=use_reentrant)), plain)
    parts = lambda model, x: checkpoint_sequential(model, 3, x, use_reentrant=use_reentrant)  # noqa: E731
    assert_equal(gradients(parts), plain)


def test_without_the_random_state_the_numbers_differ() -> None:
    wrong = gradients(lambda model, x: checkpoint(model, x, preserve_rng_state=False))
    assert not np.array_equal(wrong[1], gradients(lambda model, x: model(x))[1])


def test_nested() -> None:
    def run(model: nn.Sequential, x: Any) -> Any:
        inner = lambda x: checkpoint(model[:3], x)  # noqa: E731
        return checkpoint(lambda x: model[3:](inner(x)), x)

    assert_equal(gradients(run), gradients(lambda model, x: model(x)))
    deeper = lambda model, x: checkpoint(lambda x: checkpoint(lambda x: checkpoint(model, x), x), x)  # noqa: E731
    assert_equal(gradients(deeper), gradients(lambda model, x: model(x)))


@pytest.mark.parametrize("early_stop", [True, False])
def test_number_of_runs_of_the_function(early_stop: bool) -> None:
    calls: list[str] = []

    def function(x: Any) -> Any:
        calls.append("start")
        y = (x * x).exp()
        calls.append("end")
        return y.sum()

    x = engine.ones(3, requires_grad=True)
    with set_checkpoint_early_stop(early_stop):
        y = checkpoint(function, x)
        y.backward(retain_graph=True)
        assert calls == ["start", "end", "start", *([] if early_stop else ["end"])]
        y.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 4 * np.e, rtol=1e-6)


def test_arguments_of_all_kinds_and_several_results() -> None:
    def program(lib: Any) -> Any:
        x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0], requires_grad=True)

        def function(x: Any, power: int, *, y: Any, scale: float = 1.0) -> Any:
            return x**power * y, {"second": y.exp() * scale}

        first, rest = lib.utils.checkpoint.checkpoint(function, x, 3, y=y, scale=2.0, use_reentrant=False)
        (first.sum() + rest["second"].sum()).backward()
        return first, rest, x.grad, y.grad

    assert_same(program)


def test_higher_order_and_grad() -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor([0.5, 1.0], dtype=lib.float64, requires_grad=True)
        y = lib.utils.checkpoint.checkpoint(lambda x: (x.sin() * x).exp(), x, use_reentrant=False)
        (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        return first, second

    assert_same(program)


def test_hooks_inside_and_around() -> None:
    def program(lib: Any) -> Any:
        seen: list[Any] = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)

        def function(x: Any) -> Any:
            y = x * 3
            if y.requires_grad:
                y.register_hook(lambda g: seen.append(g.tolist()))
            return (y * y).exp()

        packed: list[Any] = []
        with lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
            y = lib.utils.checkpoint.checkpoint(function, x * 0.1, use_reentrant=False)
        y.sum().backward()
        return seen, x.grad

    assert_same(program)


def test_tensors_saved_inside_are_freed() -> None:
    watched: list[Any] = []

    def function(x: Any) -> Any:
        y = x * 2
        watched.append(weakref.ref(y))
        return (y * y).sum()

    gc.disable()
    try:
        out = checkpoint(function, engine.ones(3, requires_grad=True))
        assert watched[0]() is None
        out.backward()
        assert watched[1]() is None
    finally:
        gc.enable()


def test_peak_memory_is_lower() -> None:
    def peak(run: Callable[[Any, Any], Any]) -> int:
        layers = [lambda x: (x * 1.01).tanh().exp().tanh() for _ in range(8)]
        x = engine.ones(100_000, requires_grad=True)
        gc.collect()
        tracemalloc.start()
        run(layers, x).sum().backward()
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    def plain(layers: Any, x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    def checkpointed(layers: Any, x: Any) -> Any:
        for layer in layers:
            x = checkpoint(layer, x)
        return x

    assert peak(checkpointed) < 0.6 * peak(plain)


@REENTRANT
def test_recomputation_uses_the_same_autocast(use_reentrant: bool) -> None:
    def program(lib: Any) -> Any:
        x = (lib.arange(6, dtype=lib.float32).reshape(2, 3) * 0.1).requires_grad_()
        w = (lib.arange(9, dtype=lib.float32).reshape(3, 3) * 0.1).requires_grad_()
        with lib.autocast("cpu", dtype=lib.bfloat16):
            y = lib.utils.checkpoint.checkpoint(lambda x: (x @ w).exp() @ w, x, use_reentrant=use_reentrant)
        y.float().sum().backward()
        return str(y.dtype).rpartition(".")[2], y.float(), x.grad.dtype is lib.float32, w.grad is not None

    assert_same(program)


def test_without_gradients_the_function_runs_once() -> None:
    with engine.no_grad():
        assert checkpoint(lambda x: x * 2, engine.ones(1, requires_grad=True)).tolist() == [2.0]
    assert not checkpoint(lambda x: x * 2, engine.ones(1)).requires_grad


def test_it_runs_on_the_meta_device() -> None:
    x = engine.zeros(5, 6, device="meta", requires_grad=True)
    checkpoint(network().to("meta"), x).sum().backward()
    assert x.grad is not None and x.grad.is_meta


def test_contexts_for_both_runs() -> None:
    order: list[str] = []

    class Told:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            order.append(self.name)

        def __exit__(self, *error: object) -> None:
            order.append(f"end of {self.name}")

    x = engine.ones(1, requires_grad=True)
    y = checkpoint(lambda x: x.exp() * x, x, context_fn=lambda: (Told("first"), Told("second")))
    y.backward()
    assert order == ["first", "end of first", "second", "end of second"]


# -- what is refused --------------------------------------------------------------------------


def changing(*versions: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that runs another of `versions` at each call."""
    left = list(versions)

    def function(x: Any) -> Any:
        return left.pop(0)(x)

    return function


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (lambda x: x.sin().exp(), lambda x: x.sin() * 1, "different number of tensors .*: 1, not 2"),
        (lambda x: x.sin().exp(), lambda x: x.unsqueeze(0).sin().exp(), "saved tensor 0 was 2 float32 on cpu .* 1×2"),
    ],
)
def test_a_function_that_does_something_else_is_refused(first: Any, second: Any, message: str) -> None:
    x = engine.ones(2, requires_grad=True)
    with pytest.raises(CheckpointError, match=message):
        checkpoint(changing(first, second), x).sum().backward()


def test_determinism_check_can_be_disabled() -> None:
    function = changing(lambda x: x.exp(), lambda x: x.double().exp())
    checkpoint(function, engine.ones(2, requires_grad=True), determinism_check="none").sum().backward()


def test_an_argument_that_changed_is_refused() -> None:
    z = engine.ones(2, requires_grad=True) * 2
    y = checkpoint(lambda x: x.sin().exp(), z)
    z.add_(1)
    with pytest.raises(AutogradError, match=r"saved tensor 0 of checkpoint\(\).*changed in place"):
        y.sum().backward()


def test_wrong_arguments() -> None:
    x = engine.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="takes no power"):
        checkpoint(lambda x, power: x**power, x, use_reentrant=True, power=2)
    with pytest.raises(ValueError, match="determinism_check must be"):
        checkpoint(lambda x: x, x, determinism_check="sometimes")
    with pytest.raises(ValueError, match="segments must be between 1 and 6, not 7"):
        checkpoint_sequential(network(), 7, x)
    with pytest.warns(UserWarning, match="None of the inputs"):
        checkpoint(lambda x: x * 2, engine.ones(1), use_reentrant=True)
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=True).sum()
    with pytest.raises(AutogradError, match=r"not support grad\(\)"):
        engine.grad(y, x)


@pytest.mark.parametrize("name", ["engine", "torch"])
def test_random_states_for_reversible_layers(name: str) -> None:
    lib = pytest.importorskip(name)
    states = importlib.import_module(f"{name}.utils.checkpoint")
    x = lib.ones(4)
    before, (devices, kept) = lib.get_rng_state(), states.get_device_states(x, [x, 1])
    assert (devices, kept) == ([], [])
    first = lib.rand(4)
    with lib.random.fork_rng(devices=devices, enabled=True):
        lib.set_rng_state(before)
        states.set_device_states(devices, kept)
        again = lib.rand(4)
    assert again.tolist() == first.tolist()
    assert lib.rand(4).tolist() != first.tolist()
