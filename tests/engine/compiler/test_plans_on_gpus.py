"""Plans on a GPU. Without a GPU, a fake CuPy runs everything except the machine code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.compiler.explain import explain
from engine.compiler.plan import ExecutionPlan
from engine.nn import functional
from tests.engine import fake_cuda, fake_cupy
from tests.engine.fake_cuda import DEVICES, STAND_IN, needs_compiler

RANDOM = np.random.default_rng(0)


@pytest.fixture
def _fake_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))


@pytest.fixture(params=DEVICES)
def exact(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Results have the CPU's bits, except matrix products. On a real GPU, other ops may differ, too."""
    if request.param == STAND_IN:
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))
    return request.param == STAND_IN


Arrays = dict[str, Any]


def plans(function: Any) -> Iterator[Any]:
    waiting = [*function.roots.values()]
    while waiting:
        trie = waiting.pop()
        yield from trie.plans.values()
        waiting += [one for one in trie.children.values() if hasattr(one, "plans")]


def compiled_on(device: str, function: Callable[..., Any], arrays: Arrays) -> tuple[Any, list[Any]]:
    """The compiled function, and its results in the third call from one state, all on a device."""
    function, found, given = engine.compile(function), (), dict[str, Any]()
    for _ in range(3):
        given = {name: engine.tensor(array).to(device) for name, array in arrays.items()}
        found = function(**given)
        engine.compiler.wait()
    return function, [one.detach().cpu().numpy() for one in (*found, *given.values())]


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


def gradients(x: Any, w: Any, b: Any, scale: Any, y: Any) -> Any:
    """A layer, layer norm, GELU, cross entropy, and all gradients."""
    for one in (x, w, b, scale):
        one.requires_grad_()
    hidden = functional.gelu(functional.layer_norm(functional.linear(x, w, b), (w.shape[0],), scale))
    loss = functional.cross_entropy(hidden, y)
    return loss, *engine.autograd.grad(loss, [x, w, b, scale])


def norms(x: Any, scale: Any, y: Any) -> Any:
    """The same without a product of matrices."""
    for one in (x, scale):
        one.requires_grad_()
    hidden = functional.gelu(functional.layer_norm(x, (x.shape[1],), scale))
    loss = functional.cross_entropy(hidden, y)
    return loss, hidden.softmax(1), *engine.autograd.grad(loss, [x, scale])


def channels(x: Any, scale: Any, mean: Any, variance: Any) -> Any:
    """Batch norm, which writes to inputs, and its gradients."""
    for one in (x, scale):
        one.requires_grad_()
    out = functional.batch_norm(x, mean, variance, scale, training=True).relu()
    return out, *engine.autograd.grad((out * out).sum(), [x, scale])


def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    """A step, written over parameter and state."""
    m.lerp_(g, 0.1)
    v.mul_(0.99).addcmul_(g, g, value=0.01)
    p.addcdiv_(m, v.sqrt() + 1e-8, value=-0.05)
    return (p.norm(),)


def halves(x: Any, y: Any) -> Any:
    """What autocast leaves in float16, and bfloat16."""
    z = functional.relu(x * y + 0.5) - x.exp()
    narrow = (z.bfloat16() * 3).sigmoid()
    return z, narrow.float(), z.amax(1), z.float().sum(0)


def views(x: Any, y: Any) -> Any:
    """Rows, transposed operands, whole numbers and truths."""
    z = x[1:].T.contiguous().exp() @ y.T[:, ::2].contiguous().T
    return z, (z > 1).any(), z.argmax(0), z.to(engine.int64).sum(1), x.cumsum(0)[0] * 2


CASES: dict[str, tuple[Callable[..., Any], Arrays]] = {
    "gradients": (gradients, {"x": normal(70, 20), "w": normal(9, 20), "b": normal(9), "scale": normal(9),
                              "y": RANDOM.integers(0, 9, 70)}),
    "norms": (norms, {"x": normal(130, 40), "scale": normal(40), "y": RANDOM.integers(0, 40, 130)}),
    "channels": (channels, {"x": normal(6, 5, 4, 4), "scale": normal(5), "mean": normal(5),
                            "variance": normal(5) ** 2}),
    "adam": (adam, {name: normal(30, 20) ** 2 for name in "pgmv"}),
    "halves": (halves, {name: normal(70, 33).astype(np.float16) for name in "xy"}),
    "views": (views, {"x": normal(5, 6), "y": normal(8, 7)}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_gpu_plans_match_cpu_plans(case: str, exact: bool) -> None:
    function, there = compiled_on("cuda", *CASES[case])
    _, here = compiled_on("cpu", *CASES[case])
    assert all(isinstance(one, ExecutionPlan) and one.is_fused for one in plans(function))
    assert any(one.kernels for one in plans(function))
    exact &= case not in ("gradients", "views")
    for mine, cpu in zip(there, here, strict=True):
        np.testing.assert_allclose(mine, cpu, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)


def test_gpu_training_matches_cpu_training(exact: bool) -> None:
    def trained(device: str) -> tuple[list[float], Any]:
        engine.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        model = nn.Sequential(*model, nn.Dropout(0.1), nn.Linear(36, 5)).to(device)
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
        random = np.random.default_rng(0)

        @engine.compile
        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        losses = []
        for rows in (16, 16, 16, 7, 16, 7):  # the last batch is smaller
            x = engine.tensor(random.normal(size=(rows, 1, 8, 8)).astype(np.float32)).to(device)
            losses.append(step(x, engine.tensor(random.integers(0, 5, rows)).to(device)).item())
        return losses, step

    there, step = trained("cuda")
    np.testing.assert_allclose(there, trained("cpu")[0], rtol=1e-4)
    assert [one.describe().kind for one in plans(step)] == ["fused"] * 2


@pytest.mark.usefixtures("_fake_cupy")
@needs_compiler
def test_explain_shows_cuda_sources() -> None:
    function = engine.compile(lambda x: (x * 2).exp().sum())
    text = explain(function)(engine.ones(3, 4).to("cuda")).text(source=True)
    assert "kernel 1" in text
    assert "void __launch_bounds__(512) rows0(const Layout0 at, const float* __restrict__ x0" in text


@pytest.mark.usefixtures("_fake_cupy")
def test_gpu_plan_runs_node_by_node_if_nvrtc_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_cuda, "COMPILER", None)
    function = engine.compile(lambda x: (x - 2.75).exp() * 2)
    x = engine.ones(3, 4).to("cuda")
    for _ in range(3):
        assert function(x).cpu().numpy()[0, 0] == np.exp(np.float32(-1.75)) * 2
    (plan,) = plans(function)
    assert plan.describe().kind == "unfused"
    assert "did not compile: there is no g++" in plan.describe().note


@needs_compiler
@pytest.mark.usefixtures("_fake_cupy")
def test_graph_on_several_devices_is_not_fused() -> None:
    function = engine.compile(lambda x, y: ((x * 2).to("cuda") + y).sum())
    for _ in range(3):
        assert function(engine.ones(3), engine.ones(3).to("cuda")).item() == 9
