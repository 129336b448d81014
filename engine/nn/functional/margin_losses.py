"""Margin losses of distances, ranks and classes."""

from __future__ import annotations

from collections.abc import Callable

from engine.amp.cast_policy import cast_by_name
from engine.dtypes import int64
from engine.errors import DTypeError, ShapeError
from engine.nn.functional.distance import cosine_similarity, pairwise_distance
from engine.nn.functional.reduction import Deprecated, Reduction, reduce_loss, resolve_reduction
from engine.ops.elementwise.selection import where
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import arange


@cast_by_name
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """For distances ``x``: ``x`` for targets 1, ``max(0, margin - x)`` for targets -1."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    dissimilar_loss = where(target != 1, (margin - input).clamp(min=0), 0.0)
    return reduce_loss(dissimilar_loss + where(target != -1, input, 0.0), reduction)


@cast_by_name
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """``max(0, -y (x₁ - x₂) + margin)``: target 1 if ``x₁`` should be larger, -1 if smaller."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        shapes = " and ".join(format_shape(tensor.shape) for tensor in (input1, input2, target))
        raise ShapeError(f"margin_ranking_loss: all tensors must have the same number of dimensions, not {shapes}")
    return reduce_loss((-target * (input1 - input2) + margin).clamp(min=0), reduction)


@cast_by_name
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """``1 - cos(x₁, x₂)`` for targets 1, ``max(0, cos(x₁, x₂) - margin)`` for targets -1."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    if tuple(input1.shape) != tuple(input2.shape) or target.ndim != input1.ndim - 1:
        raise ShapeError(
            "cosine_embedding_loss requires two inputs N×D and a target N, or two vectors and a scalar, not "
            f"{format_shape(input1.shape)}, {format_shape(input2.shape)} and {format_shape(target.shape)}"
        )
    # As in PyTorch, the epsilon is under the common root, not under each norm.
    tiny = 1e-12
    product = (input1 * input2).sum(-1)
    cosine = product / (((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)).sqrt()
    similar_loss = where(target == 1, 1 - cosine, 0.0)
    return reduce_loss(similar_loss + where(target == -1, (cosine - margin).clamp(min=0), 0.0), reduction)


@cast_by_name
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with p-norm distances (Balntas et al., 2016).

    With `swap`, uses the distance from positive to negative if it is smaller than that from anchor to negative.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a custom distance function (default: `pairwise_distance`)."""
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be > 0, not {margin}")
    distance = distance_function or pairwise_distance
    if not anchor.ndim == positive.ndim == negative.ndim:
        shapes = " and ".join(format_shape(tensor.shape) for tensor in (anchor, positive, negative))
        raise ShapeError(f"triplet_margin_loss: all tensors must have the same number of dimensions, not {shapes}")
    positive_distance, negative_distance = distance(anchor, positive), distance(anchor, negative)
    if swap:
        negative_distance = negative_distance.minimum(distance(positive, negative))
    return reduce_loss((positive_distance - negative_distance + margin).clamp(min=0), reduction)


@cast_by_name
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """``Σ max(0, margin - x[y] + x[i])ᵖ / C`` over ``i ≠ y``; scores ``(N, C)`` or ``C``, target ``N`` or one class."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, not {p}")
    _check_class_dtype("multi_margin_loss", target)
    if input.ndim <= 1 and tuple(target.shape) in ((), (1,)):  # one sample, or one score
        input = input.reshape((*target.shape, -1))
    if input.ndim not in (1, 2) or tuple(target.shape) != tuple(input.shape[:-1]):
        raise ShapeError(
            f"multi_margin_loss requires scores N×C and class indices N, not {format_shape(input.shape)} and "
            f"{format_shape(target.shape)}"
        )
    target_score = input.gather(-1, target.unsqueeze(-1))
    violations = (margin - target_score + input).clamp(min=0)
    if p == 2:
        violations = violations * violations
    if weight is not None:
        violations = violations * weight.index_select(0, target.reshape(-1)).reshape((*target.shape, 1))
    is_other = arange(input.shape[-1], device=input.device) != target.unsqueeze(-1)
    return reduce_loss(where(is_other, violations, 0.0).sum(-1) / input.shape[-1], reduction)


@cast_by_name
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Deprecated = None,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """``Σ max(0, 1 - (x[y] - x[i])) / C`` over target classes y and other classes i.

    `target` has the shape of the input, ``(N, C)`` or ``C``: target classes, terminated by -1.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    _check_class_dtype("multilabel_margin_loss", target)
    if input.numel() == target.numel() == 1 and max(input.ndim, target.ndim) <= 1:
        input, target = input.reshape(1), target.reshape(1)
    if input.ndim not in (1, 2) or tuple(target.shape) != tuple(input.shape):
        raise ShapeError(
            f"multilabel_margin_loss requires input and target of one shape N×C or C, not {format_shape(input.shape)} "
            f"and {format_shape(target.shape)}"
        )
    is_listed = (target < 0).to(input.dtype).cumsum(-1) == 0
    classes = where(is_listed, target, 0)
    positions = arange(input.shape[-1], device=input.device)
    matches = (classes.unsqueeze(-1) == positions) & is_listed.unsqueeze(-1)
    is_target = matches.any(-2)
    violations = (1 - (input.gather(-1, classes).unsqueeze(-1) - input.unsqueeze(-2))).clamp(min=0)
    counted = is_listed.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    return reduce_loss(where(counted, violations, 0.0).sum((-1, -2)) / input.shape[-1], reduction)


def _check_class_dtype(loss: str, target: Tensor) -> None:
    if target.dtype is not int64:
        raise DTypeError(f"{loss}: class indices must be int64, not {target.dtype.name}.", in_code="Use target.long().")


__all__ = [
    "cosine_embedding_loss",
    "cosine_similarity",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "pairwise_distance",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
