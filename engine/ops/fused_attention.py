"""Attention and its gradients as single ops, which plans use instead of `attention_weights` and matrix products.

Results have the heads after the positions, B×L×H×E, as the neighboring linear layers use them.
"""

from __future__ import annotations

from typing import Any

from engine.ops.attention_weights import attention_weights
from engine.ops.matrix_products import matrix_product
from engine.ops.record import op
from engine.ops.softmax import softmax_backward
from engine.shape import Spec


@op("other", method=False, public=False, outputs=2, sample=lambda s: [
    ((s.normal(2, 2, 3, 4), s.normal(2, 2, 5, 4), s.normal(2, 2, 5, 3), 0.5), {"causal": causal})
    for causal in (False, True)
])  # fmt: skip
def scaled_dot_product_attention_op(xp, query, key, value, scale: float, causal: bool = False):
    """softmax(scale · query · keyᵀ) · value.

    Args:
        query: B×H×L×E
        key: B×H×S×E
        value: B×H×S×V
        causal: query i attends to keys j ≤ i only

    Returns:
        the result, B×L×H×V, and the attention weights, B×H×L×S.
    """
    weights = attention_weights.kernel(xp, query, key, None, scale=scale, causal=causal)
    return _swap_heads(xp, matrix_product(xp, weights, value)), weights


@scaled_dot_product_attention_op.shape
def _(query: Spec, key: Spec, value: Spec, scale: float, causal: bool = False):
    batch, heads, length, _ = query.shape
    result = (batch, length, heads, value.shape[-1])
    return Spec(result, query.dtype), Spec((batch, heads, length, key.shape[2]), query.dtype)


@op("other", method=False, public=False, outputs=3, sample=lambda s: [
    ((s.normal(2, 2, 3, 3), s.normal(2, 2, 3, 4), s.normal(2, 2, 5, 4), s.normal(2, 2, 5, 3), s.normal(2, 2, 3, 5),
      0.5, 0.25), {"causal": False}),
])  # fmt: skip
def attention_backward(xp, g, query, key, value, weights, first: float, second: float, causal: bool = False):
    """Gradients for query, key and value, with the heads after the positions.

    Args:
        first: factor of the query gradient
        second: factor of the key gradient
        causal: kernels may skip the weights of later keys, which are 0
    """
    grad_scores = softmax_backward.kernel(xp, matrix_product(xp, g, xp.swapaxes(value, -1, -2)), weights, -1)
    grad_query = matrix_product(xp, grad_scores, key) * first
    grad_key = matrix_product(xp, xp.swapaxes(grad_scores, -1, -2), query) * second
    grad_value = matrix_product(xp, xp.swapaxes(weights, -1, -2), g)
    return _swap_heads(xp, grad_query), _swap_heads(xp, grad_key), _swap_heads(xp, grad_value)


@attention_backward.shape
def _(
    g: Spec, query: Spec, key: Spec, value: Spec, weights: Spec, first: float, second: float, causal: bool = False
):  # fmt: skip
    return tuple(Spec(_swapped_shape(spec.shape), g.dtype) for spec in (query, key, value))


@op("other", method=False, public=False, sample=lambda s: [
    ((s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 3),
      0.5, 0.25), {"causal": False}),
])  # fmt: skip
def attention_backward_packed(xp, g, query, key, value, weights, first: float, second: float, causal: bool = False):
    """Results of `attention_backward` in one array, B×L×3×H×E."""
    return xp.stack(attention_backward.kernel(xp, g, query, key, value, weights, first, second, causal), axis=2)


@attention_backward_packed.shape
def _(
    g: Spec, query: Spec, key: Spec, value: Spec, weights: Spec, first: float, second: float, causal: bool = False
):  # fmt: skip
    batch, heads, length, size = query.shape
    return Spec((batch, length, 3, heads, size), g.dtype)


def _swapped_shape(shape: Any) -> Any:
    batch, heads, length, size = shape
    return batch, length, heads, size


def _swap_heads(xp: Any, x: Any) -> Any:
    """B×H×L×E as contiguous B×L×H×E."""
    return xp.ascontiguousarray(x.transpose(0, 2, 1, 3))
