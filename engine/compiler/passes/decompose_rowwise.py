"""Decompositions of softmax, layer norm and cross entropy into elementwise ops and row reductions.

Values that the forward op saves as bytes for its gradient remain available as parts of the forward decomposition.
"""

from __future__ import annotations

import numpy as np

from engine.compiler.instruction import Constant
from engine.compiler.ir import IRNode, IROperand, IRValue
from engine.compiler.passes.decompose import Decomposition, decomposes
from engine.compiler.passes.decomposition_ops import FLOATS, binary_op, is_native_float, operand, reduce_op, unary_op
from engine.dtypes import from_numpy
from engine.ops.cross_entropy import check_class_targets, cross_entropy_backward, cross_entropy_op
from engine.ops.elementwise.arithmetic import add, div, mul, sub
from engine.ops.elementwise.comparison import eq
from engine.ops.elementwise.selection import where_op
from engine.ops.elementwise.transcendental import exp, log, rsqrt
from engine.ops.indexing.index_along import index_along
from engine.ops.movement.primitives import cast, cat, reshape, unsqueeze
from engine.ops.movement.reinterpret import view_dtype
from engine.ops.normalization.layer_norm import layer_norm_backward, layer_norm_op
from engine.ops.record import Op
from engine.ops.reduction.reductions import amax, mean, sum
from engine.ops.softmax import log_softmax, log_softmax_backward, softmax, softmax_backward

# -- softmax


def _exponentials(parts: Decomposition, node: IRNode) -> tuple[IRValue, IRValue, IRValue, tuple[int, ...]] | None:
    """x minus the row maximum, its exponential, and the row sum of that; the dimensions of a row."""
    (x,) = node.values
    if not is_native_float(node) or x.dtype != node.out.dtype or not x.shape:
        return None
    dims = (node.statics["dim"] % len(x.shape),)
    shifted = binary_op(parts, sub, x, reduce_op(parts, amax, x, dims))
    exponentials = unary_op(parts, exp, shifted)
    return shifted, exponentials, reduce_op(parts, sum, exponentials, dims), dims


@decomposes(softmax)
def _(parts: Decomposition, node: IRNode) -> IRValue | None:
    found = _exponentials(parts, node)
    return None if found is None else binary_op(parts, div, found[1], found[2])


@decomposes(log_softmax)
def _(parts: Decomposition, node: IRNode) -> IRValue | None:
    found = _exponentials(parts, node)
    return None if found is None else binary_op(parts, sub, found[0], unary_op(parts, log, found[2]))


@decomposes(softmax_backward)
def _(parts: Decomposition, node: IRNode) -> IRValue | None:
    g, y = node.values[0], node.values[-1]
    if not is_native_float(node) or g.dtype != y.dtype or not g.shape:
        return None
    dot = reduce_op(parts, sum, binary_op(parts, mul, g, y), (node.statics["dim"] % len(g.shape),))
    return binary_op(parts, mul, binary_op(parts, sub, g, dot), y)


@decomposes(log_softmax_backward)
def _(parts: Decomposition, node: IRNode) -> IRValue | None:
    g, y = node.values[0], node.values[-1]
    if not is_native_float(node) or g.dtype != y.dtype or not g.shape:
        return None
    total = reduce_op(parts, sum, g, (node.statics["dim"] % len(g.shape),))
    return binary_op(parts, sub, g, binary_op(parts, mul, unary_op(parts, exp, y), total))


# -- two numbers per row, packed as the bytes that the gradient reads


def _pack(parts: Decomposition, first: IRValue, second: IRValue, rows: int) -> IRValue:
    columns = [parts.call(reshape, [one], (rows, 1), {"shape": (rows, 1)}) for one in (first, second)]
    both = parts.call(cat, columns, (rows, 2), {"dim": 1})
    return _bytes(parts, both)


def _bytes(parts: Decomposition, x: IRValue) -> IRValue:
    shape = (*x.shape[:-1], x.shape[-1] * x.dtype.itemsize)
    return parts.call(view_dtype, [x], shape, {"dtype": "uint8"}, np.dtype(np.uint8))


def _source(value: IROperand, op: Op) -> IRNode | None:
    """The node of `op` that computes a value, if any."""
    node = value.producer if isinstance(value, IRValue) else None
    return node if node is not None and node.op is op else None


def _unpack(value: IROperand) -> list[IRValue] | None:
    """The two values that `_pack` packed; None if the value comes from elsewhere."""
    byte_view = _source(value, view_dtype)
    both = None if byte_view is None else _source(byte_view.inputs[0], cat)
    columns = [] if both is None else [_source(one, reshape) for one in both.inputs]
    found = [column.values[0] for column in columns if column is not None]
    return found if len(found) == 2 else None


# -- layer norm


@decomposes(layer_norm_op)
def _(parts: Decomposition, node: IRNode) -> tuple[IRValue, IRValue] | None:
    x, weight, bias = node.inputs
    if not is_native_float(node) or not isinstance(x, IRValue) or x.dtype != node.out.dtype:
        return None
    first = len(x.shape) - node.statics["dims"]
    dims = tuple(range(first, len(x.shape)))
    means = reduce_op(parts, mean, x, dims)
    centered = binary_op(parts, sub, x, means)
    variance = reduce_op(parts, mean, binary_op(parts, mul, centered, centered), dims)
    inverse_std = unary_op(parts, rsqrt, binary_op(parts, add, variance, operand(node.statics["eps"])))
    out = binary_op(parts, mul, centered, inverse_std)
    out = binary_op(parts, mul, out, weight) if isinstance(weight, IRValue) else out
    out = binary_op(parts, add, out, bias) if isinstance(bias, IRValue) else out
    return out, _pack(parts, means, inverse_std, int(np.prod(x.shape[:first])))


@decomposes(layer_norm_backward, mixed=True)
def _(parts: Decomposition, node: IRNode) -> tuple[IRValue, IRValue, IRValue] | None:
    g, x, moments, weight = node.inputs
    packed = _unpack(moments)
    if (
        packed is None
        or not is_native_float(node)
        or not isinstance(g, IRValue)
        or not isinstance(x, IRValue)
        or x.dtype != g.dtype
    ):
        return None
    first = len(x.shape) - node.statics["dims"]
    rows, dims = tuple(range(first)), tuple(range(first, len(x.shape)))
    means, inverse_std = packed
    scaled = binary_op(parts, mul, binary_op(parts, sub, x, means), inverse_std)
    scaled_grad = binary_op(parts, mul, g, weight) if isinstance(weight, IRValue) else g
    part = binary_op(parts, mul, scaled, reduce_op(parts, mean, binary_op(parts, mul, scaled_grad, scaled), dims))
    rest = binary_op(parts, sub, binary_op(parts, sub, scaled_grad, reduce_op(parts, mean, scaled_grad, dims)), part)
    shape = x.shape[first:]
    over_rows = {"dim": rows, "keepdim": False}
    weight_grad, bias_grad = (
        parts.call(sum, [one], shape, over_rows) if rows else one for one in (binary_op(parts, mul, g, scaled), g)
    )
    return binary_op(parts, mul, rest, inverse_std), weight_grad, bias_grad


# -- cross entropy


@decomposes(cross_entropy_op, mixed=True)
def _(parts: Decomposition, node: IRNode) -> tuple[IRValue, IRValue, IRValue] | None:
    x, target, weight = [*node.inputs, Constant(None)][:3]
    if isinstance(weight, IRValue) or not isinstance(x, IRValue) or not isinstance(target, IRValue):
        return None
    if x.dtype not in FLOATS or x.dtype != node.out.dtype or 0 in x.shape:
        return None  # empty inputs have separate rules
    rows, reduction = x.shape[0], node.statics["reduction"]
    check_statics = {"ignore_index": node.statics["ignore_index"], "count": x.shape[1]}
    checked = parts.call_with_outputs(
        check_class_targets, [target], [((rows,), np.dtype(bool)), ((rows,), np.dtype(np.int64))], check_statics
    )
    counted, classes = checked
    shifted = binary_op(parts, sub, x, reduce_op(parts, amax, x, (1,)))
    exponentials = unary_op(parts, exp, shifted)
    norms = reduce_op(parts, sum, exponentials, (1,))
    class_logits = reduce_op(
        parts, sum, parts.call(where_op, [_one_hot(parts, x, classes), shifted, Constant(0.0)], x.shape), (1,)
    )
    losses = binary_op(parts, sub, unary_op(parts, log, norms), class_logits)
    column = parts.call(unsqueeze, [counted], (rows, 1), {"dim": 1}, np.dtype(bool))
    factors = parts.call(cast, [column], (rows, 1), {"dtype": from_numpy(x.dtype)})
    losses = parts.call(where_op, [column, losses, Constant(0.0)], (rows, 1))
    shares = factors
    if reduction == "none":
        result = parts.call(reshape, [losses], (rows,), {"shape": (rows,)})
    else:
        result = parts.call(sum, [losses], ())
    if reduction == "mean":
        total = parts.call(sum, [factors], ())
        result = binary_op(parts, div, result, total)
        is_empty = parts.call(eq, [total, Constant(0.0)], (), None, np.dtype(bool))
        shares = binary_op(parts, div, factors, parts.call(where_op, [is_empty, Constant(1.0), total], ()))
    return result, _bytes(parts, exponentials), _pack(parts, shares, binary_op(parts, div, shares, norms), rows)


def _one_hot(parts: Decomposition, x: IRValue, classes: IRValue) -> IRValue:
    """True in the column of each row's class."""
    column = parts.call(unsqueeze, [classes], (x.shape[0], 1), {"dim": 1}, np.dtype(np.int64))
    indices = parts.call(index_along, [x], x.shape, {"dim": 1}, np.dtype(np.int64))
    return parts.call(eq, [indices, column], x.shape, None, np.dtype(bool))


@decomposes(cross_entropy_backward, mixed=True)
def _(parts: Decomposition, node: IRNode) -> IRValue | None:
    g, target, exponentials, packed = node.inputs
    byte_view, columns = _source(exponentials, view_dtype), _unpack(packed)
    if (
        byte_view is None
        or columns is None
        or not is_native_float(node)
        or not isinstance(g, IRValue)
        or not isinstance(target, IRValue)
    ):
        return None
    (x,) = byte_view.values
    if x.dtype != g.dtype:
        return None
    rows = x.shape[0]
    check_statics = {"ignore_index": node.statics["ignore_index"], "count": x.shape[1]}
    checked = parts.call_with_outputs(
        check_class_targets, [target], [((rows,), np.dtype(bool)), ((rows,), np.dtype(np.int64))], check_statics
    )
    row_grad = g if not g.shape else parts.call(unsqueeze, [g], (rows, 1), {"dim": 1})
    shares, scale = (binary_op(parts, mul, one, row_grad) for one in columns)
    one_hot = _one_hot(parts, x, checked[1])
    minus = parts.call(where_op, [one_hot, shares, Constant(0.0)], x.shape)
    return binary_op(parts, sub, binary_op(parts, mul, x, scale), minus)


__all__: list[str] = []
