"""Translators of normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.ops.reductions import reduce_over
from engine.onnx.translators import translates


@translates("layer_norm")
def _(g, x, weight, bias, dims: int, eps: float):
    spec = g.spec(x)
    if weight is None:
        shape: Any = spec.shape[spec.ndim - dims :]
        weight = g.full(shape, 1, spec.dtype)
    return g.op("LayerNormalization", x, weight, bias, axis=-dims, epsilon=float(eps)), None


@translates("batch_norm")
def _(g, x, weight, bias, eps: float):
    mean = reduce_over(g, "ReduceMean", x, (0, 2), True)
    centered = g.op("Sub", x, mean)
    variance = reduce_over(g, "ReduceMean", g.op("Mul", centered, centered), (0, 2), True)
    scaled = g.op("Div", centered, g.op("Sqrt", g.op("Add", variance, float(eps))))
    out = scaled if weight is None else g.op("Mul", scaled, _column(g, weight))
    out = out if bias is None else g.op("Add", out, _column(g, bias))
    flat = g.integers(-1)
    return out, g.op("Reshape", mean, flat), g.op("Reshape", variance, flat), scaled


def _column(g: GraphBuilder, x: Value) -> Value:
    """One number for each channel of N×C×P."""
    return g.op("Unsqueeze", x, g.integers(-1))


@translates("channel_affine")
def _(g, x, weight, bias):
    scaled = g.op("Mul", x, _column(g, weight))
    return scaled if bias is None else g.op("Add", scaled, _column(g, bias))


@translates("channel_dot")
def _(g, x, y):
    return reduce_over(g, "ReduceSum", g.op("Mul", x, y), (0, 2), False)


@translates("channel_mix")
def _(g, x, y, a, b, c):
    weighted = g.op("Add", g.op("Mul", x, _column(g, a)), g.op("Mul", y, _column(g, b)))
    return g.op("Add", weighted, _column(g, c))


def vector(g: GraphBuilder, size: int, like: Value, number: float) -> Value:
    """A vector of one number, in the dtype of another value."""
    return g.constant(np.full(size, number, g.dtype(like).numpy))
