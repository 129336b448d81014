"""A layer of simple recurrent units over all its steps (Elman, 1990)."""

from __future__ import annotations

from typing import Any, Literal

from engine.modes import MODES
from engine.ops.record import op
from engine.ops.recurrent.recurrent_steps import BatchSizes, derived, flat, previous, stepped, steps
from engine.ops.single_thread import single_threaded
from engine.shape import Spec

Nonlinearity = Literal["tanh", "relu"]


def _sample(s: Any) -> Any:
    def call(**statics: Any) -> Any:
        return (s.normal(3, 3, 2), s.normal(3, 2), s.normal(2, 2)), statics

    return [
        call(),
        call(nonlinearity="relu", reverse=True),
        call(batch_sizes=(3, 2, 1)),
        call(batch_sizes=(3, 2, 1), reverse=True),
    ]


@op("other", method=False, outputs=2, sample=_sample)
@single_threaded
def elman_layer(
    xp, gates, h, weight, nonlinearity: Nonlinearity = "tanh", batch_sizes: BatchSizes = None, reverse: bool = False
):
    """h ← f(input + weight · h) over T×N×H inputs, which hold product and biases: all results, and the last."""
    T, N, _ = gates.shape
    turned = xp.ascontiguousarray(weight.T)
    out = xp.zeros(gates.shape, gates.dtype)
    h = h.copy()
    for t, n in steps(T, N, batch_sizes, reverse):
        state = out[t, :n]
        xp.add(gates[t, :n], xp.matmul(h[:n], turned), out=state)
        if nonlinearity == "tanh":
            xp.tanh(state, out=state)
        else:
            xp.maximum(state, 0, out=state)
        h[:n] = state
    return out, h


@elman_layer.shape
def _(gates: Spec, h: Spec, weight: Spec, nonlinearity: Nonlinearity = "tanh", **_: Any):
    return gates, h


@elman_layer.macs
def _(out: Any, gates: Spec, h: Spec, weight: Spec, **_: Any):
    return gates.shape[0] * gates.shape[1] * weight.shape[0] * weight.shape[1]


@elman_layer.gradient
def _(g, gates, h, weight, out0, nonlinearity, batch_sizes, reverse):
    statics = {"nonlinearity": nonlinearity, "batch_sizes": batch_sizes, "reverse": reverse}
    if MODES.grad:
        return derived(_composed, (gates, h, weight), statics, g)
    return elman_layer_backward(out0, h, weight, g[0], g[1], **statics)


def _composed(gates: Any, h: Any, weight: Any, nonlinearity: Nonlinearity, **statics: Any) -> tuple[Any, ...]:
    def cell(at: Any, h: Any) -> tuple[Any]:
        state = at + h @ weight.mT
        return (state.tanh() if nonlinearity == "tanh" else state.relu(),)

    return stepped(cell, gates, (h,), **statics)


def _sample_backward(s: Any) -> Any:
    return [((s.normal(3, 2, 2), s.normal(2, 2), s.normal(2, 2), s.normal(3, 2, 2), s.normal(2, 2)), {})]


@op("other", method=False, outputs=3, sample=_sample_backward)
@single_threaded
def elman_layer_backward(
    xp,
    result,
    h,
    weight,
    of_result=None,
    of_h=None,
    nonlinearity: Nonlinearity = "tanh",
    batch_sizes: BatchSizes = None,
    reverse: bool = False,
):
    """Gradients of `elman_layer`'s inputs by going back through time, from those of its results."""
    T, N, _ = result.shape
    dh = xp.zeros(h.shape, h.dtype) if of_h is None else of_h.copy()
    slopes = xp.zeros(result.shape, result.dtype)
    for t, n in steps(T, N, batch_sizes, not reverse):
        state, d = result[t, :n], slopes[t, :n]
        if nonlinearity == "tanh":
            xp.multiply(state, state, out=d)
            xp.subtract(1, d, out=d)
        else:
            d[...] = state > 0
        d *= dh[:n] if of_result is None else dh[:n] + of_result[t, :n]
        dh[:n] = xp.matmul(d, weight)
    return slopes, dh, xp.matmul(flat(slopes).T, flat(previous(xp, result, h, batch_sizes, reverse)))


@elman_layer_backward.shape
def _(result: Spec, h: Spec, weight: Spec, *_, **__):
    return result, h, weight
