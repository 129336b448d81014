"""Attention as a whole, and its gradients: what plans compute in the place of `attention_weights` and products.

Heads come after positions, as layers around attention have them.
"""

from __future__ import annotations

from typing import Any

from engine.ops.attention_weights import attention_weights
from engine.ops.record import op
from engine.ops.single_thread import products
from engine.ops.softmax import softmax_backward
from engine.shape import Spec


@op("other", method=False, public=False, outputs=2, sample=lambda s: [
    ((s.normal(2, 2, 3, 4), s.normal(2, 2, 5, 4), s.normal(2, 2, 5, 3), 0.5), {"causal": causal})
    for causal in (False, True)
])  # fmt: skip
def scaled_dot_product_attention_op(xp, query, key, value, scale: float, causal: bool = False):
    """B×H×L×E, B×H×S×E and B×H×S×V give B×L×H×V; and the weights, B×H×L×S."""
    weights = attention_weights.kernel(xp, query, key, None, scale=scale, causal=causal)
    return _heads_last(xp, products(xp, weights, value)), weights


@scaled_dot_product_attention_op.shape
def _(query: Spec, key: Spec, value: Spec, scale: float, causal: bool = False):
    batch, heads, length, _ = query.shape
    of_result = (batch, length, heads, value.shape[-1])
    return Spec(of_result, query.dtype), Spec((batch, heads, length, key.shape[2]), query.dtype)


@op("other", method=False, public=False, outputs=3, sample=lambda s: [
    ((s.normal(2, 2, 3, 3), s.normal(2, 2, 3, 4), s.normal(2, 2, 5, 4), s.normal(2, 2, 5, 3), s.normal(2, 2, 3, 5),
      0.5, 0.25), {"causal": False}),
])  # fmt: skip
def attention_backward(xp, g, query, key, value, weights, first: float, second: float, causal: bool = False):
    """Gradients for query, key and value, heads after positions. `first` and `second` are factors of the first two.

    With `causal` the weights of later keys are known to be 0.
    """
    slope = softmax_backward.kernel(xp, products(xp, g, xp.swapaxes(value, -1, -2)), weights, -1)
    of_query = products(xp, slope, key) * first
    of_key = products(xp, xp.swapaxes(slope, -1, -2), query) * second
    of_value = products(xp, xp.swapaxes(weights, -1, -2), g)
    return _heads_last(xp, of_query), _heads_last(xp, of_key), _heads_last(xp, of_value)


@attention_backward.shape
def _(
    g: Spec, query: Spec, key: Spec, value: Spec, weights: Spec, first: float, second: float, causal: bool = False
):  # fmt: skip
    return tuple(Spec(_turned(one.shape), g.dtype) for one in (query, key, value))


@op("other", method=False, public=False, sample=lambda s: [
    ((s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 4), s.normal(2, 2, 3, 3),
      0.5, 0.25), {"causal": False}),
])  # fmt: skip
def attention_backward_packed(xp, g, query, key, value, weights, first: float, second: float, causal: bool = False):
    """The results of `attention_backward` in one array, B×L×3×H×E."""
    return xp.stack(attention_backward.kernel(xp, g, query, key, value, weights, first, second, causal), axis=2)


@attention_backward_packed.shape
def _(
    g: Spec, query: Spec, key: Spec, value: Spec, weights: Spec, first: float, second: float, causal: bool = False
):  # fmt: skip
    batch, heads, length, size = query.shape
    return Spec((batch, length, 3, heads, size), g.dtype)


def _turned(shape: Any) -> Any:
    batch, heads, length, size = shape
    return batch, length, heads, size


def _heads_last(xp: Any, x: Any) -> Any:
    return xp.ascontiguousarray(x.transpose(0, 2, 1, 3))
