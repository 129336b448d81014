"""Attention as one op of plans, beside eager mode's parts: results, gradients, and where it stays in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.compiler import CompiledFunction
from engine.compiler.ir import IRNode
from engine.nn import functional
from engine.ops.fused_attention import attention_backward, scaled_dot_product_attention_op

CASES = [
    (2, 3, 37, 37, 20, 20, True, np.float32),
    (2, 2, 100, 130, 32, 17, False, np.float32),
    (1, 2, 200, 70, 9, 40, True, np.float64),
    (1, 2, 70, 200, 16, 16, True, np.float32),
    (1, 2, 150, 150, 8, 8, True, np.float32),
]


def tensors(*shapes: tuple[int, ...], dtype: Any = np.float32) -> list[engine.Tensor]:
    draw = np.random.default_rng(0)
    return [engine.tensor(draw.normal(size=shape).astype(dtype), requires_grad=True) for shape in shapes]


def numbers(function: Any, given: list[engine.Tensor]) -> list[Any]:
    for one in given:
        one.grad = None
    found = [function(*given)]
    return [one.detach().numpy().copy() for one in [*found, *(one.grad for one in given)] if one is not None]


def ops_of(compiled: Any, given: list[engine.Tensor]) -> set[str]:
    """Return the ops that the plans run by library kernels."""
    compiled(*given)
    compiled(*given)
    found, waiting = set[str](), [compiled.root_at(None)]
    while waiting:
        node = waiting.pop()
        waiting += node.children.values()
        found |= {step.op.name for plan in node.plans.values() for step in plan.steps if isinstance(step, IRNode)}
    return {name for name in found if "attention" in name}


def agree(function: Any, given: list[engine.Tensor]) -> Any:
    compiled = engine.compile(function)
    for _ in range(3):
        for eager, found in zip(numbers(function, given), numbers(compiled, given), strict=True):
            bound = 1e-5 if eager.dtype == np.float32 else 1e-13
            np.testing.assert_allclose(found, eager, rtol=bound, atol=bound * np.abs(eager).max())
    return compiled


@pytest.mark.parametrize("case", CASES, ids=str)
def test_attention_with_separate_heads(case: Any) -> None:
    batch, heads, length, size, inner, outer, causal, dtype = case

    def step(query: Any, key: Any, value: Any) -> Any:
        out = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        out.square().sum().backward()
        return out

    shapes = [(batch, heads, length, inner), (batch, heads, size, inner), (batch, heads, size, outer)]
    given = tensors(*shapes, dtype=dtype)
    assert ops_of(agree(step, given), given) == {"scaled_dot_product_attention", "attention_backward"}


@pytest.mark.parametrize("scale", [None, -0.7])
def test_attention_with_packed_projection(scale: float | None) -> None:
    def step(x: Any) -> Any:
        query, key, value = x.reshape(2, 65, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        out = functional.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)
        out = out.transpose(1, 2).reshape(2, 65, 16)
        out.square().sum().backward()
        return out

    given = tensors((2, 65, 48))
    assert ops_of(agree(step, given), given) == {"scaled_dot_product_attention", "attention_backward_packed"}


def test_attention_of_one_tensor() -> None:
    def step(x: Any) -> Any:
        out = functional.scaled_dot_product_attention(x, x, x)
        out.square().sum().backward()
        return out

    agree(step, tensors((2, 2, 9, 8)))


def test_attention_with_dropout_or_mask_is_not_fused() -> None:
    def dropped(query: Any, key: Any, value: Any) -> Any:
        return functional.scaled_dot_product_attention(query, key, value, dropout_p=0.5)

    def masked(query: Any, key: Any, value: Any) -> Any:
        mask = engine.ones(5, 5, dtype=engine.bool).tril()
        return functional.scaled_dot_product_attention(query, key, value, mask)

    for function in (dropped, masked):
        given = tensors(*[(1, 2, 5, 4)] * 3)
        assert ops_of(engine.compile(function), given) == {"attention_weights"}


def test_attention_ops_called_directly_with_varying_scale() -> None:
    query, key, value = (engine.tensor(np.random.default_rng(i).normal(size=(2, 2, 5, 4))) for i in range(3))

    def f() -> list[engine.Tensor]:
        out, weights = scaled_dot_product_attention_op(query, key, value, 0.5, causal=True)
        slopes = attention_backward(out.transpose(1, 2), query, key, value, weights, 0.5, 0.25, causal=True)
        return [out, weights, *slopes]

    compiled, eager = CompiledFunction(f), f()
    for _ in range(2):
        for one, other in zip(compiled(), eager, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=0, atol=1e-13)
