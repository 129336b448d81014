"""Decompositions of batch norm and dropout."""

from __future__ import annotations

from collections.abc import Sequence

from engine.compiler.ir import IRNode, IROperand, IRValue
from engine.compiler.passes.decompose import Decomposition, decomposes
from engine.compiler.passes.decomposition_ops import binary_op, is_native_float, operand, reduce_op, unary_op
from engine.ops.dropout_ops import dropout_mask, dropout_op, masked_scale
from engine.ops.elementwise.arithmetic import add, mul, sub
from engine.ops.elementwise.transcendental import rsqrt
from engine.ops.movement.primitives import reshape
from engine.ops.normalization.batch_norm import batch_norm_op, channel_dot, channel_mix
from engine.ops.record import Op
from engine.ops.reduction.reductions import mean, sum


def _by_channel(parts: Decomposition, op: Op, x: IRValue, channels: IROperand) -> IRValue:
    """`op` of an N×C×P array and one number per channel."""
    assert isinstance(channels, IRValue)
    shape = (1, channels.shape[0], 1)
    return binary_op(parts, op, x, parts.call(reshape, [channels], shape, {"shape": shape}))


def _has_one_float_dtype(node: IRNode) -> bool:
    return is_native_float(node) and all(value.dtype == node.out.dtype for value in node.values)


@decomposes(batch_norm_op)
def _(parts: Decomposition, node: IRNode) -> Sequence[IRValue] | None:
    x, weight, bias = node.inputs
    if not _has_one_float_dtype(node) or not isinstance(x, IRValue):
        return None
    channels = (x.shape[1],)
    means = reduce_op(parts, mean, x, (0, 2))
    centered = binary_op(parts, sub, x, means)
    variance = reduce_op(parts, mean, binary_op(parts, mul, centered, centered), (0, 2))
    inverse_std = unary_op(parts, rsqrt, binary_op(parts, add, variance, operand(node.statics["eps"])))
    scaled = binary_op(parts, mul, centered, inverse_std)
    out = _by_channel(parts, mul, scaled, weight) if isinstance(weight, IRValue) else scaled
    out = _by_channel(parts, add, out, bias) if isinstance(bias, IRValue) else out
    flat = [parts.call(reshape, [one], channels, {"shape": channels}) for one in (means, variance)]
    return out, *flat, scaled


@decomposes(channel_dot)
def _(parts: Decomposition, node: IRNode) -> IRValue | None:
    x, y = node.values[0], node.values[-1]
    if not _has_one_float_dtype(node) or 0 in x.shape:
        return None
    return parts.call(sum, [binary_op(parts, mul, x, y)], node.out.shape, {"dim": (0, 2), "keepdim": False})


@decomposes(channel_mix)
def _(parts: Decomposition, node: IRNode) -> IRValue | None:
    x, y, a, b, c = node.inputs
    if not _has_one_float_dtype(node) or not isinstance(x, IRValue) or not isinstance(y, IRValue):
        return None
    found = binary_op(parts, add, _by_channel(parts, mul, x, a), _by_channel(parts, mul, y, b))
    return _by_channel(parts, add, found, c)


@decomposes(dropout_op)
def _(parts: Decomposition, node: IRNode) -> Sequence[IRValue]:
    (x,) = node.inputs
    keep = parts.call(dropout_mask, [x], node.out.shape, dict(node.statics), node.outputs[1].dtype)
    return parts.call(masked_scale, [x, keep], node.out.shape, {"p": node.statics["p"]}), keep


__all__: list[str] = []
