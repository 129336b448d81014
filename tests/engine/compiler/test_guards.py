"""What a replay depends on beside the objects of a step: modes, arguments, and what is refused."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest

import engine
from engine import data, fit, nn, optim
from engine.compiler import CompiledFunction
from engine.compiler.replay import MAX_CALL_SIGNATURES
from engine.errors import CompileError
from engine.nn.module_hooks import register_module_forward_hook
from tests.compiled import bitwise
from tests.engine.fit.clouds import Clouds, same_weights, weights


@contextmanager
def default_dtype(dtype: Any) -> Any:
    before = engine.get_default_dtype()
    engine.set_default_dtype(dtype)
    try:
        yield
    finally:
        engine.set_default_dtype(before)


@contextmanager
def hooked() -> Any:
    handle = register_module_forward_hook(lambda module, given, out: out * 2)
    try:
        yield
    finally:
        handle.remove()


MODES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "none": nullcontext,
    "no_grad": engine.no_grad,
    "inference": engine.inference_mode,
    "autocast": lambda: engine.autocast("cpu", engine.bfloat16),
    "default dtype": lambda: default_dtype(engine.float64),
    "saved tensors": lambda: engine.autograd.graph.saved_tensors_hooks(lambda one: one * 2, lambda one: one),
    "anomalies": engine.autograd.detect_anomaly,
    "hook of all modules": hooked,
}


def measured(model: nn.Module, x: Any) -> list[Any]:
    """A result whose dtype depends on modes, a loss, and gradients."""
    model.zero_grad()
    loss = (model(x) * (engine.arange(2) * 0.5)).square().mean()
    if engine.is_grad_enabled():
        loss.backward()
    return [loss.detach(), engine.arange(2) / 3]


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("second", MODES)
def test_replays_depend_on_modes(first: str, second: str) -> None:
    def described(step: Callable[..., Any]) -> list[Any]:
        engine.manual_seed(0)
        model, x, found = nn.Linear(3, 2), engine.ones(4, 3), []
        for mode, calls in ((first, 5), (second, 2), (first, 2)):
            with MODES[mode]():
                for _ in range(calls):
                    result = [(one.dtype, one.requires_grad, one.tolist()) for one in step(model, x)]
                    gradient = model.weight.grad
                    found.append((result, None if gradient is None else gradient.tolist()))
        return found

    with bitwise():
        assert described(CompiledFunction(measured, replay_classes=())) == described(measured)


REFUSED: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "list of tensors": (lambda: [[engine.ones(2)], 2], ""),
    "deque": (lambda: [deque([engine.ones(2)]), 2], "^0 is a deque, whose state is unknown"),
    "object": (lambda: [[engine.ones(2)], Clouds(seed=0)], "^1 is a Clouds, whose state is unknown"),
    "argument with gradients": (lambda: [[engine.ones(2, requires_grad=True)], 2], "an argument requires gradients"),
    "hook": (lambda: [_hooked_sum(), 2], r"^0\._hooks\[\d+\] is a Hook, whose state is unknown"),
}


def _hooked_sum() -> nn.Module:
    model = nn.Sequential(nn.Flatten(0))
    model.register_forward_hook(lambda module, given, out: out * 2)
    return model


@pytest.mark.parametrize("case", REFUSED)
def test_unknown_state_prevents_replays(case: str) -> None:
    make, why = REFUSED[case]
    first, second = make()
    f = CompiledFunction(lambda first, second: engine.ones(2) * 2 if second else first, replay_classes=())
    for _ in range(6):
        f(first, second)
    assert bool(f.replays.count) is not bool(why)
    assert len(f.replays.refused) == bool(why)
    for text in f.replays.refused.values():
        assert re.search(why, text)


def test_closures_and_callables_with_state_are_refused() -> None:
    k = [2.0]
    for function in (lambda x: x * k[0], Clouds(seed=0).losses, nn.ReLU()):
        with pytest.raises(CompileError, match="cannot be replayed"):
            CompiledFunction(function, replay_classes=())


class ByHand(Clouds):
    """A task that depends on more than its modules."""

    scale = 1.0

    def configure(self) -> None:
        super().configure()
        self.sgd = optim.SGD([nn.Parameter(engine.ones(1))], lr=0.1)
        self.factors = [1.0]

    def losses(self, batch: Any) -> dict[Any, Any]:
        (_, loss) = super().losses(batch).popitem()
        return {self.adam: loss * self.factors[0] * self.scale}


CHANGES: dict[str, Callable[[Any], Any]] = {
    "list": lambda task: task.factors.append(task.factors.pop(0) + 1.0),
    "attribute": lambda task: setattr(task, "scale", 3.0),
    "class": lambda task: setattr(type(task), "scale", 3.0),
    "clipping": lambda task: setattr(task, "clip_norm", 1e-3),
    "clipping of the class": lambda task: setattr(type(task), "clip_value", 1e-4),
    "criterion": lambda task: setattr(task, "criterion", nn.CrossEntropyLoss(label_smoothing=0.5)),
    "smoothing": lambda task: setattr(task.criterion, "label_smoothing", 0.5),
    "precision": lambda task: setattr(task, "mixed_precision", "bfloat16"),
    "losses": lambda task: setattr(task, "losses", lambda batch: {task.adam: task.model(batch[0]).square().mean()}),
    "model": lambda task: task.model.append(nn.Tanh()),
    "optimizer": lambda task: setattr(task, "adam", optim.SGD(task.model.parameters(), lr=0.5)),
    "metric": lambda task: setattr(task, "accuracy", type(task.accuracy)()),
    "seed": lambda task: task.stream.manual_seed(9),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_steps_of_a_task_are_noticed(change: str) -> None:
    def trained(*, compile: bool) -> Any:
        task = type("Made", (ByHand,), {})(seed=1)
        steps = (event for event in fit.fit(task, epochs=4, compile=compile) if isinstance(event, fit.Step))
        for _ in range(9):
            next(steps)
        assert task.step is None or task.step.replays.count
        before = weights(task)
        CHANGES[change](task)
        list(steps)
        assert any((before[name] != value).any() for name, value in weights(task).items() if name in before)
        return task

    with bitwise():
        assert same_weights(trained(compile=False), trained(compile=True))


def test_tasks_are_replayed_only_with_replay_classes() -> None:
    class Counting(fit.Task):
        def data(self) -> data.Loaders:
            return Clouds(seed=0).data()

        def configure(self) -> None:
            self.model, self.counts = nn.Linear(4, 3), [0.0]
            self.sgd = optim.SGD(self.model.parameters(), lr=0.1)

        def losses(self, batch: Any) -> dict[Any, Any]:
            self.counts[0] += 1.0
            return {self.sgd: nn.functional.cross_entropy(self.model(batch[0]), batch[1]) * self.counts[0]}

    def trained(*, compile: bool) -> Any:
        task = Counting(seed=1)
        list(fit.fit(task, epochs=3, compile=compile))
        return task

    with bitwise():
        eager, compiled = trained(compile=False), trained(compile=True)
    assert eager.counts == compiled.counts
    assert same_weights(eager, compiled)


class Rate:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def replay_state(self) -> Any:
        yield "", vars(self), ()


def scaled(x: Any, rate: Any) -> Any:
    return x * (rate.scale if isinstance(rate, Rate) else rate)


def test_equal_numbers_pass_the_guard() -> None:
    f, x, rate = CompiledFunction(scaled, replay_classes=(Rate,)), engine.ones(2), Rate(2.0)
    for number in range(6):
        rate.scale = float(f"{2 + number - number}")
        f(x, rate)
    assert f.replays.count > 0
    assert not f.replays.missed


def test_object_with_a_reused_id_fails_the_guard() -> None:
    f, x = CompiledFunction(scaled, replay_classes=(Rate,)), engine.ones(2)
    for scale in (2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 2.0):  # each has the address of the one before
        assert f(x, Rate(scale)).tolist() == [scale, scale]


def test_same_object_argument_is_replayed() -> None:
    f, x, rates = CompiledFunction(scaled, replay_classes=(Rate,)), engine.ones(2), [Rate(2.0), Rate(3.0)]
    for number in range(12):
        rate = rates[number % 2]
        assert f(x, rate).tolist() == [rate.scale] * 2
    assert f.replays.count > 0


def test_signed_zeros_have_different_signatures() -> None:
    f = CompiledFunction(scaled, replay_classes=())
    for number in (0.0, 0.0, 0.0, 0.0, -0.0):
        assert str(f(engine.ones(1), number).item()) == str(number)


def test_number_of_call_signatures_is_limited() -> None:
    f, x = CompiledFunction(scaled, replay_classes=()), engine.ones(1)
    for number in range(2 * MAX_CALL_SIGNATURES):
        f(x, number / 8)
    assert len(f.replays._candidates) == MAX_CALL_SIGNATURES  # pyright: ignore[reportPrivateUsage]
    for _ in range(4):
        f(x, 0.5)
    assert f.replays.count == 2
