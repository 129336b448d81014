"""A layer of long short-term memory over all its steps (Hochreiter and Schmidhuber, 1997)."""

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
    """T×N×4H inputs to the gates (input, forget, cell, output) and the first states: results, last states, insides.

    `gates` already holds the input's product and both biases. `projection` makes the output of the hidden state
    (Sak et al., arXiv 1402.1128). The insides, for the gradient, are the gates' values and the cells, as
    bytes, which are not differentiable.
    """
    T, N, wide = gates.shape
    H = wide // 4
    # σ(x) = ½ tanh(x/2) + ½: with those gates halved beforehand, one call does all four.
    half = xp.full(wide, 0.5, gates.dtype)
    half[2 * H : 3 * H] = 1
    turned = xp.ascontiguousarray((weight * half[:, None]).T)
    values = xp.zeros(gates.shape, gates.dtype) if batch_sizes else xp.empty(gates.shape, gates.dtype)
    cells = xp.zeros((T, N, H), gates.dtype)
    out = xp.zeros((T, N, h.shape[-1]), gates.dtype)
    h, c = h.copy(), c.copy()
    for t, n in steps(T, N, batch_sizes, reverse):
        v, cell = values[t, :n], cells[t, :n]
        xp.multiply(gates[t, :n], half, out=v)
        v += xp.matmul(h[:n], turned)
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
    return Spec((T, N, h.shape[-1]), gates.dtype), h, c, as_bytes(gates), as_bytes(Spec((T, N, c.shape[-1]), c.dtype))


@lstm_layer.macs
def _(out: Any, gates: Spec, h: Spec, c: Spec, weight: Spec, projection: Spec | None = None, **_: Any):
    own = weight.shape[0] * weight.shape[1]
    return gates.shape[0] * gates.shape[1] * (own if projection is None else own + h.shape[-1] * c.shape[-1])


@lstm_layer.gradient
def _(g, gates, h, c, weight, projection, out0, out3, out4, batch_sizes, reverse):
    statics = {"batch_sizes": batch_sizes, "reverse": reverse}
    if MODES.grad:
        return derived(_composed, (gates, h, c, weight, projection), statics, g[:3])
    found = lstm_layer_backward(out3, out4, out0, h, c, weight, projection, g[0], g[1], g[2], **statics)
    return found if projection is not None else (*found[:4], None)


def _composed(gates: Any, h: Any, c: Any, weight: Any, projection: Any, **statics: Any) -> tuple[Any, ...]:
    return stepped(lambda at, h, c: lstm_cell(at + h @ weight.mT, c, projection), gates, (h, c), **statics)


def lstm_cell(gates: Any, c: Any, projection: Any = None) -> tuple[Any, Any]:
    """One step as a composition: the new output and cell."""
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
    of_result=None,
    of_h=None,
    of_c=None,
    batch_sizes: BatchSizes = None,
    reverse: bool = False,
):
    """Gradients of `lstm_layer`'s inputs by going back through time, from those of its results."""
    values, cells = values.view(h.dtype), cells.view(h.dtype)
    T, N, H = cells.shape
    dh = xp.zeros(h.shape, h.dtype) if of_h is None else of_h.copy()
    dc = xp.zeros(c.shape, c.dtype) if of_c is None else of_c.copy()
    slopes = xp.zeros(values.shape, values.dtype) if batch_sizes else xp.empty(values.shape, values.dtype)
    outputs = None if projection is None else xp.zeros(result.shape, result.dtype)
    before = previous(xp, cells, c, batch_sizes, reverse)
    for t, n in steps(T, N, batch_sizes, not reverse):
        v, d = values[t, :n], slopes[t, :n]
        if of_result is not None:
            dh[:n] += of_result[t, :n]
        hidden = dh[:n]
        if outputs is not None:
            outputs[t, :n] = hidden
            hidden = xp.matmul(hidden, projection)
        squashed = xp.tanh(cells[t, :n])
        i, f, g, o = (v[:, k * H : (k + 1) * H] for k in range(4))
        xp.multiply(hidden, squashed, out=d[:, 3 * H :])
        squashed *= squashed
        xp.subtract(1, squashed, out=squashed)
        squashed *= o
        squashed *= hidden
        cell = dc[:n]
        cell += squashed
        xp.multiply(cell, g, out=d[:, :H])
        xp.multiply(cell, before[t, :n], out=d[:, H : 2 * H])
        xp.multiply(cell, i, out=d[:, 2 * H : 3 * H])
        cell *= f
        slope = 1 - v
        slope *= v
        own = slope[:, 2 * H : 3 * H]
        xp.multiply(g, g, out=own)
        xp.subtract(1, own, out=own)
        d *= slope
        dh[:n] = xp.matmul(d, weight)
    of_weight = xp.matmul(flat(slopes).T, flat(previous(xp, result, h, batch_sizes, reverse)))
    if projection is None:
        return slopes, dh, dc, of_weight, xp.zeros((0, 0), h.dtype)
    hidden = xp.tanh(cells) * values[..., 3 * H :]
    return slopes, dh, dc, of_weight, xp.matmul(flat(outputs).T, flat(hidden))


@lstm_layer_backward.shape
def _(
    values: Spec, cells: Spec, result: Spec, h: Spec, c: Spec, weight: Spec, projection: Spec | None = None, *_, **__
):
    T, N, width = values.shape
    gates = Spec((T, N, width // computed_size(h.dtype)), h.dtype)
    return gates, h, c, weight, Spec((0, 0), h.dtype) if projection is None else projection
