"""GRU layer over all time steps (Cho et al., arXiv 1406.1078), with PyTorch's reset gate after the product."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.modes import MODES
from engine.ops.record import op
from engine.ops.recurrent.recurrent_steps import (
    BatchSizes,
    composition_gradients,
    previous_states,
    run_cell,
    steps,
)
from engine.ops.row_blocks import as_rows
from engine.ops.shape_rules import bytes_spec, kernel_itemsize
from engine.shape import Spec
from engine.system.blas_threads import single_threaded


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
    """GRU over all time steps.

    Args:
        gates: T×N×3H, input products with bias for the reset, update and new gate
        h: N×H, initial state
        weight: 3H×H
        bias: 3H, bias of the state's product

    Returns:
        the states, T×N×H; the last state, N×H; and for the gradient, as bytes, the gate values, T×N×3H, and the
        state's product for the new gate, T×N×H.
    """
    T, N, width = gates.shape
    H = width // 3
    half = xp.full(width, 0.5, gates.dtype)
    half[2 * H :] = 1
    weight_T = xp.ascontiguousarray((weight * half[:, None]).T)
    scaled_bias = None if bias is None else bias * half
    values, inner = xp.zeros(gates.shape, gates.dtype), xp.zeros((T, N, H), gates.dtype)
    out = xp.zeros((T, N, H), gates.dtype)
    h = h.copy()
    for t, n in steps(T, N, batch_sizes, reverse):
        v = values[t, :n]
        product = xp.matmul(h[:n], weight_T)
        if scaled_bias is not None:
            product += scaled_bias
        inner[t, :n] = product[:, 2 * H :]
        xp.multiply(gates[t, :n], half, out=v)
        v[:, : 2 * H] += product[:, : 2 * H]
        sigmoids = v[:, : 2 * H]
        xp.tanh(sigmoids, out=sigmoids)
        sigmoids *= 0.5
        sigmoids += 0.5
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
    return hidden, h, bytes_spec(gates), bytes_spec(hidden)


@gru_layer.macs
def _(out: Any, gates: Spec, h: Spec, weight: Spec, bias: Spec | None = None, **_: Any):
    return gates.shape[0] * gates.shape[1] * weight.shape[0] * weight.shape[1]


@gru_layer.gradient
def _(g, gates, h, weight, bias, out0, out2, out3, batch_sizes, reverse):
    statics = {"batch_sizes": batch_sizes, "reverse": reverse}
    if MODES.grad:
        return composition_gradients(_composition, (gates, h, weight, bias), statics, g[:2])
    gradients = gru_layer_backward(out2, out3, out0, h, weight, g[0], g[1], **statics)
    return gradients if bias is not None else (*gradients[:3], None)


def _composition(gates: Any, h: Any, weight: Any, bias: Any, **statics: Any) -> tuple[Any, ...]:
    def cell(gates_t: Any, h: Any) -> tuple[Any]:
        product = h @ weight.mT
        return (gru_cell(gates_t, product if bias is None else product + bias, h),)

    return run_cell(cell, gates, (h,), **statics)


def gru_cell(input_gates: Any, state_gates: Any, h: Any) -> Any:
    """One step as a composition: the new state, from the products of input and state with the weights."""
    (r, z, n), (hr, hz, hn) = input_gates.chunk(3, -1), state_gates.chunk(3, -1)
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
    grad_result=None,
    grad_h=None,
    batch_sizes: BatchSizes = None,
    reverse: bool = False,
):
    """Gradients of `gru_layer` for gates, h, weight and bias: backpropagation through time."""
    values, inner = values.view(h.dtype), inner.view(h.dtype)
    T, N, H = inner.shape
    dh = xp.zeros(h.shape, h.dtype) if grad_h is None else grad_h.copy()
    grad_gates = xp.zeros(values.shape, values.dtype)
    grad_products = xp.zeros(values.shape, values.dtype)
    before = previous_states(xp, result, h, batch_sizes, reverse)
    for t, n in steps(T, N, batch_sizes, not reverse):
        v, d = values[t, :n], grad_gates[t, :n]
        r, z, new = (v[:, k * H : (k + 1) * H] for k in range(3))
        hidden = dh[:n]
        if grad_result is not None:
            hidden += grad_result[t, :n]
        slope = 1 - v
        grad_new = d[:, 2 * H :]
        xp.multiply(hidden, slope[:, H : 2 * H], out=grad_new)
        grad_new *= 1 - new * new
        slope *= v
        grad_update = d[:, H : 2 * H]
        xp.subtract(before[t, :n], new, out=grad_update)
        grad_update *= hidden
        grad_update *= slope[:, H : 2 * H]
        grad_reset = d[:, :H]
        xp.multiply(grad_new, inner[t, :n], out=grad_reset)
        grad_reset *= slope[:, :H]
        grad_products[t, :n] = d
        grad_products[t, :n, 2 * H :] *= r
        hidden *= z
        hidden += xp.matmul(grad_products[t, :n], weight)
    rows = as_rows(grad_products)
    return grad_gates, dh, xp.matmul(rows.T, as_rows(before)), rows.sum(axis=0)


@gru_layer_backward.shape
def _(values: Spec, inner: Spec, result: Spec, h: Spec, weight: Spec, *_, **__):
    T, N, width = values.shape
    gates = Spec((T, N, width // kernel_itemsize(h.dtype)), h.dtype)
    return gates, h, weight, Spec(gates.shape[-1:], h.dtype)
