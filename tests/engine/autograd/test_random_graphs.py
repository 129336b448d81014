"""Random graphs of ops, custom functions, checkpoints and hooks: first and second gradients equal PyTorch's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine

OPS: dict[str, Any] = {
    "mul": lambda lib, x, y: x * y,
    "add": lambda lib, x, y: x + 2 * y,
    "sin": lambda lib, x, y: x.sin() * 0.9,
    "exp": lambda lib, x, y: (0.3 * x).tanh().exp(),
    "div": lambda lib, x, y: x / (1 + y * y),
    "matmul": lambda lib, x, y: (x @ y) * 0.3,
    "sum": lambda lib, x, y: x.sum(0, keepdim=True) * 0.5 + y,
    "view": lambda lib, x, y: x.t() * y,
    "slice": lambda lib, x, y: x[:1] - y,
    "cat": lambda lib, x, y: lib.cat([x[:1], y[1:]]),
    "detach": lambda lib, x, y: x.detach() * y,
}
AROUND = ("plain", "function", "checkpoint", "packed", "in place")


class Step(NamedTuple):
    op: str
    around: str
    left: int
    right: int
    hook: float | None
    retained: bool


STEPS = st.builds(
    Step,
    st.sampled_from(sorted(OPS)),
    st.sampled_from(AROUND),
    st.integers(0, 20),
    st.integers(0, 20),
    st.sampled_from([None, None, 0.5, -1.0]),
    st.booleans(),
)


def function(lib: Any) -> Any:
    """Identity and sine as custom functions."""

    class Wave(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, scale: float) -> Any:
            ctx.save_for_backward(x)
            ctx.scale = scale
            return x.sin() * scale

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x.cos() * ctx.scale, None

    return Wave


def apply(lib: Any, step: Step, x: Any, y: Any, checkpoint: Any) -> Any:
    op = OPS[step.op]
    if step.around == "function":
        return function(lib).apply(op(lib, x, y), 0.7)
    if step.around == "checkpoint":
        return checkpoint(lambda x, y: op(lib, x, y).tanh(), x, y, use_reentrant=False)
    if step.around == "packed":
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            return op(lib, x, y)
    result = op(lib, x, y)
    return (result * 1).mul_(y).add_(0.1) if step.around == "in place" else result


def run(lib: Any, program: list[Step], checkpoint: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    leaves = [lib.tensor(rng.uniform(-1, 1, (2, 2)), requires_grad=True) for _ in range(3)]
    values = list(leaves)
    retained: list[Any] = []
    for step in program:
        x, y = values[step.left % len(values)], values[step.right % len(values)]
        value = apply(lib, step, x, y, checkpoint)
        if value.requires_grad and step.hook is not None:
            factor = step.hook
            value.register_hook(lambda g, factor=factor: g * factor)
        if value.requires_grad and step.retained:
            value.retain_grad()
            retained.append(value)
        values.append(value)
    total = sum((value * value).sum() for value in values[-3:])
    if not total.requires_grad:
        return []
    first = lib.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    slopes = [g for g in first if g is not None and g.requires_grad]
    second = (
        lib.autograd.grad(sum((g * g).sum() for g in slopes), leaves, allow_unused=True, retain_graph=True)
        if slopes
        else []
    )
    for leaf in leaves[1:]:
        leaf.grad = None
    total.backward()
    return [*values, *first, *second, *[tensor.grad for tensor in (*leaves, *retained)]]


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's
@settings(max_examples=150)
@given(st.lists(STEPS, min_size=1, max_size=10))
def test_gradients_equal_pytorch(program: list[Step]) -> None:
    pytest.importorskip("torch")
    import torch  # noqa: PLC0415  (after the skip)
    from torch.utils.checkpoint import checkpoint  # noqa: PLC0415

    actual, expected = run(engine, program, engine.utils.checkpoint.checkpoint), run(torch, program, checkpoint)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)


@settings(max_examples=100)
@given(st.lists(STEPS, min_size=1, max_size=10))
def test_different_backward_calls_give_equal_gradients(program: list[Step]) -> None:
    """Checkpoints, saved tensor hooks, anomaly mode and tracing do not change gradients."""
    plain = [step._replace(around="plain") if step.around == "packed" else step for step in program]

    def at_once(function: Any, *args: Any, use_reentrant: bool) -> Any:
        return function(*args)

    wanted = run(engine, plain, at_once)
    with engine.autograd.detect_anomaly(), engine.inspect.recording():
        found = run(engine, program, engine.utils.checkpoint.checkpoint)
    for a, b in zip(found, wanted, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
