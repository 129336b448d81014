"""A layer of gated recurrent units over all its steps (Cho et al., arXiv 1406.1078), in the form of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.modes import MODES
from engine.ops.record import op
from engine.ops.recurrent.recurrent_steps import (
    BatchSizes,
    as_bytes,
    computed_size,
    derived,
    flat,
    previous,
    stepped,
    steps,
)
from engine.ops.single_thread import single_threaded
from engine.shape import Spec


def _sample(s: Any) -> Any:
    def call(T: int, N: int, H: int, bias: bool, **statics: Any) -> Any:
        arrays = (s.normal(T, N, 3 * H), s.normal(N, H), s.normal(3 * H, H))
        return (*arrays, s.normal(3 * H)) if bias else arrays, statics

    return [
        call(3, 2, 2, True),
        call(3, 2, 2, False, reverse=True),
        call(3, 3, 2, True, batch_sizes=(3, 2, 1)),
        call(3, 3, 2, True, batch_sizes=(3, 2, 1), reverse=True),
    ]


@op("other", method=False, outputs=4, sample=_sample)
@single_threaded
def gru_layer(xp, gates, h, weight, bias=None, batch_sizes: BatchSizes = None, reverse: bool = False):
    """T×N×3H inputs to the gates (reset, update, new) and the first state: results, last state, insides.

    `gates` already holds the input's product and bias; `bias` is the state's. The insides, for the gradient, are the
    gates' values and the state's part of the new one, as bytes, which are not differentiable.
    """
    T, N, wide = gates.shape
    H = wide // 3
    half = xp.full(wide, 0.5, gates.dtype)
    half[2 * H :] = 1
    turned = xp.ascontiguousarray((weight * half[:, None]).T)
    own = None if bias is None else bias * half
    values, inner = xp.zeros(gates.shape, gates.dtype), xp.zeros((T, N, H), gates.dtype)
    out = xp.zeros((T, N, H), gates.dtype)
    h = h.copy()
    for t, n in steps(T, N, batch_sizes, reverse):
        v = values[t, :n]
        product = xp.matmul(h[:n], turned)
        if own is not None:
            product += own
        inner[t, :n] = product[:, 2 * H :]
        xp.multiply(gates[t, :n], half, out=v)
        v[:, : 2 * H] += product[:, : 2 * H]
        switches = v[:, : 2 * H]
        xp.tanh(switches, out=switches)
        switches *= 0.5
        switches += 0.5
        new = v[:, 2 * H :]
        new += v[:, :H] * product[:, 2 * H :]
        xp.tanh(new, out=new)
        state = h[:n]
        state -= new
        state *= v[:, H : 2 * H]
        state += new
        out[t, :n] = state
    return out, h, values.view(xp.uint8), inner.view(xp.uint8)


@gru_layer.shape
def _(
    gates: Spec, h: Spec, weight: Spec, bias: Spec | None = None, batch_sizes: BatchSizes = None, reverse: bool = False
):
    hidden = Spec((*gates.shape[:2], h.shape[-1]), gates.dtype)
    return hidden, h, as_bytes(gates), as_bytes(hidden)


@gru_layer.macs
def _(out: Any, gates: Spec, h: Spec, weight: Spec, bias: Spec | None = None, **_: Any):
    return gates.shape[0] * gates.shape[1] * weight.shape[0] * weight.shape[1]


@gru_layer.gradient
def _(g, gates, h, weight, bias, out0, out2, out3, batch_sizes, reverse):
    statics = {"batch_sizes": batch_sizes, "reverse": reverse}
    if MODES.grad:
        return derived(_composed, (gates, h, weight, bias), statics, g[:2])
    found = gru_layer_backward(out2, out3, out0, h, weight, g[0], g[1], **statics)
    return found if bias is not None else (*found[:3], None)


def _composed(gates: Any, h: Any, weight: Any, bias: Any, **statics: Any) -> tuple[Any, ...]:
    def cell(at: Any, h: Any) -> tuple[Any]:
        product = h @ weight.mT
        return (gru_cell(at, product if bias is None else product + bias, h),)

    return stepped(cell, gates, (h,), **statics)


def gru_cell(of_input: Any, of_state: Any, h: Any) -> Any:
    """One step as a composition: the new state, from the products of input and state with their weights."""
    (r, z, n), (hr, hz, hn) = of_input.chunk(3, -1), of_state.chunk(3, -1)
    new = (n + (r + hr).sigmoid() * hn).tanh()
    return new + (z + hz).sigmoid() * (h - new)


def _sample_backward(s: Any) -> Any:
    T, N, H = 3, 2, 2
    values, inner = (s.normal(T, N, size).view(np.uint8) for size in (3 * H, H))
    arrays = (values, inner, s.normal(T, N, H), s.normal(N, H), s.normal(3 * H, H))
    return [((*arrays, s.normal(T, N, H), s.normal(N, H)), {})]


@op("other", method=False, outputs=4, sample=_sample_backward)
@single_threaded
def gru_layer_backward(
    xp,
    values,
    inner,
    result,
    h,
    weight,
    of_result=None,
    of_h=None,
    batch_sizes: BatchSizes = None,
    reverse: bool = False,
):
    """Gradients of `gru_layer`'s inputs by going back through time, from those of its results."""
    values, inner = values.view(h.dtype), inner.view(h.dtype)
    T, N, H = inner.shape
    dh = xp.zeros(h.shape, h.dtype) if of_h is None else of_h.copy()
    slopes = xp.zeros(values.shape, values.dtype)
    states = xp.zeros(values.shape, values.dtype)
    before = previous(xp, result, h, batch_sizes, reverse)
    for t, n in steps(T, N, batch_sizes, not reverse):
        v, d = values[t, :n], slopes[t, :n]
        r, z, new = (v[:, k * H : (k + 1) * H] for k in range(3))
        hidden = dh[:n]
        if of_result is not None:
            hidden += of_result[t, :n]
        slope = 1 - v
        own = d[:, 2 * H :]
        xp.multiply(hidden, slope[:, H : 2 * H], out=own)
        own *= 1 - new * new
        slope *= v
        update = d[:, H : 2 * H]
        xp.subtract(before[t, :n], new, out=update)
        update *= hidden
        update *= slope[:, H : 2 * H]
        reset = d[:, :H]
        xp.multiply(own, inner[t, :n], out=reset)
        reset *= slope[:, :H]
        states[t, :n] = d
        states[t, :n, 2 * H :] *= r
        hidden *= z
        hidden += xp.matmul(states[t, :n], weight)
    rows = flat(states)
    return slopes, dh, xp.matmul(rows.T, flat(before)), rows.sum(axis=0)


@gru_layer_backward.shape
def _(values: Spec, inner: Spec, result: Spec, h: Spec, weight: Spec, *_, **__):
    T, N, width = values.shape
    gates = Spec((T, N, width // computed_size(h.dtype)), h.dtype)
    return gates, h, weight, Spec(gates.shape[-1:], h.dtype)
