"""Layer normalization in one op (Ba et al., arXiv 1607.06450): composed of others it takes four times as long."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import float32
from engine.errors import ShapeError
from engine.modes import MODES
from engine.ops.record import op
from engine.ops.recurrent.recurrent_steps import as_bytes
from engine.ops.row_blocks import as_rows, block_rows, row_blocks, row_dots, scratch, sums
from engine.shape import Spec, format_shape


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.normal(4, 5), s.normal(5), s.normal(5)), {"dims": 1, "eps": 1e-5}),
    ((s.normal(2, 3, 2),), {"dims": 2, "eps": 0.1}), ((s.normal(4, 5), s.normal(5)), {"dims": 1, "eps": 1e-5}),
])  # fmt: skip
def layer_norm_op(xp, x, weight=None, bias=None, dims: int = 1, eps: float = 1e-5):
    """(x − mean) / √(var + eps) · weight + bias over the last `dims` dimensions; and what the gradient needs.

    That is, as bytes, mean and 1 / √(var + eps) of each row.
    """
    dtype, single = x.dtype, x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    source, out = as_rows(x.astype(single, copy=False), dims), xp.empty(x.shape, single)
    rows, width = source.shape
    target, moments = as_rows(out, dims), xp.empty((rows, 2), single)
    factors, terms = (_repeated(xp, part, rows, width, single) for part in (weight, bias))
    for block in row_blocks(xp, rows, width):
        part, mean, steep = target[block], moments[block, :1], moments[block, 1:]
        mean[...] = sums(xp, source[block]) / width
        part[...] = mean  # NumPy subtracts in place in half of the time
        xp.subtract(source[block], part, out=part)
        steep[...] = 1 / xp.sqrt(row_dots(xp, part, part) / width + eps)
        part *= steep
        if factors is not None:
            part *= factors[: part.shape[0]]
        if terms is not None:
            part += terms[: part.shape[0]]
    return out.astype(dtype, copy=False), moments.view(xp.uint8)


def _repeated(xp: Any, row: Any, rows: int, width: int, dtype: Any) -> Any:
    """A row for each one of a block; NumPy takes twice as long to broadcast it each time."""
    if row is None:
        return None
    wide = xp.broadcast_to(row.reshape(1, width), (block_rows(xp, rows, width), width))
    return wide.astype(dtype, "C", copy=True) if xp is np else wide


@layer_norm_op.shape
def _(x: Spec, weight: Any = None, bias: Any = None, dims: int = 1, eps: float = 1e-5):
    own = x.shape[x.ndim - dims :]
    for part in (weight, bias):
        if part is not None and part.shape != own:
            raise ShapeError(
                f"layer_norm over {format_shape(own)} needs weight and bias like that, not {format_shape(part.shape)}"
            )
    rows: Any = 1
    for size in x.shape[: x.ndim - dims]:
        rows = rows * size
    return x, as_bytes(Spec((rows, 2), x.dtype if x.dtype.itemsize >= 4 else float32))


@layer_norm_op.gradient
def _(g, x, weight, bias: Spec, out1, dims, eps):
    g = g[0]
    if MODES.grad:
        return _composed(g, x, weight, bias, dims, eps)
    of_x, of_weight, of_bias = layer_norm_backward(g, x, out1, weight, dims=dims)
    return of_x, None if weight is None else of_weight, None if bias is None else of_bias


def _composed(g: Any, x: Any, weight: Any, bias: Any, dims: int, eps: float) -> tuple[Any, Any, Any]:
    """The gradient in ops, so that it can be differentiated."""
    over = tuple(range(-dims, 0))
    centered = x - x.mean(over, True)
    steep = ((centered * centered).mean(over, True) + eps).rsqrt()
    scaled = centered * steep
    own = g if weight is None else g * weight
    of_x = (own - own.mean(over, True) - scaled * (own * scaled).mean(over, True)) * steep
    shape = x.shape[x.ndim - dims :]
    return (
        of_x,
        None if weight is None else (g * scaled).sum_to_size(shape),
        None if bias is None else g.sum_to_size(shape),
    )


def _sample_backward(s: Any) -> Any:
    moments = s.normal(4, 2).view(np.uint8)
    return [((s.normal(4, 5), s.normal(4, 5), moments, s.normal(5)), {"dims": 1})] if s.dtype == np.float64 else []


@op("other", method=False, outputs=3, sample=_sample_backward)
def layer_norm_backward(xp, g, x, moments, weight=None, dims: int = 1):
    """Gradients of `layer_norm`' input, weight and bias."""
    dtype, single = g.dtype, g.dtype if g.dtype.itemsize >= 4 else np.dtype(np.float32)
    grads, source = (as_rows(part.astype(single, copy=False), dims) for part in (g, x))
    rows, width = grads.shape
    out, moments = xp.empty(g.shape, single), moments.view(single)
    target, step = as_rows(out, dims), block_rows(xp, rows, width)
    factors = _repeated(xp, weight, rows, width, single)
    memory = [scratch(xp, rows, width, single) for _ in range(2)]
    ones, of_weight, of_bias = xp.ones((1, step), single), xp.zeros((1, width), single), xp.zeros((1, width), single)
    for block in row_blocks(xp, rows, width):
        part, mean, steep = target[block], moments[block, :1], moments[block, 1:]
        size = part.shape[0]
        centered, product = (one[:size] for one in memory)
        part[...], centered[...] = grads[block], source[block]
        centered -= mean
        of_bias += xp.matmul(ones[:, :size], part)
        part *= steep
        if factors is not None:
            xp.multiply(part, centered, out=product)
            of_weight += xp.matmul(ones[:, :size], product)
            part *= factors[:size]
        total = sums(xp, part) / width
        centered *= row_dots(xp, part, centered) * (steep * steep / width)
        centered += total
        part -= centered
    of_weight, of_bias = (part.reshape(g.shape[g.ndim - dims :]) for part in (of_weight, of_bias))
    return tuple(part.astype(dtype, copy=False) for part in (out, of_weight, of_bias))


@layer_norm_backward.shape
def _(g: Spec, x: Spec, moments: Spec, weight: Any = None, dims: int = 1):
    own = g.with_shape(g.shape[g.ndim - dims :])
    return g, own, own
