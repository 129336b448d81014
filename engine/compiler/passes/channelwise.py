"""Batch norm and dropout taken apart, as `rowwise` does it with what works on rows."""

from __future__ import annotations

from collections.abc import Sequence

from engine.compiler.graph import Node, Operand, Value
from engine.compiler.passes.parts import applied, fits, joined, operand, reduced
from engine.compiler.passes.split import Parts, splits
from engine.ops.elementwise.arithmetic import add, mul, sub
from engine.ops.elementwise.transcendental import rsqrt
from engine.ops.movement.primitives import reshape
from engine.ops.normalization.batch_norm import channel_dot, channel_mix, normalize_channels
from engine.ops.random import drop, keep_scaled, kept_by_chance
from engine.ops.record import Op
from engine.ops.reduction.reduce import mean, sum


def _by_channel(parts: Parts, op: Op, x: Value, channels: Operand) -> Value:
    """`op` of N×C×P and one number for each channel."""
    assert isinstance(channels, Value)
    shape = (1, channels.shape[0], 1)
    return joined(parts, op, x, parts.call(reshape, [channels], shape, {"shape": shape}))


def _alike(node: Node) -> bool:
    return fits(node) and all(value.dtype == node.out.dtype for value in node.values)


@splits(normalize_channels)
def _(parts: Parts, node: Node) -> Sequence[Value] | None:
    x, weight, bias = node.inputs
    if not _alike(node) or not isinstance(x, Value):
        return None
    channels = (x.shape[1],)
    middle = reduced(parts, mean, x, (0, 2))
    centred = joined(parts, sub, x, middle)
    variance = reduced(parts, mean, joined(parts, mul, centred, centred), (0, 2))
    steep = applied(parts, rsqrt, joined(parts, add, variance, operand(node.statics["eps"])))
    scaled = joined(parts, mul, centred, steep)
    out = _by_channel(parts, mul, scaled, weight) if isinstance(weight, Value) else scaled
    out = _by_channel(parts, add, out, bias) if isinstance(bias, Value) else out
    flat = [parts.call(reshape, [one], channels, {"shape": channels}) for one in (middle, variance)]
    return out, *flat, scaled


@splits(channel_dot)
def _(parts: Parts, node: Node) -> Value | None:
    x, y = node.values[0], node.values[-1]
    if not _alike(node) or 0 in x.shape:
        return None
    return parts.call(sum, [joined(parts, mul, x, y)], node.out.shape, {"dim": (0, 2), "keepdim": False})


@splits(channel_mix)
def _(parts: Parts, node: Node) -> Value | None:
    x, y, a, b, c = node.inputs
    if not _alike(node) or not isinstance(x, Value) or not isinstance(y, Value):
        return None
    found = joined(parts, add, _by_channel(parts, mul, x, a), _by_channel(parts, mul, y, b))
    return _by_channel(parts, add, found, c)


@splits(drop)
def _(parts: Parts, node: Node) -> Sequence[Value]:
    (x,) = node.inputs
    keep = parts.call(kept_by_chance, [x], node.out.shape, dict(node.statics), node.outputs[1].dtype)
    return parts.call(keep_scaled, [x, keep], node.out.shape, {"p": node.statics["p"]}), keep


__all__: list[str] = []
