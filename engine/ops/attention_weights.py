"""Attention weights: masked softmax of scaled query-key products, as one op that stores the scores once."""

from __future__ import annotations

from typing import Any

from engine.errors import DTypeError, ShapeError
from engine.ops.matrix_products import matrix_product
from engine.ops.record import op
from engine.ops.row_blocks import as_rows, row_blocks, sums
from engine.ops.shape_rules import broadcast_shapes, same_dtype
from engine.ops.softmax import softmax_backward
from engine.shape import Spec, count, format_shape


@op("other", method=False, sample=lambda s: [
    ((s.normal(2, 3, 4), s.normal(2, 5, 4)), {"scale": 0.5}),
    ((s.normal(2, 3, 4), s.normal(2, 5, 4), s.normal(3, 5)), {"scale": 0.5}),
    ((s.normal(2, 3, 4), s.normal(5, 4)), {"scale": 0.5, "causal": True}),
    ((s.normal(2, 3, 4), s.normal(2, 5, 4), s.integers(2, 2, 1, 5) > 0), {"scale": 0.5}),
])  # fmt: skip
def attention_weights(xp, query, key, mask=None, scale: float = 1.0, causal: bool = False, empty_rows: bool = True):
    """softmax(scale · query · keyᵀ + mask) over the keys (Vaswani et al., arXiv 1706.03762).

    Args:
        query: …×L×E
        key: …×S×E
        mask: broadcasts to …×L×S; boolean, true where attention is allowed, or floating point, added to the scores
        causal: query i attends to keys j ≤ i only
        empty_rows: a query without allowed keys has weights 0 instead of NaN

    Returns:
        weights, …×L×S.
    """
    dtype = query.dtype
    if dtype.itemsize < 4:
        query, key = query.astype(xp.float32), key.astype(xp.float32)
    scores = xp.ascontiguousarray(matrix_product(xp, query * scale, xp.swapaxes(key, -1, -2)))
    if mask is not None:
        scores = _masked(xp, scores, mask)
    if causal:
        allowed = xp.tri(*scores.shape[-2:], dtype=bool)
        xp.copyto(scores, -xp.inf, where=xp.broadcast_to(~allowed, scores.shape))
    if scores.size:
        rows = as_rows(scores)
        for block in row_blocks(xp, *rows.shape):
            _normalized(xp, rows[block], empty_rows)
    return scores if scores.dtype == dtype else scores.astype(dtype)


def _masked(xp: Any, scores: Any, mask: Any) -> Any:
    if mask.dtype == bool:
        xp.copyto(scores, -xp.inf, where=xp.broadcast_to(~mask, scores.shape))
        return scores
    scores += mask
    return scores


def _normalized(xp: Any, rows: Any, empty_rows: bool) -> None:
    """Softmax of each row, in place."""
    top = rows.max(axis=1, keepdims=True)
    if empty_rows:
        xp.copyto(top, 0, where=top == -xp.inf)
    rows -= top
    xp.exp(rows, out=rows)
    total = sums(xp, rows)
    if empty_rows:
        xp.copyto(total, 1, where=total == 0)
    rows *= 1 / total


@attention_weights.shape
def _(
    query: Spec, key: Spec, mask: Spec | None = None, scale: float = 1.0, causal: bool = False, empty_rows: bool = True
):
    same_dtype("attention", query, key)
    if query.ndim < 2 or key.ndim < 2 or query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            f"attention: query {format_shape(query.shape)} and key {format_shape(key.shape)} must have at least 2 "
            "dimensions and the same last size."
        )
    batch = broadcast_shapes("attention", [query.shape[:-2], key.shape[:-2]])
    shape = (*batch, query.shape[-2], key.shape[-2])
    if mask is not None:
        if mask.dtype.kind == 1:
            raise DTypeError(f"attention: the mask must be boolean or floating point, not {mask.dtype.name}.")
        try:
            fits = broadcast_shapes("attention", [shape, mask.shape]) == shape
        except ShapeError:
            fits = False
        if not fits:
            raise ShapeError(
                f"attention: the mask {format_shape(mask.shape)} does not broadcast to the weights "
                f"{format_shape(shape)} (last dimensions: queries × keys)."
            )
    return shape


@attention_weights.macs
def _(out: Spec, query: Spec, key: Spec, *_: Any, **__: Any):
    return count(out.shape) * query.shape[-1]


@attention_weights.gradient
def _(g, query, key, mask: Spec, out, scale):
    grad_scores = softmax_backward(g, out, dim=-1)
    grad_mask = grad_scores if isinstance(mask, Spec) and mask.dtype.is_floating_point else None
    return (grad_scores @ key) * scale, (grad_scores.mT @ query) * scale, grad_mask
