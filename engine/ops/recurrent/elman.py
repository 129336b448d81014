"""Elman recurrent layer over all time steps (Elman, 1990)."""

from __future__ import annotations

from typing import Any, Literal

from engine.modes import MODES
from engine.ops.record import op
from engine.ops.recurrent.recurrent_steps import BatchSizes, composition_gradients, previous_states, run_cell, steps
from engine.ops.row_blocks import as_rows
from engine.shape import Spec
from engine.system.blas_threads import single_threaded

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
    """h ← f(gates + weight · h) over all time steps.

    Args:
        gates: T×N×H, input products with both biases
        h: N×H, initial state
        weight: H×H

    Returns:
        the states, T×N×H, and the last state, N×H.
    """
    T, N, _ = gates.shape
    weight_T = xp.ascontiguousarray(weight.T)
    out = xp.zeros(gates.shape, gates.dtype)
    h = h.copy()
    for t, n in steps(T, N, batch_sizes, reverse):
        state = out[t, :n]
        xp.add(gates[t, :n], xp.matmul(h[:n], weight_T), out=state)
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
        return composition_gradients(_composition, (gates, h, weight), statics, g)
    return elman_layer_backward(out0, h, weight, g[0], g[1], **statics)


def _composition(gates: Any, h: Any, weight: Any, nonlinearity: Nonlinearity, **statics: Any) -> tuple[Any, ...]:
    def cell(gates_t: Any, h: Any) -> tuple[Any]:
        state = gates_t + h @ weight.mT
        return (state.tanh() if nonlinearity == "tanh" else state.relu(),)

    return run_cell(cell, gates, (h,), **statics)


def _sample_backward(s: Any) -> Any:
    return [((s.normal(3, 2, 2), s.normal(2, 2), s.normal(2, 2), s.normal(3, 2, 2), s.normal(2, 2)), {})]


@op("other", method=False, outputs=3, sample=_sample_backward)
@single_threaded
def elman_layer_backward(
    xp,
    result,
    h,
    weight,
    grad_result=None,
    grad_h=None,
    nonlinearity: Nonlinearity = "tanh",
    batch_sizes: BatchSizes = None,
    reverse: bool = False,
):
    """Gradients of `elman_layer` for gates, h and weight: backpropagation through time."""
    T, N, _ = result.shape
    dh = xp.zeros(h.shape, h.dtype) if grad_h is None else grad_h.copy()
    grad_gates = xp.zeros(result.shape, result.dtype)
    for t, n in steps(T, N, batch_sizes, not reverse):
        state, d = result[t, :n], grad_gates[t, :n]
        if nonlinearity == "tanh":
            xp.multiply(state, state, out=d)
            xp.subtract(1, d, out=d)
        else:
            d[...] = state > 0
        d *= dh[:n] if grad_result is None else dh[:n] + grad_result[t, :n]
        dh[:n] = xp.matmul(d, weight)
    before = previous_states(xp, result, h, batch_sizes, reverse)
    return grad_gates, dh, xp.matmul(as_rows(grad_gates).T, as_rows(before))


@elman_layer_backward.shape
def _(result: Spec, h: Spec, weight: Spec, *_, **__):
    return result, h, weight
