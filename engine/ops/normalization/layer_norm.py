"""Layer normalisation in one op (Ba et al., arXiv 1607.06450): composed of others it takes four times as long."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import float32
from engine.errors import ShapeError
from engine.modes import MODES
from engine.ops.record import op
from engine.ops.recurrent.steps import as_bytes
from engine.ops.row_blocks import as_rows, row_blocks, row_dots, sums
from engine.shape import Spec, format_shape


@op("other", method=False, outputs=3, sample=lambda s: [
    ((s.normal(4, 5), s.normal(5), s.normal(5)), {"dims": 1, "eps": 1e-5}),
    ((s.normal(2, 3, 2),), {"dims": 2, "eps": 0.1}), ((s.normal(4, 5), s.normal(5)), {"dims": 1, "eps": 1e-5}),
])  # fmt: skip
def normalize_rows(xp, x, weight=None, bias=None, dims: int = 1, eps: float = 1e-5):
    """(x − mean) / √(var + eps) · weight + bias over the last `dims` dimensions; and what the gradient needs.

    That is, as bytes, the quotient and 1 / √(var + eps) of each row.
    """
    dtype, single = x.dtype, x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    rows = as_rows(x.astype(single, copy=False), dims)
    scaled, out = xp.empty(rows.shape, single), xp.empty(rows.shape, single)
    steep = xp.empty((rows.shape[0], 1), single)
    width = rows.shape[1]
    for block in row_blocks(xp, *rows.shape):
        part, result = scaled[block], out[block]
        xp.subtract(rows[block], sums(xp, rows[block]) / width, out=part)
        steep[block] = 1 / xp.sqrt(row_dots(xp, part, part) / width + eps)
        part *= steep[block]
        if weight is None:
            result[...] = part
        else:
            xp.multiply(part, weight.reshape(-1), out=result)
        if bias is not None:
            result += bias.reshape(-1)
    out = out.reshape(x.shape).astype(dtype, copy=False)
    return out, scaled.view(xp.uint8), steep.view(xp.uint8)


@normalize_rows.shape
def _(x: Spec, weight: Any = None, bias: Any = None, dims: int = 1, eps: float = 1e-5):
    own = x.shape[x.ndim - dims :]
    for part in (weight, bias):
        if part is not None and part.shape != own:
            raise ShapeError(
                f"layer_norm over {format_shape(own)} needs weight and bias like that, not {format_shape(part.shape)}"
            )
    width: Any = 1
    for size in own:
        width = width * size
    rows: Any = 1
    for size in x.shape[: x.ndim - dims]:
        rows = rows * size
    item = max(x.dtype.itemsize, 4)
    kind = x if item == x.dtype.itemsize else Spec(x.shape, float32)
    return x, as_bytes(Spec((rows, width), kind.dtype)), as_bytes(Spec((rows, 1), kind.dtype))


@normalize_rows.gradient
def _(g, x, weight, bias: Spec, out1, out2, dims, eps):
    g = g[0]
    if MODES.grad:
        return _composed(g, x, weight, bias, dims, eps)
    of_x, of_weight, of_bias = normalize_rows_slopes(g, out1, out2, weight, dims=dims)
    return of_x, None if weight is None else of_weight, None if bias is None else of_bias


def _composed(g: Any, x: Any, weight: Any, bias: Any, dims: int, eps: float) -> tuple[Any, Any, Any]:
    """The gradient in ops, so that it can be differentiated."""
    over = tuple(range(-dims, 0))
    centred = x - x.mean(over, True)
    steep = ((centred * centred).mean(over, True) + eps).rsqrt()
    scaled = centred * steep
    own = g if weight is None else g * weight
    of_x = (own - own.mean(over, True) - scaled * (own * scaled).mean(over, True)) * steep
    shape = x.shape[x.ndim - dims :]
    return (
        of_x,
        None if weight is None else (g * scaled).sum_to_size(shape),
        None if bias is None else g.sum_to_size(shape),
    )


def _sample_slopes(s: Any) -> Any:
    scaled, steep = (s.normal(*shape).astype(np.float32).view(np.uint8) for shape in ((4, 5), (4, 1)))
    return [((s.normal(4, 5).astype(np.float32), scaled, steep, s.normal(5).astype(np.float32)), {"dims": 1})]


@op("other", method=False, outputs=3, sample=_sample_slopes)
def normalize_rows_slopes(xp, g, scaled, steep, weight=None, dims: int = 1):
    """Gradients of `normalize_rows`' input, weight and bias."""
    dtype, single = g.dtype, g.dtype if g.dtype.itemsize >= 4 else np.dtype(np.float32)
    shape = g.shape
    scaled, steep = scaled.view(single), steep.view(single)
    rows = as_rows(g.astype(single, copy=False), dims)
    width = rows.shape[1]
    of_x = xp.empty(rows.shape, single)
    of_weight, of_bias = xp.zeros((1, width), single), xp.zeros((1, width), single)
    for block in row_blocks(xp, *rows.shape):
        part, unit, out = rows[block], scaled[block], of_x[block]
        product = part * unit
        ones = xp.ones((1, part.shape[0]), single)
        of_weight += xp.matmul(ones, product)
        of_bias += xp.matmul(ones, part)
        if weight is None:
            dots, total = sums(xp, product), sums(xp, part)
            out[...] = part
        else:
            factors = weight.reshape(-1, 1)
            dots, total = xp.matmul(product, factors), xp.matmul(part, factors)
            xp.multiply(part, weight.reshape(-1), out=out)
        xp.multiply(unit, dots / width, out=product)
        product += total / width
        out -= product
        out *= steep[block]
    own = shape[len(shape) - dims :]
    of_x = of_x.reshape(shape).astype(dtype, copy=False)
    return of_x, of_weight.reshape(own).astype(dtype, copy=False), of_bias.reshape(own).astype(dtype, copy=False)


@normalize_rows_slopes.shape
def _(g: Spec, scaled: Spec, steep: Spec, weight: Any = None, dims: int = 1):
    own = g.with_shape(g.shape[g.ndim - dims :])
    return g, own, own
