"""Translators of matrix products and attention."""

from __future__ import annotations

import numpy as np

from engine.dtypes import bool_
from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.ops.reductions import reduce_over
from engine.onnx.translators import translates

_ATTENTION_OPSET = 23


@translates("matmul")
def _(g, x, y):
    return _attention(g, x, y) or g.op("MatMul", x, y)


def _attention(g: GraphBuilder, weights: Value, value: Value) -> Value | None:
    """One ONNX op for attention weights times values, if the opset has it. Masks stay separate: they may be empty."""
    source = g.producer(weights)
    if g.opset < _ATTENTION_OPSET or source is None or source.name != "attention_weights":
        return None
    query, key, mask = (*(g.operand(each) for each in source.inputs), None)[:3]
    if mask is not None or any(g.spec(each).ndim != 4 for each in (query, key, value)):
        return None
    statics = source.statics
    return g.op(
        "Attention", query, key, value, is_causal=int(statics["causal"]), scale=float(statics["scale"]), spec=g.result
    )


@translates("linear")
def _(g, x, weight, bias):
    if g.spec(x).ndim == 2:
        return g.op("Gemm", x, weight, bias, transB=1)
    product = g.op("MatMul", x, g.op("Transpose", weight, perm=[1, 0]))
    return product if bias is None else g.op("Add", product, bias)


@translates("euclidean_dist")
def _(g, x, y):
    rows = g.op("Unsqueeze", x, g.integers(-2))
    difference = g.op("Sub", rows, g.op("Unsqueeze", y, g.integers(-3)))
    return reduce_over(g, "ReduceL2", difference, (-1,), False)


@translates("det")
def _(g, A):
    return g.op("Det", A)


@translates("attention_weights")
def _(g, query, key, mask, scale: float, causal: bool, empty_rows: bool):
    return _weights(g, query, key, mask, scale, causal, empty_rows=empty_rows)


@translates("scaled_dot_product_attention")
def _(g, query, key, value, scale: float, causal: bool):
    weights = _weights(g, query, key, None, scale, causal, empty_rows=False)
    return g.op("Transpose", g.op("MatMul", weights, value), perm=[0, 2, 1, 3]), weights


def _weights(
    g: GraphBuilder, query: Value, key: Value, mask: Value | None, scale: float, causal: bool, *, empty_rows: bool
) -> Value:
    dtype = g.dtype(query)
    ndim = g.spec(key).ndim
    swapped = g.transpose(key, [*range(ndim - 2), ndim - 1, ndim - 2])
    scores = g.op("MatMul", g.op("Mul", query, float(scale)), swapped)
    if mask is not None and g.dtype(mask) == bool_:
        scores = g.op("Where", mask, scores, g.number(-np.inf, dtype))
    elif mask is not None:
        scores = g.op("Add", scores, g.cast(mask, dtype))
    if causal:
        sizes = (g.spec(query).shape[-2], g.spec(key).shape[-2])
        allowed = g.op("Trilu", g.full(sizes, 1, dtype), upper=0)
        scores = g.op("Where", g.cast(allowed, bool_), scores, g.number(-np.inf, dtype))
    weights = g.op("Softmax", scores, axis=-1)
    if mask is None or not empty_rows:
        return weights
    return g.op("Where", g.op("IsNaN", weights), g.number(0, dtype), weights)  # rows without allowed keys
