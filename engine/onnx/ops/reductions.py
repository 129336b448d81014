"""Translators of reductions, sorting and running sums."""

from __future__ import annotations

import math
from typing import Any

from engine.dtypes import bool_, int32, int64
from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.translators import NotExpressible, translates
from engine.ops.shape_rules import Dims, wrap_dims
from engine.shape import Dim, count


def reduce_over(g: GraphBuilder, op_type: str, x: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """Reduce over dimensions; over none, return x."""
    if not dims:
        return x
    return g.op(op_type, x, g.integers(*dims), keepdims=int(keepdim))


def _reduction(name: str, op_type: str) -> None:
    @translates(name)
    def _(g: GraphBuilder, x: Value, dim: Dims, keepdim: bool, dtype: Any = None):
        dims = wrap_dims(name, dim, g.spec(x).ndim)
        return reduce_over(g, op_type, g.cast(x, g.result.dtype), dims, keepdim)


for _name, _op_type in {
    "sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "amax": "ReduceMax", "amin": "ReduceMin",
}.items():  # fmt: skip
    _reduction(_name, _op_type)


def _of_booleans(name: str, op_type: str) -> None:
    @translates(name)
    def _(g: GraphBuilder, x: Value, dim: Dims, keepdim: bool):
        numbers = g.cast(g.cast(x, bool_), int32)
        found = reduce_over(g, op_type, numbers, wrap_dims(name, dim, g.spec(x).ndim), keepdim)
        return g.cast(found, g.result.dtype)


_of_booleans("any", "ReduceMax")
_of_booleans("all", "ReduceMin")


@translates("linalg_vector_norm")
def _(g, x, p: float, dim: Dims, keepdim: bool):
    dims = wrap_dims("norm", dim, g.spec(x).ndim)
    if p in (1, 2):
        return reduce_over(g, f"ReduceL{int(p)}", x, dims, keepdim) if dims else g.op("Abs", x)
    size = g.op("Abs", x)
    if math.isinf(p):
        return reduce_over(g, "ReduceMax" if p > 0 else "ReduceMin", size, dims, keepdim)
    if p == 0:
        nonzero = g.cast(g.op("Greater", size, 0), g.dtype(x))
        return reduce_over(g, "ReduceSum", nonzero, dims, keepdim)
    total = reduce_over(g, "ReduceSum", g.op("Pow", size, float(p)), dims, keepdim)
    return g.op("Pow", total, 1 / p)


@translates("var")
def _(g, x, dim: Dims, keepdim: bool, correction: float):
    spec = g.spec(x)
    dims = wrap_dims("var", dim, spec.ndim)
    centered = g.op("Sub", x, reduce_over(g, "ReduceMean", x, dims, True))
    total = reduce_over(g, "ReduceSum", g.op("Mul", centered, centered), dims, keepdim)
    number: Any = count(spec.shape[axis] for axis in dims)
    if isinstance(number, Dim) and correction != int(correction):
        raise NotExpressible(f"a correction of {correction} for a symbolic size")
    free: Any = number - int(correction) if isinstance(number, Dim) else number - correction
    return g.op("Div", total, free)


def _index(name: str, op_type: str) -> None:
    @translates(name)
    def _(g: GraphBuilder, x: Value, dim: int | None, keepdim: bool):
        spec = g.spec(x)
        if dim is None:
            flat = g.op("ArgMax" if op_type == "ArgMax" else "ArgMin", g.op("Reshape", x, g.integers(-1)), keepdims=0)
            return g.reshape(_described(g, flat, ()), (1,) * spec.ndim) if keepdim else flat
        return g.op(op_type, x, axis=dim, keepdims=int(keepdim))


def _described(g: GraphBuilder, value: Value, shape: tuple[int, ...]) -> Value:
    g.describe(value, g.result.with_shape(shape))
    return value


_index("argmax", "ArgMax")
_index("argmin", "ArgMin")


@translates("max_or_min")
def _(g, x, dim: int, keepdim: bool, largest: bool):
    kind = "Max" if largest else "Min"
    value = reduce_over(g, f"Reduce{kind}", x, (dim % g.spec(x).ndim,), keepdim)
    return value, g.op(f"Arg{kind}", x, axis=dim, keepdims=int(keepdim))


@translates("sort")
def _(g, x, dim: int, descending: bool):
    size = g.size(g.spec(x).shape[dim])
    return _top(g, x, size, dim, descending)


@translates("topk")
def _(g, x, k: int, dim: int, largest: bool):
    return _top(g, x, g.integers(k), dim, largest)


def _top(g: GraphBuilder, x: Value, size: Value, dim: int, largest: bool) -> tuple[Value, Value]:
    values, indices = g.op("TopK", x, size, outputs=2, axis=dim, largest=int(largest), sorted=1)
    return values, indices


@translates("cumsum")
def _(g, x, dim: int, dtype: Any):
    if not g.spec(x).ndim:
        return g.cast(x, g.result.dtype)
    return g.op("CumSum", g.cast(x, g.result.dtype), g.number(dim, int64))


@translates("softmax")
def _(g, x, dim: int, dtype: Any):
    return _softmax(g, "Softmax", x, dim)


@translates("log_softmax")
def _(g, x, dim: int, dtype: Any):
    return _softmax(g, "LogSoftmax", x, dim)


def _softmax(g: GraphBuilder, op_type: str, x: Value, dim: int) -> Value:
    x = g.cast(x, g.result.dtype)
    if g.spec(x).ndim:
        return g.op(op_type, x, axis=dim)
    return g.op("Squeeze", g.op(op_type, g.op("Unsqueeze", x, g.integers(0)), axis=0), g.integers(0))


@translates("searchsorted")
def _(g, edges, x, right: bool):
    ndim = g.spec(edges).ndim
    rows = edges if ndim == 1 else g.op("Unsqueeze", edges, g.integers(ndim - 1))
    below = g.op("LessOrEqual" if right else "Less", rows, g.op("Unsqueeze", x, g.integers(-1)))
    return reduce_over(g, "ReduceSum", g.cast(below, int64), (-1,), False)
