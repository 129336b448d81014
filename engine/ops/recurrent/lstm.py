"""LSTM layer over all time steps (Hochreiter and Schmidhuber, 1997)."""

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
    def call(T: int, N: int, H: int, P: int | None = None, **statics: Any) -> Any:
        arrays = (s.normal(T, N, 4 * H), s.normal(N, P or H), s.normal(N, H), s.normal(4 * H, P or H))
        return (arrays if P is None else (*arrays, s.normal(P, H))), statics

    return [
        call(3, 2, 2),
        call(3, 2, 2, reverse=True),
        call(2, 2, 3, 2),
        call(3, 3, 2, batch_sizes=(3, 2, 1)),
        call(3, 3, 2, batch_sizes=(3, 2, 1), reverse=True),
    ]


@op("other", method=False, outputs=5, sample=_sample)
@single_threaded
def lstm_layer(xp, gates, h, c, weight, projection=None, batch_sizes: BatchSizes = None, reverse: bool = False):
    """LSTM over all time steps.

    Args:
        gates: T×N×4H, input products with both biases for the input, forget, cell and output gate
        h: N×P, initial output; P is H without projection
        c: N×H, initial cell state
        weight: 4H×P
        projection: P×H, projects the hidden state to the output (Sak et al., arXiv 1402.1128)

    Returns:
        the outputs, T×N×P; the last output and cell state; and for the gradient, as bytes, the gate values, T×N×4H,
        and the cell states, T×N×H.
    """
    T, N, width = gates.shape
    H = width // 4
    # σ(x) = ½ tanh(x/2) + ½: if the sigmoid gates are halved first, one call of tanh computes all four.
    half = xp.full(width, 0.5, gates.dtype)
    half[2 * H : 3 * H] = 1
    weight_T = xp.ascontiguousarray((weight * half[:, None]).T)
    values = xp.zeros(gates.shape, gates.dtype) if batch_sizes else xp.empty(gates.shape, gates.dtype)
    cells = xp.zeros((T, N, H), gates.dtype)
    out = xp.zeros((T, N, h.shape[-1]), gates.dtype)
    h, c = h.copy(), c.copy()
    for t, n in steps(T, N, batch_sizes, reverse):
        v, cell = values[t, :n], cells[t, :n]
        xp.multiply(gates[t, :n], half, out=v)
        v += xp.matmul(h[:n], weight_T)
        xp.tanh(v, out=v)
        for part in (v[:, : 2 * H], v[:, 3 * H :]):
            part *= 0.5
            part += 0.5
        xp.multiply(v[:, H : 2 * H], c[:n], out=cell)
        cell += v[:, :H] * v[:, 2 * H : 3 * H]
        c[:n] = cell
        hidden = xp.tanh(cell)
        hidden *= v[:, 3 * H :]
        h[:n] = hidden if projection is None else xp.matmul(hidden, projection.T)
        out[t, :n] = h[:n]
    return out, h, c, values.view(xp.uint8), cells.view(xp.uint8)


@lstm_layer.shape
def _(
    gates: Spec,
    h: Spec,
    c: Spec,
    weight: Spec,
    projection: Spec | None = None,
    batch_sizes: BatchSizes = None,
    reverse: bool = False,
):
    T, N, _ = gates.shape
    result, cells = Spec((T, N, h.shape[-1]), gates.dtype), Spec((T, N, c.shape[-1]), c.dtype)
    return result, h, c, bytes_spec(gates), bytes_spec(cells)


@lstm_layer.macs
def _(out: Any, gates: Spec, h: Spec, c: Spec, weight: Spec, projection: Spec | None = None, **_: Any):
    macs = weight.shape[0] * weight.shape[1]
    return gates.shape[0] * gates.shape[1] * (macs if projection is None else macs + h.shape[-1] * c.shape[-1])


@lstm_layer.gradient
def _(g, gates, h, c, weight, projection, out0, out3, out4, batch_sizes, reverse):
    statics = {"batch_sizes": batch_sizes, "reverse": reverse}
    if MODES.grad:
        return composition_gradients(_composition, (gates, h, c, weight, projection), statics, g[:3])
    gradients = lstm_layer_backward(out3, out4, out0, h, c, weight, projection, g[0], g[1], g[2], **statics)
    return gradients if projection is not None else (*gradients[:4], None)


def _composition(gates: Any, h: Any, c: Any, weight: Any, projection: Any, **statics: Any) -> tuple[Any, ...]:
    return run_cell(lambda gates_t, h, c: lstm_cell(gates_t + h @ weight.mT, c, projection), gates, (h, c), **statics)


def lstm_cell(gates: Any, c: Any, projection: Any = None) -> tuple[Any, Any]:
    """One step as a composition: the new output and cell state."""
    i, f, g, o = gates.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h if projection is None else h @ projection.mT, c


def _sample_backward(s: Any) -> Any:
    T, N, H = 3, 2, 2
    values, cells = (s.normal(T, N, size).view(np.uint8) for size in (4 * H, H))
    arrays = (values, cells, s.normal(T, N, H), s.normal(N, H), s.normal(N, H))
    return [((*arrays, s.normal(4 * H, H), s.normal(H, H), s.normal(T, N, H), s.normal(N, H), s.normal(N, H)), {})]


@op("other", method=False, outputs=5, sample=_sample_backward)
@single_threaded
def lstm_layer_backward(
    xp,
    values,
    cells,
    result,
    h,
    c,
    weight,
    projection=None,
    grad_result=None,
    grad_h=None,
    grad_c=None,
    batch_sizes: BatchSizes = None,
    reverse: bool = False,
):
    """Gradients of `lstm_layer` for gates, h, c, weight and projection: backpropagation through time."""
    values, cells = values.view(h.dtype), cells.view(h.dtype)
    T, N, H = cells.shape
    dh = xp.zeros(h.shape, h.dtype) if grad_h is None else grad_h.copy()
    dc = xp.zeros(c.shape, c.dtype) if grad_c is None else grad_c.copy()
    grad_gates = xp.zeros(values.shape, values.dtype) if batch_sizes else xp.empty(values.shape, values.dtype)
    grad_outputs = None if projection is None else xp.zeros(result.shape, result.dtype)
    before = previous_states(xp, cells, c, batch_sizes, reverse)
    for t, n in steps(T, N, batch_sizes, not reverse):
        v, d = values[t, :n], grad_gates[t, :n]
        if grad_result is not None:
            dh[:n] += grad_result[t, :n]
        hidden = dh[:n]
        if grad_outputs is not None:
            grad_outputs[t, :n] = hidden
            hidden = xp.matmul(hidden, projection)
        tanh_cell = xp.tanh(cells[t, :n])
        i, f, g, o = (v[:, k * H : (k + 1) * H] for k in range(4))
        xp.multiply(hidden, tanh_cell, out=d[:, 3 * H :])
        tanh_cell *= tanh_cell
        xp.subtract(1, tanh_cell, out=tanh_cell)
        tanh_cell *= o
        tanh_cell *= hidden
        grad_cell = dc[:n]
        grad_cell += tanh_cell
        xp.multiply(grad_cell, g, out=d[:, :H])
        xp.multiply(grad_cell, before[t, :n], out=d[:, H : 2 * H])
        xp.multiply(grad_cell, i, out=d[:, 2 * H : 3 * H])
        grad_cell *= f
        slope = 1 - v
        slope *= v
        cell_slope = slope[:, 2 * H : 3 * H]
        xp.multiply(g, g, out=cell_slope)
        xp.subtract(1, cell_slope, out=cell_slope)
        d *= slope
        dh[:n] = xp.matmul(d, weight)
    grad_weight = xp.matmul(as_rows(grad_gates).T, as_rows(previous_states(xp, result, h, batch_sizes, reverse)))
    if projection is None:
        return grad_gates, dh, dc, grad_weight, xp.zeros((0, 0), h.dtype)
    hidden = xp.tanh(cells) * values[..., 3 * H :]
    return grad_gates, dh, dc, grad_weight, xp.matmul(as_rows(grad_outputs).T, as_rows(hidden))


@lstm_layer_backward.shape
def _(
    values: Spec, cells: Spec, result: Spec, h: Spec, c: Spec, weight: Spec, projection: Spec | None = None, *_, **__
):
    T, N, width = values.shape
    gates = Spec((T, N, width // kernel_itemsize(h.dtype)), h.dtype)
    return gates, h, c, weight, Spec((0, 0), h.dtype) if projection is None else projection
