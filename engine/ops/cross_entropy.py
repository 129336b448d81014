"""Cross entropy with classes in one op: of the steps it consists of, each would write as much as its input holds."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from engine.dtypes import bool_, float32, int64
from engine.errors import PositionError
from engine.modes import MODES
from engine.ops.elementwise.selection import where
from engine.ops.indexing.index import gather_backward
from engine.ops.record import op
from engine.ops.recurrent.recurrent_steps import as_bytes
from engine.ops.row_blocks import row_blocks, sums
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
    """−ln softmax(x)[target] of rows N×C, weighted by class; and, as bytes, what the gradient needs.

    That is e^(x − c), and of each row its factor in the result and that divided by Σ e^(x − c).
    """
    dtype, single = x.dtype, x.dtype if x.dtype.itemsize >= 4 else np.dtype(np.float32)
    x = x.astype(single, copy=False)
    counted, classes = _classes(xp, target, ignore_index, x.shape[1])
    factors = counted.astype(single) if weight is None else xp.where(counted, weight[classes], 0).astype(single)
    if reduction == "mean":
        total = factors.sum()
        shares = factors / xp.where(total == 0, 1, total)  # where nothing counts, nothing has a slope
    else:
        total, shares = None, factors
    exponentials, kept = xp.empty(x.shape, single), xp.empty((x.shape[0], 2), single)
    own, norms = x[xp.arange(x.shape[0]), classes], xp.empty((x.shape[0], 1), single)
    losses = own[:, None]
    for block in row_blocks(xp, *x.shape):
        _row_losses(xp, x[block], exponentials[block], losses[block], norms[block])
    losses = xp.where(counted, own * shares, 0)
    result = losses if reduction == "none" else xp.asarray(losses.sum()) if x.shape[0] else _of_nothing(xp, reduction)
    if total is not None and x.shape[0] and total == 0:
        result = xp.asarray(result / total)  # as PyTorch: the mean of nothing is NaN
    kept[:, 0], kept[:, 1] = shares, shares / norms[:, 0]
    return xp.asarray(result, dtype), exponentials.view(xp.uint8), kept.view(xp.uint8)


_SMALL = 8.0
"""Below this ln Σ e^x − x is as exact as with the maximum subtracted first, and saves half of the time."""


def _row_losses(xp: Any, x: Any, powers: Any, losses: Any, norms: Any) -> None:
    """Replaces each row's own score, in `losses`, by its loss."""
    if xp is np and x.min() > -_SMALL and x.max() < _SMALL:
        xp.exp(x, out=powers)
    else:
        top = x.max(axis=1, keepdims=True)
        xp.subtract(x, top, out=powers)
        xp.exp(powers, out=powers)
        losses -= top
    norms[...] = sums(xp, powers)
    losses *= -1
    losses += xp.log(norms)


def _of_nothing(xp: Any, reduction: str) -> Any:
    return xp.asarray(np.nan if reduction == "mean" else 0.0)


def _classes(xp: Any, target: Any, ignore_index: int, count: int) -> tuple[Any, Any]:
    """Which targets count, and all as classes; those that do not as 0."""
    counted = target != ignore_index
    classes = xp.where(counted, target, 0)
    if classes.size and classes.astype(xp.uint64).max() >= count:  # where what is below 0 is large
        wrong = int(classes.min()) if classes.min() < 0 else int(classes.max())
        raise PositionError(f"cross_entropy: {wrong} is not one of the {count} classes. Use 0 to {count - 1}.")
    return counted, classes


@op("other", method=False, public=False, outputs=2, sample=lambda s: [((s.integers(3, 4),), {"count": 3})])
def check_class_targets(xp, target, ignore_index: int = -100, count: int = 1):
    """Which targets count, and all as classes; those that do not as 0. Raises PositionError for what is no class."""
    counted, classes = _classes(xp, target, ignore_index, count)
    return counted, classes.astype(xp.int64)


@check_class_targets.shape
def _(target: Spec, ignore_index: int = -100, count: int = 1):
    return Spec(target.shape, bool_), Spec(target.shape, int64)


@cross_entropy_op.shape
def _(x: Spec, target: Spec, weight: Any = None, ignore_index: int = -100, reduction: Reduction = "mean"):
    kind = x.dtype if x.dtype.itemsize >= 4 else float32
    shape = x.shape[:1] if reduction == "none" else ()
    return Spec(shape, x.dtype), as_bytes(Spec(x.shape, kind)), as_bytes(Spec((x.shape[0], 2), kind))


@cross_entropy_op.gradient("x")
def _(g, x, target, weight, out1, out2, ignore_index, reduction):
    if not MODES.grad:
        return cross_entropy_backward(g[0], target, out1, out2, ignore_index=ignore_index)
    counted = target != ignore_index
    classes = target * counted
    factors = (counted if weight is None else weight.detach().index_select(0, classes) * counted).to(x.dtype)
    if reduction == "mean":
        total = factors.sum()
        factors = factors / where(total == 0, 1.0, total)
    own = g[0] * factors
    hot = gather_backward(own.unsqueeze(1), classes.unsqueeze(1), x.shape, 1, True)
    return x.softmax(1) * own.unsqueeze(1) - hot


def _sample_backward(s: Any) -> Any:
    powers, kept = (np.abs(s.normal(*shape)).view(np.uint8) for shape in ((4, 3), (4, 2)))
    return [((s.normal(4), s.integers(3, 4), powers, kept), {})] if s.dtype == np.float64 else []


@op("other", method=False, sample=_sample_backward)
def cross_entropy_backward(xp, g, target, powers, kept, ignore_index: int = -100):
    """The gradient of `cross_entropy`'s input: (softmax − 1 at the target) · factor."""
    single = g.dtype if g.dtype.itemsize >= 4 else np.dtype(np.float32)
    powers, kept = powers.view(single), kept.view(single)
    out = xp.empty(powers.shape, single)
    factors = kept * (g.astype(single) if g.ndim == 0 else g.astype(single)[:, None])
    for block in row_blocks(xp, *out.shape):
        xp.multiply(powers[block], factors[block, 1:], out=out[block])
    out[xp.arange(out.shape[0]), xp.where(target != ignore_index, target, 0)] -= factors[:, 0]
    return out.astype(g.dtype, copy=False)


@cross_entropy_backward.shape
def _(g: Spec, target: Spec, powers: Spec, kept: Spec, ignore_index: int = -100):
    return Spec((powers.shape[0], powers.shape[1] // max(g.dtype.itemsize, 4)), g.dtype)
