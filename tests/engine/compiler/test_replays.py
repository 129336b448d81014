"""Training steps that are replayed without their Python, while all kinds of things happen between them."""

from __future__ import annotations

import functools
import gc
import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine import nn, optim
from engine.compiler import CompiledFunction
from engine.errors import AutogradError
from engine.nn import functional
from engine.random import default_generator
from tests.compiled import bitwise


def train(model: nn.Module, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = functional.mse_loss(model(x), functional.one_hot(y, 3).double())
    loss.backward()
    optimizer.step()
    return loss


def classify(model: nn.Module, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def descend(model: nn.Module, optimizer: Any, x: Any) -> Any:
    optimizer.zero_grad()
    loss = (model(x) - 1).square().mean()
    loss.backward()
    optimizer.step()
    return loss


class Training:
    """A model and its optimizer, as a program's other lines find them."""

    def __init__(self, optimizer: int) -> None:
        engine.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, 3)
        ).double()
        parameters = list(self.model.parameters())
        self.optimizer: Any = (
            optim.SGD(parameters, lr=0.1, momentum=0.9),
            optim.Adam(parameters, lr=0.01),
            optim.AdamW([{"params": parameters[:2], "lr": 0.05}, {"params": parameters[2:]}], lr=0.01, amsgrad=True),
            optim.RMSprop(parameters, lr=0.01, centered=True),
        )[optimizer]
        self.scheduler = optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        random = np.random.default_rng(0)
        self.batches = [
            (engine.tensor(random.normal(size=(n, 4)).tolist(), dtype=engine.float64), engine.tensor([0, 1, 2, 1][:n]))
            for n in (4, 4, 2)
        ]
        self.held: list[Callable[[], Any]] = []
        """Functions that return the numbers of gradients that are still referenced."""


def _change(training: Training, n: int) -> None:
    with engine.no_grad():
        next(training.model.parameters()).mul_(0.5)


def _replace(training: Training, n: int) -> None:
    parameter = next(training.model.parameters())
    parameter.data = parameter.data.clone() * 0.5


def _swap(training: Training, n: int) -> None:
    training.model[4].bias = nn.Parameter(engine.ones(3, dtype=engine.float64))


def _hold(training: Training, n: int) -> None:
    gradients = [p.grad for p in training.model.parameters() if p.grad is not None]
    if gradients:
        training.held.append(HOLDERS[n](gradients[n % len(gradients)]))


def _fill(training: Training, n: int) -> None:
    training.model[0].bias.data.fill_(n)


def _weakly(thing: Any) -> Callable[[], Any]:
    reference = weakref.ref(thing)
    return lambda: None if (found := reference()) is None else found.tolist()


HOLDERS: tuple[Callable[[Any], Callable[[], Any]], ...] = (
    lambda gradient: gradient.tolist,
    lambda gradient: gradient.detach()[-1:].tolist,
    lambda gradient: gradient.numpy().tolist,
    lambda gradient: gradient.numpy().T[..., :1].tolist,
    lambda gradient: memoryview(gradient.numpy()).tolist,
    _weakly,
)
"""Ways to keep a gradient, which is not to change by then, or to see whether it is still there."""


EVENTS: dict[str, Callable[[Training, int], Any]] = {
    "nothing": lambda t, n: None,
    "schedule": lambda t, n: t.scheduler.step(),
    "train": lambda t, n: t.model.train(bool(n % 2)),
    "eval of a part": lambda t, n: t.model[1].eval(),
    "change": _change,
    "replace": _replace,
    "swap": _swap,
    "load": lambda t, n: t.model.load_state_dict({k: v.clone() for k, v in t.model.state_dict().items()}),
    "freeze": lambda t, n: t.model[0].requires_grad_(bool(n % 2)),
    "no gradient": lambda t, n: t.optimizer.zero_grad(),
    "gradient": lambda t, n: [p.grad.mul_(3) for p in t.model.parameters() if p.grad is not None],
    "hold": _hold,
    "let go": lambda t, n: t.held.clear(),
    "seed": lambda t, n: engine.manual_seed(n),
    "draw": lambda t, n: engine.rand(3),
    "rate": lambda t, n: t.optimizer.param_groups[0].update(lr=0.02 * n),
    "group": lambda t, n: t.optimizer.param_groups[-1].update(weight_decay=0.1),
    "state": lambda t, n: t.optimizer.load_state_dict(t.optimizer.state_dict()),
    "probability": lambda t, n: setattr(t.model[3], "p", 0.1 * (n % 5)),
    "momentum": lambda t, n: setattr(t.model[1], "momentum", 0.1 * (n % 5)),
    "hook": lambda t, n: t.model[2].register_forward_hook(lambda module, given, out: out * 2),
    "gradient hook": lambda t, n: t.model[0].weight.register_hook(lambda gradient: gradient * 2),
    "write input": lambda t, n: t.batches[n % 3][0].mul_(0.5),
    "other input": lambda t, n: t.batches.insert(0, (t.batches[0][0].clone(), t.batches[0][1].flip(0))),
    "transposed": lambda t, n: t.batches.insert(0, (t.batches[0][0].mT.contiguous().mT, t.batches[0][1])),
    "step": lambda t, n: t.optimizer.step(),
    "unfused": lambda t, n: t.model.double(),
    "append": lambda t, n: t.model.append(nn.Tanh()),
    "another part": lambda t, n: t.model.__setitem__(2, nn.Tanh() if n % 2 else nn.SiLU()),
    "class of a part": lambda t, n: setattr(t.model[2], "__class__", nn.Tanh if n % 2 else nn.Softsign),
    "forward of a part": lambda t, n: setattr(t.model[2], "forward", lambda x: x * n),
    "forward hook removed": lambda t, n: t.model[2].register_forward_hook(lambda module, given, out: out * n).remove(),
    "backward hook": lambda t, n: t.model[2].register_full_backward_hook(lambda module, i, o: (i[0] * 2,)),
    "buffer": lambda t, n: setattr(t.model[1], "running_mean", engine.ones(6, dtype=engine.float64)),
    "buffer written": lambda t, n: t.model[1].running_mean.fill_(n),
    "parametrization": lambda t, n: (
        nn.utils.parametrize.register_parametrization(t.model[4], "bias", nn.Tanh())
        if not nn.utils.parametrize.is_parametrized(t.model[4])
        else None
    ),
    "parameter added": lambda t, n: t.optimizer.add_param_group(
        {"params": [nn.Parameter(engine.ones(2, dtype=engine.float64))]}
    ),
    "parameter taken away": lambda t, n: t.optimizer.param_groups[0]["params"].pop(),
    "rate that is a tensor": lambda t, n: t.optimizer.param_groups[0].update(lr=engine.tensor(0.01 * n)),
    "rate written": lambda t, n: (
        t.optimizer.param_groups[0].update(lr=engine.tensor(0.01))
        if isinstance(t.optimizer.param_groups[0]["lr"], float)
        else t.optimizer.param_groups[0]["lr"].fill_(0.02 * n)
    ),
    "hook before steps": lambda t, n: t.optimizer.register_step_pre_hook(lambda o, a, k: _fill(t, n)),
    "hook after steps": lambda t, n: t.optimizer.register_step_post_hook(lambda o, a, k: _fill(t, n)),
    "maximize": lambda t, n: t.optimizer.param_groups[0].update(maximize=n % 2 == 1),
    "state forgotten": lambda t, n: t.optimizer.state.clear(),
    "state written": lambda t, n: [
        value.mul_(0.5) for state in t.optimizer.state.values() for value in state.values() if hasattr(value, "mul_")
    ],
    "state replaced": lambda t, n: [
        state.update({name: value.clone().mul_(0.5)})
        for state in t.optimizer.state.values()
        for name, value in list(state.items())
        if hasattr(value, "mul_")
    ],
}
"""What may happen between two steps."""


def run(optimizer: int, events: Sequence[tuple[str, int, int, bool]], *, compiled: bool) -> tuple[list[Any], int]:
    """All that a training leaves behind, step by step; and how many steps were replayed."""
    training, found = Training(optimizer), []
    compiled_step = CompiledFunction(train, replay_classes=())
    step = functools.partial(compiled_step if compiled else train, training.model, training.optimizer)
    for name, number, batch, recorded in events:
        with suppress(AutogradError, KeyError):  # hooks on what is frozen, swaps of what is parametrized
            EVENTS[name](training, number)
        for _ in range(number % 3 + 1):
            x, y = training.batches[batch % 3]
            with engine.set_grad_enabled(recorded):
                try:
                    found.append(step(x, y).item())
                except RuntimeError as error:
                    found.append(type(error).__name__)
            found += [(k, v.tolist(), v._version) for k, v in training.model.state_dict().items()]
            found += [None if p.grad is None else p.grad.tolist() for p in training.model.parameters()]
            found += [held() for held in training.held]
            states = list(training.optimizer.state.values())
            found += [v.tolist() if isinstance(v, engine.Tensor) else v for s in states for v in s.values()]
            found.append(default_generator.get_state())
    return found, compiled_step.replays.count


BETWEEN = st.tuples(st.sampled_from(list(EVENTS)), st.integers(0, 5), st.integers(0, 2), st.integers(0, 9).map(bool))


@pytest.mark.filterwarnings("ignore:scheduler.step.. was called before:UserWarning")
@settings(max_examples=40)
@given(st.integers(0, 3), st.lists(BETWEEN, min_size=2, max_size=8))
def test_replays_match_python(optimizer: int, events: list[tuple[str, int, int, bool]]) -> None:
    with bitwise():
        (expected, _), (found, _) = run(optimizer, events, compiled=False), run(optimizer, events, compiled=True)
    for ours, eager in zip(found, expected, strict=True):
        assert repr(ours) == repr(eager)  # NaN is NaN


@pytest.mark.filterwarnings("ignore:scheduler.step.. was called before:UserWarning")
@pytest.mark.parametrize("name", EVENTS)
def test_each_change_between_replays_is_noticed(name: str) -> None:
    events = [("nothing", 2, 0, True), ("nothing", 1, 0, True), (name, 1, 0, True), (name, 2, 0, True)]
    with bitwise():
        (found, replayed), (expected, _) = run(1, events, compiled=True), run(1, events, compiled=False)
    assert repr(found) == repr(expected)  # NaN is NaN
    assert replayed >= 2, "those before the first change"


def test_frequent_guard_failures_end_replays() -> None:
    model, x = nn.Linear(2, 2), engine.ones(1, 2)
    f = CompiledFunction(lambda model, x: model(x).detach(), replay_classes=())
    for number in range(100):
        model.bias = nn.Parameter(engine.full((2,), float(number // 3)))
        assert f(model, x).tolist() == model(x).tolist()
    assert list(f.replays.refused.values()) == ["this keeps changing: 0.bias"]
    assert len(f.replays.missed) == 20


def _replayed(training: Training) -> Callable[[], Any]:
    step, given = CompiledFunction(train, replay_classes=()), (training.model, training.optimizer, *training.batches[0])
    for _ in range(6):
        step(*given)
    assert step.replays.count
    return lambda: step(*given)


def _addresses(training: Training) -> list[int]:
    return [p.grad.data_ptr() for p in training.model.parameters() if p.grad is not None]


def test_gradients_alternate_between_two_buffers_without_other_references() -> None:
    """Those before a step are there until it is over: it may be interrupted."""
    training = Training(0)
    step = _replayed(training)
    addresses: list[list[int]] = []
    for _ in range(6):
        step()
        addresses.append(_addresses(training))
    assert addresses[2:] == [*addresses[:2], *addresses[:2]]
    assert not set(addresses[0]) & set(addresses[1])


@pytest.mark.parametrize("holder", HOLDERS[:5])
def test_referenced_gradients_are_not_overwritten(holder: Callable[[Any], Callable[[], Any]]) -> None:
    training = Training(0)
    step = _replayed(training)
    for _ in range(2):
        step()
    before, gradient = _addresses(training), next(training.model.parameters()).grad
    held = holder(gradient)
    del gradient
    expected = held()
    for _ in range(4):
        step()
        assert held() == expected
    assert _addresses(training)[0] != before[0]
    assert _addresses(training)[1:] == before[1:]


def test_arrays_with_changed_shape_or_flags_are_not_reused() -> None:
    training = Training(0)
    step = _replayed(training)
    for change in ({"shape": (24,)}, {"flags.writeable": False}):
        step()
        array = next(training.model.parameters()).grad.numpy()  # pyright: ignore[reportOptionalMemberAccess]
        if "shape" in change:
            array.shape = change["shape"]
        else:
            array.flags.writeable = False
        del array
        step()
        found = next(training.model.parameters()).grad
        assert found is not None
        assert found.shape == (6, 4)
        found.mul_(2)


def test_tensors_are_freed_as_in_eager_mode() -> None:
    training = Training(0)
    step = _replayed(training)
    gradient = next(training.model.parameters()).grad
    assert gradient is not None
    dead = [weakref.ref(gradient), weakref.ref(gradient.numpy())]
    del gradient
    step()
    assert [one() for one in dead] == [None, None]


def test_replayed_step_allocates_no_memory() -> None:
    engine.manual_seed(0)
    model = nn.Sequential(nn.Embedding(50, 64), nn.Flatten(), nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    x, y = engine.randint(0, 50, (32, 4)), engine.randint(0, 10, (32,))

    compiled = CompiledFunction(classify, replay_classes=())
    step = functools.partial(compiled, model, optimizer, x, y)
    for _ in range(6):
        step()
    engine.compiler.wait()
    for _ in range(2):
        step()
    gc.collect()
    tracemalloc.start()
    try:
        step()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        step()
        taken = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert compiled.replays.count
    assert taken < 16 << 10, "Python's objects; gradients alone are 560 KB"


TURNS: dict[str, Callable[[Any, Any], Any]] = {
    "another whole number": lambda param, state: param.mul_(2).mul_(state["ones"]),
    "another op": lambda param, state: param.mul_(1).sub_(state["ones"]),
    "more ops": lambda param, state: param.mul_(1).mul_(state["ones"]).mul_(0.5),
    "fewer ops": lambda param, state: param.mul_(1),
    "other tensors": lambda param, state: param.mul_(1).mul_(state["twos"]),
}


class _Turning(optim.SGD):
    """Descends, and after three steps also decays: with other ops, or with other whole numbers."""

    turn = ""

    def update(self, param: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state |= {"step": 0, "ones": engine.ones_like(param), "twos": engine.full_like(param, 2)}
        state["step"] += 1
        param.add_(gradient, alpha=-group["lr"])
        if state["step"] > 3:
            TURNS[self.turn](param, state)
        else:
            param.mul_(1).mul_(state["ones"])


@pytest.mark.parametrize("turn", TURNS)
def test_changed_optimizer_step_is_noticed(turn: str) -> None:
    def training() -> tuple[Any, Any, Any]:
        engine.manual_seed(0)
        model = nn.Linear(3, 2).double()
        optimizer = _Turning(model.parameters(), lr=0.1)
        optimizer.turn = turn
        return model, optimizer, engine.ones(2, 3, dtype=engine.float64)

    eager = training()
    expected = [descend(*eager).item() for _ in range(9)]
    ours = training()
    compiled = CompiledFunction(descend, replay_classes=(_Turning,))
    assert [compiled(*ours).item() for _ in range(9)] == pytest.approx(expected, rel=1e-12)
    assert compiled.replays.count > 2
    assert "the ops of a step of _Turning" in compiled.replays.missed
    assert ours[1].steps == eager[1].steps
    assert [state["step"] for state in ours[1].state.values()] == [9, 9]


@pytest.mark.parametrize("kind", [optim.Adam, optim.SGD, optim.NAdam, optim.RAdam, optim.RMSprop, optim.Muon])
def test_parameters_added_later_have_separate_step_counts(kind: Any) -> None:
    def trained(*, is_compiled: bool) -> tuple[list[float], list[int]]:
        engine.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Tanh(), nn.Linear(4, 2, bias=False)).double()
        optimizer = kind([{"params": model[0].parameters(), "lr": 0.05}, {"params": model[2].parameters()}], lr=0.02)
        x = engine.ones(2, 3, dtype=engine.float64)
        compiled, losses = CompiledFunction(descend, replay_classes=()), []
        run = compiled if is_compiled else descend
        for number in range(18):
            model[0].weight.requires_grad_(number > 5)
            optimizer.param_groups[1]["lr"] *= 0.9
            losses.append(run(model, optimizer, x).item())
        assert not is_compiled or compiled.replays.count > 5
        return losses, [state.get("step") for state in optimizer.state.values()]

    losses, counts = trained(is_compiled=True)
    expected, steps = trained(is_compiled=False)
    assert losses == pytest.approx(expected, rel=1e-9)
    assert counts == steps
