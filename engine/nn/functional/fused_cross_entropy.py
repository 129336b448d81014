"""Cross entropy with class indices as one op."""

from __future__ import annotations

from engine.nn.functional.reduction import Reduction
from engine.ops.cross_entropy import cross_entropy_op
from engine.tensors import Tensor


def fused_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: Reduction
) -> Tensor:
    """``-log softmax(x)[y]`` of logits ``(N, C, *)`` or ``C`` and class indices ``(N, *)``, with checked shapes."""
    if input.ndim == 2:
        return _row_cross_entropy(input, target, weight, ignore_index, reduction)
    classes = input.shape[1] if input.ndim > 1 else input.shape[0]
    rows = input.permute((0, *range(2, input.ndim), 1)) if input.ndim > 1 else input
    losses = _row_cross_entropy(rows.reshape((-1, classes)), target.reshape((-1,)), weight, ignore_index, reduction)
    return losses.reshape(tuple(target.shape)) if reduction == "none" else losses


def _row_cross_entropy(
    rows: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: Reduction
) -> Tensor:
    weight = None if weight is None else weight.detach()
    return cross_entropy_op(rows, target, weight, ignore_index=ignore_index, reduction=reduction)[0]
