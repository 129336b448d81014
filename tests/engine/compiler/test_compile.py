"""`engine.compile` as PyTorch has it: its arguments, decorators, modules, copies, threads."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import compiler, nn, optim
from engine.compiler import CompiledFunction
from engine.errors import CompileError, EngineError
from engine.nn import functional


def double(x: engine.Tensor) -> engine.Tensor:
    """Twice as much."""
    return x * 2


@engine.compile
def decorated(x: engine.Tensor) -> engine.Tensor:
    return x + 1


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(3, 4)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(4, 2)
        self.calls = 0

    def forward(self, x: engine.Tensor, scale: float = 1.0) -> engine.Tensor:
        self.calls += 1
        return self.out(self.drop(self.hidden(x).relu())) * scale


# -- forms and arguments


def test_decorator_forms() -> None:
    forms = [engine.compile(double), engine.compile()(double), engine.compile(fullgraph=True)(double)]
    forms += [engine.compile(double, backend=one, dynamic=True, mode=None, options={}) for one in ("inductor", "eager")]
    for one in forms:
        assert isinstance(one, CompiledFunction)
        assert (one.__name__, one.__doc__, one.__wrapped__) == ("double", "Twice as much.", double)
        assert one(engine.ones(2)).tolist() == one(engine.ones(2)).tolist() == [2, 2]
    assert engine.compile(double, disable=True) is double
    assert repr(decorated) == "<compiled decorated>"


def test_methods_and_other_callables() -> None:
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @engine.compile
        def __call__(self, x: engine.Tensor) -> engine.Tensor:
            return x * self.factor

    twice, thrice = Scale(2.0), Scale(3.0)
    assert [one(engine.ones(1)).item() for one in (twice, thrice, twice)] == [2, 3, 2]
    assert engine.compile(twice)(engine.ones(1)).item() == 2
    assert engine.compile(lambda x: x + 1)(engine.ones(1)).item() == 2
    assert engine.compile(nn.Linear(2, 2).forward)(engine.ones(1, 2)).shape == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"backend": "tensorrt"}, "this backend does not exist. Choose one of: inductor, aot_eager, eager"),
        ({"backend": lambda graph, inputs: graph}, "functions as backends are not supported"),
        ({"mode": "fastest"}, "this mode does not exist"),
        ({"mode": "default", "options": {"a": 1}}, "mode or options, not both"),
        ({"options": {"max_autotune": True}}, "option 'max_autotune' does not exist"),
    ],
)
def test_unsupported_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        engine.compile(double, **arguments)
    with pytest.raises(CompileError, match=message):
        engine.compile(**arguments)


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> int:
    return 1


async def asynchronous() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [(generator, "generator"), (asynchronous, "generator"), (coroutine, "async"), (Network, "class"), (3, "got 3")],
)
def test_functions_that_cannot_be_compiled_are_refused(function: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        engine.compile(function)


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "eager"])
def test_backends_compute_the_same(backend: str) -> None:
    results = []
    for function in (network_step, engine.compile(network_step, backend=backend)):
        engine.manual_seed(3)
        model = Network()
        adam = optim.Adam(model.parameters())
        x = engine.ones(5, 3)
        results.append([function(model, adam, x).item() for _ in range(4)])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


def network_step(model: nn.Module, adam: optim.Optimizer, x: engine.Tensor) -> engine.Tensor:
    adam.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    adam.step()
    return loss


# -- inside and outside


def test_is_compiling_and_disable() -> None:
    seen: list[bool] = []

    @compiler.disable
    def apart(x: engine.Tensor) -> engine.Tensor:
        seen.append(compiler.is_compiling())
        return x.exp()

    @engine.compile
    def f(x: engine.Tensor) -> engine.Tensor:
        seen.append(compiler.is_compiling())
        return apart(x * 2) + 1

    x = engine.ones(2)
    for _ in range(2):
        np.testing.assert_allclose(f(x).numpy(), ((x * 2).exp() + 1).numpy(), rtol=1e-6)
    assert seen == [True, False] * 2
    assert not compiler.is_compiling()
    assert not compiler.is_exporting()
    assert apart(x).tolist() == x.exp().tolist()
    with pytest.raises(CompileError, match="recursive"):
        compiler.disable(double, recursive=False)


def test_allowed_functions_are_recorded_like_any_other() -> None:
    allowed = compiler.allow_in_graph(double)
    compiled = engine.compile(lambda x: allowed(x) + 1, fullgraph=True)
    assert compiled(engine.ones(2)).tolist() == [3, 3]
    assert allowed.__doc__ == "Twice as much."


def test_reset_removes_traces() -> None:
    f = engine.compile(double)
    f(engine.ones(2))
    assert (f.recorded, f.report.calls) == (1, 1)
    compiler.reset()
    assert (f.recorded, f.report.calls) == (0, 0)
    assert f(engine.ones(2)).tolist() == [2, 2]
    engine.graph_break()  # nothing is recorded here, so nothing happens


def test_nested_and_recursive_calls_are_part_of_the_outer_one() -> None:
    inner = engine.compile(double)

    @engine.compile
    def power(x: engine.Tensor, n: int) -> engine.Tensor:
        return inner(x) if n == 0 else power(x, n - 1) * x

    x = engine.tensor([2.0])
    assert [power(x, n).item() for n in (0, 3, 3, 0)] == [4, 32, 32, 4]
    assert (inner.report.calls, power.report.calls) == (0, 4)
    assert engine.compile(power)(x, 2).item() == 16


def test_copies_and_pickles() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    own = engine.compile(double, fullgraph=True, name="twice")
    for other in (copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert other is not own
        assert (other.function, other.fullgraph, other.name) == (double, True, "twice")
        assert other(engine.ones(1)).item() == 2


# -- modules


def test_compiled_module_keeps_the_interface_of_the_module() -> None:
    engine.manual_seed(0)
    model = Network()
    compiled = engine.compile(model)
    assert isinstance(compiled, nn.Module)
    assert compiled._orig_mod is model
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in model.parameters()]
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    assert repr(compiled).splitlines()[:2] == ["OptimizedModule(", "  (_orig_mod): Network("]
    assert compiled.hidden is model.hidden
    compiled.calls = 5
    assert model.calls == 5
    assert compiled.eval() is compiled
    assert not model.drop.training and not compiled.training
    x = engine.ones(2, 3)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, scale=2.0).detach().numpy(), model(x, 2.0).detach().numpy())
    assert model.calls == 9, "Python runs in each call"
    compiled.train()
    assert model.drop.training
    compiled.load_state_dict(compiled.state_dict())
    with pytest.raises(AttributeError):
        compiled.missing  # noqa: B018


def test_compiled_container_keeps_its_interface() -> None:
    model = engine.compile(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    assert len(model) == 2
    assert model[1] in list(model)
    assert model


def test_a_module_compiled_in_place() -> None:
    model, seen = Network(), []
    expected = list(model.state_dict())
    model.register_forward_hook(lambda *_: seen.append(1))
    assert model.compile(fullgraph=True) is None
    model.compile()
    model.eval()
    assert [model(engine.ones(1, 3)).shape for _ in range(2)] == [(1, 2)] * 2
    assert len(seen) == 2
    assert list(model.state_dict()) == expected
    assert compiler.explain(model)(engine.ones(1, 3)).segments


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("in_place", [True, False])
def test_copies_of_compiled_modules_are_independent(copied: Callable[[Any], Any], in_place: bool) -> None:
    model: Any = Network().eval()
    if in_place:
        model.compile()
    else:
        model = engine.compile(model)
    x = engine.ones(1, 3)
    expected = model(x).tolist()
    other = copied(model)
    with engine.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert model(x).tolist() == [[0, 0]]
    assert other(x).tolist() == other(x).tolist() == expected


# -- threads, and what is kept


def test_threads_share_one_function() -> None:
    """New paths, known paths, breaks and errors at the same time."""

    @engine.compile
    def f(x: engine.Tensor, n: int) -> float:
        y = x
        for i in range(n % 5):
            y = y * 2 + i
        return float(y.sum()) + float((y * x).exp().sum())

    x = [engine.ones(1 + n % 3) * (n % 7) / 7 for n in range(40)]
    expected = [f.function(x[n], n) for n in range(40)]
    wrong: list[Any] = []
    barrier = threading.Barrier(6)

    def work(shift: int) -> None:
        barrier.wait()
        try:
            for round_ in range(5):
                for n in range(40):
                    m = (n * (shift + 1) + round_) % 40
                    found = f(x[m], m)
                    if not np.isclose(found, expected[m], rtol=1e-6):
                        wrong.append((m, found, expected[m]))
        except Exception as error:  # noqa: BLE001 - raised below, in the main thread
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(shift,)) for shift in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    assert f.report.calls == 6 * 5 * 40
    assert sum(one.count for one in f.report.breaks.values()) == 2 * f.report.calls


def test_models_train_in_separate_threads() -> None:
    step = engine.compile(network_step)
    found: dict[int, list[float]] = {}

    def train(number: int) -> None:
        model = models[number]
        adam = optim.Adam(model.parameters(), lr=0.01)
        found[number] = [step(model.eval(), adam, engine.ones(4, 3)).item() for _ in range(20)]

    models = [copy.deepcopy(one) for one in [Network()] * 4]
    workers = [threading.Thread(target=train, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    assert all(losses == found[0] for losses in found.values())


def test_tensor_of_a_running_call_is_refused_in_other_threads() -> None:
    found: list[EngineError] = []

    def read(y: engine.Tensor) -> None:
        try:
            y.tolist()
        except EngineError as error:
            found.append(error)

    @engine.compile
    def f(x: engine.Tensor) -> engine.Tensor:
        y = x * 2
        reader = threading.Thread(target=read, args=(y,))
        reader.start()
        reader.join()
        return y + 1

    for _ in range(2):
        assert f(engine.ones(1)).item() == 3
    assert len(found) == 2
    assert all("another thread" in str(error) for error in found)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_calls_release_their_tensors(fails: bool, fullgraph: bool) -> None:
    """Arrays go with the last tensor, without waiting for the garbage collector."""

    @engine.compile(fullgraph=fullgraph)
    def f(x: engine.Tensor, weight: engine.Tensor) -> engine.Tensor:
        y = (x @ weight).relu()
        if fails:
            raise KeyError("boom")
        found = functional.softmax(y[engine.tensor([0, 1])], -1).sum()
        return found if fullgraph else found + y[y > 0].sum()

    gc.collect()
    gc.disable()
    try:
        for _ in range(4):
            x, weight = engine.ones(3, 3), engine.ones(3, 3)
            kept = [weakref.ref(one) for one in (x, weight, x._array, weight._array)]
            with contextlib.suppress(KeyError):
                result = f(x, weight)
                kept += [weakref.ref(result), weakref.ref(result._array)]
                del result
            del x, weight
            assert [one() for one in kept if one() is not None] == []
    finally:
        gc.enable()
