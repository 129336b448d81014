"""Layer normalization as one op (Ba et al., arXiv 1607.06450). A composition takes four times as long."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import float32
from engine.errors import ShapeError
from engine.modes import MODES
from engine.ops.matrix_products import matrix_product
from engine.ops.record import op
from engine.ops.row_blocks import as_rows, block_rows, row_blocks, row_dots, scratch, sums
from engine.ops.shape_rules import bytes_spec
from engine.shape import Spec, format_shape


@op("other", method=False, outputs=2, sample=lambda s: [
    ((s.normal(4, 5), s.normal(5), s.normal(5)), {"dims": 1, "eps": 1e-5}),
    ((s.normal(2, 3, 2),), {"dims": 2, "eps": 0.1}), ((s.normal(4, 5), s.normal(5)), {"dims": 1, "eps": 1e-5}),
])  # fmt: skip
def layer_norm_op(xp, x, weight=None, bias=None, dims: int = 1, eps: float = 1e-5):
    """(x − mean) / √(var + eps) · weight + bias over the last `dims` dimensions.

    Returns:
        the result; and for the gradient, as bytes, mean and 1 / √(var + eps) of each row.
    """
    dtype, compute_dtype = x.dtype, x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    source, out = as_rows(x.astype(compute_dtype, copy=False), dims), xp.empty(x.shape, compute_dtype)
    rows, width = source.shape
    target, moments = as_rows(out, dims), xp.empty((rows, 2), compute_dtype)
    factors, offsets = (_repeat_row(xp, part, rows, width, compute_dtype) for part in (weight, bias))
    for block in row_blocks(xp, rows, width):
        part, mean, inv_std = target[block], moments[block, :1], moments[block, 1:]
        mean[...] = sums(xp, source[block]) / width
        part[...] = mean  # subtracting an array of the same shape takes half the time of broadcasting
        xp.subtract(source[block], part, out=part)
        inv_std[...] = 1 / xp.sqrt(row_dots(xp, part, part) / width + eps)
        part *= inv_std
        if factors is not None:
            part *= factors[: part.shape[0]]
        if offsets is not None:
            part += offsets[: part.shape[0]]
    return out.astype(dtype, copy=False), moments.view(xp.uint8)


def _repeat_row(xp: Any, row: Any, rows: int, width: int, dtype: Any) -> Any:
    """`row` repeated for each row of a block. Broadcasting it in each block takes NumPy twice as long."""
    if row is None:
        return None
    block = xp.broadcast_to(row.reshape(1, width), (block_rows(xp, rows, width), width))
    return block.astype(dtype, "C", copy=True) if xp is np else block


@layer_norm_op.shape
def _(x: Spec, weight: Any = None, bias: Any = None, dims: int = 1, eps: float = 1e-5):
    normalized_shape = x.shape[x.ndim - dims :]
    for part in (weight, bias):
        if part is not None and part.shape != normalized_shape:
            raise ShapeError(
                f"layer_norm: weight and bias must have the normalized shape {format_shape(normalized_shape)}, "
                f"not {format_shape(part.shape)}"
            )
    rows: Any = 1
    for size in x.shape[: x.ndim - dims]:
        rows = rows * size
    return x, bytes_spec(Spec((rows, 2), x.dtype if x.dtype.itemsize >= 4 else float32))


@layer_norm_op.gradient
def _(g, x, weight, bias: Spec, out1, dims, eps):
    g = g[0]
    if MODES.grad:
        return _composition(g, x, weight, bias, dims, eps)
    grad_x, grad_weight, grad_bias = layer_norm_backward(g, x, out1, weight, dims=dims)
    return grad_x, None if weight is None else grad_weight, None if bias is None else grad_bias


def _composition(g: Any, x: Any, weight: Any, bias: Any, dims: int, eps: float) -> tuple[Any, Any, Any]:
    """The gradients as a composition, so that they are differentiable."""
    axes = tuple(range(-dims, 0))
    centered = x - x.mean(axes, True)
    inv_std = ((centered * centered).mean(axes, True) + eps).rsqrt()
    scaled = centered * inv_std
    weighted = g if weight is None else g * weight
    projection = scaled * (weighted * scaled).mean(axes, True)
    grad_x = (weighted - weighted.mean(axes, True) - projection) * inv_std
    shape = x.shape[x.ndim - dims :]
    return (
        grad_x,
        None if weight is None else (g * scaled).sum_to_size(shape),
        None if bias is None else g.sum_to_size(shape),
    )


def _sample_backward(s: Any) -> Any:
    moments = s.normal(4, 2).view(np.uint8)
    return [((s.normal(4, 5), s.normal(4, 5), moments, s.normal(5)), {"dims": 1})] if s.dtype == np.float64 else []


@op("other", method=False, outputs=3, sample=_sample_backward)
def layer_norm_backward(xp, g, x, moments, weight=None, dims: int = 1):
    """Gradients of `layer_norm` for input, weight and bias."""
    dtype, compute_dtype = g.dtype, g.dtype if g.dtype.itemsize >= 4 else np.dtype(np.float32)
    grads, source = (as_rows(part.astype(compute_dtype, copy=False), dims) for part in (g, x))
    rows, width = grads.shape
    grad_x, moments = xp.empty(g.shape, compute_dtype), moments.view(compute_dtype)
    target, step = as_rows(grad_x, dims), block_rows(xp, rows, width)
    factors = _repeat_row(xp, weight, rows, width, compute_dtype)
    temporaries = [scratch(xp, rows, width, compute_dtype) for _ in range(2)]
    ones = xp.ones((1, step), compute_dtype)
    grad_weight, grad_bias = xp.zeros((1, width), compute_dtype), xp.zeros((1, width), compute_dtype)
    for block in row_blocks(xp, rows, width):
        part, mean, inv_std = target[block], moments[block, :1], moments[block, 1:]
        size = part.shape[0]
        centered, product = (temporary[:size] for temporary in temporaries)
        part[...], centered[...] = grads[block], source[block]
        centered -= mean
        grad_bias += matrix_product(xp, ones[:, :size], part)
        part *= inv_std
        if factors is not None:
            xp.multiply(part, centered, out=product)
            grad_weight += matrix_product(xp, ones[:, :size], product)
            part *= factors[:size]
        total = sums(xp, part) / width
        centered *= row_dots(xp, part, centered) * (inv_std * inv_std / width)
        centered += total
        part -= centered
    grad_weight, grad_bias = (part.reshape(g.shape[g.ndim - dims :]) for part in (grad_weight, grad_bias))
    return tuple(part.astype(dtype, copy=False) for part in (grad_x, grad_weight, grad_bias))


@layer_norm_backward.shape
def _(g: Spec, x: Spec, moments: Spec, weight: Any = None, dims: int = 1):
    normalized_shape = g.with_shape(g.shape[g.ndim - dims :])
    return g, normalized_shape, normalized_shape
