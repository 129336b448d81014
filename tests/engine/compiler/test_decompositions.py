"""Ops that are taken apart give eager mode's numbers and gradients, node by node and in kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine.compiler import compile
from engine.compiler.instruction import TraceNode
from engine.compiler.ir import IRNode
from engine.compiler.passes.decompose import DECOMPOSITIONS
from engine.compiler.plan.execution_plan import ExecutionPlan
from engine.errors import IndexRangeError
from engine.nn import functional as F

RANDOM = np.random.default_rng(0)
WEIGHTS = engine.tensor(RANDOM.normal(size=(32, 10)))


def normal(*shape: int) -> Any:
    return RANDOM.normal(size=shape)


def weighted(out: Any) -> Any:
    return out * WEIGHTS.to(out.dtype).reshape(-1)[: out.numel()].reshape(out.shape)


X, W, B, Y = normal(32, 10), normal(10), normal(10), RANDOM.integers(0, 10, 32)
IGNORED = np.where(Y == 3, -100, Y)
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (lambda x: F.softmax(x, 1), (X,)),
    "softmax of columns": (lambda x: F.softmax(x * 40, 0), (X,)),
    "log_softmax": (lambda x: F.log_softmax(x, -1), (X,)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (10,), w, b), (X, W, B)),
    "layer_norm of two": (lambda x: F.layer_norm(x, (5, 4)), (normal(6, 5, 4),)),
    "cross_entropy": (F.cross_entropy, (X * 30, Y)),
    "cross_entropy ignoring": (lambda x, y: F.cross_entropy(x, y, reduction="sum"), (X, IGNORED)),
    "cross_entropy of each": (lambda x, y: F.cross_entropy(x, y, reduction="none"), (X, IGNORED)),
    "batch_norm": (lambda x, w, b: F.relu(F.batch_norm(x, None, None, w, b, True)), (X, W, B)),
    "batch_norm of images": (
        lambda x, w: F.relu(F.batch_norm(x, None, None, w, None, True)), (normal(2, 3, 5, 7), normal(3)),
    ),
    "gelu": (F.gelu, (X,)),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), (X,)),
}  # fmt: skip


def plans(node: TraceNode) -> Iterator[Any]:
    yield from node.plans.values()
    for child in node.children.values():
        if isinstance(child, TraceNode):
            yield from plans(child)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", list(CASES))
def test_decompositions_match_eager_mode(name: str, dtype: Any) -> None:
    function, arrays = CASES[name]
    arrays = [array.astype(dtype) if array.dtype.kind == "f" else array for array in arrays]

    def step(*tensors: Any) -> Any:
        out = function(*tensors)
        weighted(out).sum().backward()
        return out

    def run(called: Any) -> list[Any]:
        tensors: list[Any] = [engine.tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
        out = called(*tensors)
        return [out.detach().numpy(), *(one.grad.numpy() for one in tensors if one.requires_grad)]

    expected, compiled = run(step), compile(step)
    found = [run(compiled), run(compiled)]
    made = list(plans(compiled.root_at(None)))
    assert made
    for plan in made:
        assert isinstance(plan, ExecutionPlan), plan
        plan.wait()
        left = {one.op for one in plan.steps if isinstance(one, IRNode)}
        assert not left & set(DECOMPOSITIONS), "an op stayed whole"
    found.append(run(compiled))
    bound = 2e-5 if dtype == np.float32 else 1e-12
    for numbers in found:
        for ours, theirs in zip(numbers, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound * np.abs(theirs).max(initial=1))


def test_invalid_class_index_is_refused() -> None:
    compiled = compile(F.cross_entropy)
    x = engine.tensor(X)
    for _ in range(3):
        compiled(x, engine.tensor(Y))
    with pytest.raises(IndexRangeError, match="10 is not one of the 10 classes"):
        compiled(x, engine.tensor(np.where(Y == 3, 10, Y)))


def test_dropout_matches_eager_mode() -> None:
    def step(x: Any) -> Any:
        engine.manual_seed(3)
        return F.dropout(F.relu(x), 0.3)

    x, compiled = engine.tensor(X), compile(step)
    expected = step(x).numpy()
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x).numpy(), expected)
