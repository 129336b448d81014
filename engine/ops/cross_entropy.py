"""Cross entropy with class indices as one op. In a composition each step would write an array as large as the input."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from engine.dtypes import bool_, float32, int64
from engine.errors import IndexRangeError
from engine.modes import MODES
from engine.ops.elementwise.selection import where
from engine.ops.indexing.gather import gather_backward
from engine.ops.record import op
from engine.ops.row_blocks import row_blocks, sums
from engine.ops.shape_rules import bytes_spec
from engine.shape import Spec

Reduction = Literal["none", "mean", "sum"]


def _sample(s: Any) -> Any:
    return [
        ((s.normal(4, 3), s.integers(3, 4)), {}),
        ((s.normal(4, 3), np.array([2, 1, -1, 0])), {"ignore_index": -1, "reduction": "sum"}),
        ((s.normal(4, 3), s.integers(3, 4)), {"reduction": "none"}),
    ]


@op("other", method=False, outputs=3, sample=_sample)
def cross_entropy_op(xp, x, target, weight=None, ignore_index: int = -100, reduction: Reduction = "mean"):
    """−ln softmax(x)[target] for each row of N×C, weighted by class and reduced.

    Returns:
        the loss; and for the gradient, as bytes, e^(x − c), N×C, and for each row, N×2, its factor in the result and
        the factor divided by Σ e^(x − c).
    """
    dtype, compute_dtype = x.dtype, x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    x = x.astype(compute_dtype, copy=False)
    valid, classes = _class_indices(xp, target, ignore_index, x.shape[1])
    factors = (valid if weight is None else xp.where(valid, weight[classes], 0)).astype(compute_dtype)
    if reduction == "mean":
        factor_sum = factors.sum()
        shares = factors / xp.where(factor_sum == 0, 1, factor_sum)  # without valid targets the gradient is 0
    else:
        factor_sum, shares = None, factors
    exponentials, row_factors = xp.empty(x.shape, compute_dtype), xp.empty((x.shape[0], 2), compute_dtype)
    row_losses, norms = x[xp.arange(x.shape[0]), classes], xp.empty((x.shape[0], 1), compute_dtype)
    losses = row_losses[:, None]
    for block in row_blocks(xp, *x.shape):
        _row_losses(xp, x[block], exponentials[block], losses[block], norms[block])
    losses = xp.where(valid, row_losses * shares, 0)
    result = losses if reduction == "none" else xp.asarray(losses.sum()) if x.shape[0] else _empty_result(xp, reduction)
    if factor_sum is not None and x.shape[0] and factor_sum == 0:
        result = xp.asarray(result / factor_sum)  # without valid targets the mean is NaN, as in PyTorch
    row_factors[:, 0], row_factors[:, 1] = shares, shares / norms[:, 0]
    return xp.asarray(result, dtype), exponentials.view(xp.uint8), row_factors.view(xp.uint8)


_SMALL = 8.0
"""If |x| is smaller, ln Σ e^x − x is exact enough without subtracting the maximum, which takes half the time."""


def _row_losses(xp: Any, x: Any, exponentials: Any, losses: Any, norms: Any) -> None:
    """Replace the score of each row's target, in `losses`, by the row's loss."""
    if xp is np and x.min() > -_SMALL and x.max() < _SMALL:
        xp.exp(x, out=exponentials)
    else:
        maximum = x.max(axis=1, keepdims=True)
        xp.subtract(x, maximum, out=exponentials)
        xp.exp(exponentials, out=exponentials)
        losses -= maximum
    norms[...] = sums(xp, exponentials)
    losses *= -1
    losses += xp.log(norms)


def _empty_result(xp: Any, reduction: str) -> Any:
    return xp.asarray(np.nan if reduction == "mean" else 0.0)


def _class_indices(xp: Any, target: Any, ignore_index: int, count: int) -> tuple[Any, Any]:
    """Mask of the targets that are not ignored, and the class indices with 0 for ignored targets."""
    valid = target != ignore_index
    classes = xp.where(valid, target, 0)
    if classes.size and classes.astype(xp.uint64).max() >= count:  # negative numbers become large
        invalid = int(classes.min()) if classes.min() < 0 else int(classes.max())
        raise IndexRangeError(f"cross_entropy: {invalid} is not one of the {count} classes. Use 0 to {count - 1}.")
    return valid, classes


@op("other", method=False, public=False, outputs=2, sample=lambda s: [((s.integers(3, 4),), {"count": 3})])
def check_class_targets(xp, target, ignore_index: int = -100, count: int = 1):
    """Mask of the targets that are not ignored, and the class indices with 0 for ignored targets.

    Raises:
        IndexRangeError: a target is not a class index.
    """
    valid, classes = _class_indices(xp, target, ignore_index, count)
    return valid, classes.astype(xp.int64)


@check_class_targets.shape
def _(target: Spec, ignore_index: int = -100, count: int = 1):
    return Spec(target.shape, bool_), Spec(target.shape, int64)


@cross_entropy_op.shape
def _(x: Spec, target: Spec, weight: Any = None, ignore_index: int = -100, reduction: Reduction = "mean"):
    kind = x.dtype if x.dtype.itemsize >= 4 else float32
    shape = x.shape[:1] if reduction == "none" else ()
    return Spec(shape, x.dtype), bytes_spec(Spec(x.shape, kind)), bytes_spec(Spec((x.shape[0], 2), kind))


@cross_entropy_op.gradient("x")
def _(g, x, target, weight, out1, out2, ignore_index, reduction):
    if not MODES.grad:
        return cross_entropy_backward(g[0], target, out1, out2, ignore_index=ignore_index)
    valid = target != ignore_index
    classes = target * valid
    factors = (valid if weight is None else weight.detach().index_select(0, classes) * valid).to(x.dtype)
    if reduction == "mean":
        total = factors.sum()
        factors = factors / where(total == 0, 1.0, total)
    own = g[0] * factors
    one_hot = gather_backward(own.unsqueeze(1), classes.unsqueeze(1), x.shape, 1, True)
    return x.softmax(1) * own.unsqueeze(1) - one_hot


def _sample_backward(s: Any) -> Any:
    exponentials, row_factors = (np.abs(s.normal(*shape)).view(np.uint8) for shape in ((4, 3), (4, 2)))
    return [((s.normal(4), s.integers(3, 4), exponentials, row_factors), {})] if s.dtype == np.float64 else []


@op("other", method=False, sample=_sample_backward)
def cross_entropy_backward(xp, g, target, exponentials, row_factors, ignore_index: int = -100):
    """Gradient of `cross_entropy` for its input: (softmax − one-hot target) · factor."""
    compute_dtype = g.dtype if g.dtype.itemsize >= 4 else np.dtype(np.float32)
    exponentials, row_factors = exponentials.view(compute_dtype), row_factors.view(compute_dtype)
    out = xp.empty(exponentials.shape, compute_dtype)
    factors = row_factors * (g.astype(compute_dtype) if g.ndim == 0 else g.astype(compute_dtype)[:, None])
    for block in row_blocks(xp, *out.shape):
        xp.multiply(exponentials[block], factors[block, 1:], out=out[block])
    out[xp.arange(out.shape[0]), xp.where(target != ignore_index, target, 0)] -= factors[:, 0]
    return out.astype(g.dtype, copy=False)


@cross_entropy_backward.shape
def _(g: Spec, target: Spec, exponentials: Spec, row_factors: Spec, ignore_index: int = -100):
    return Spec((exponentials.shape[0], exponentials.shape[1] // max(g.dtype.itemsize, 4)), g.dtype)
