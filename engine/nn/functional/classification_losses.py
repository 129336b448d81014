"""Classification losses. The class dimension is 1, or 0 for a single sample."""

from __future__ import annotations

from engine.amp.cast_policy import cast_by_name
from engine.dtypes import int64, uint8
from engine.errors import DTypeError, ShapeError
from engine.nn.functional.fused_cross_entropy import fused_cross_entropy
from engine.nn.functional.reduction import Deprecated, Reduction, reduce_loss, resolve_reduction
from engine.ops.elementwise.selection import where
from engine.ops.indexing.gather import gather
from engine.ops.indexing.index_checks import IndexCaller
from engine.shape import format_shape
from engine.tensors import Tensor


@cast_by_name
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Deprecated = None,
    ignore_index: int = -100,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy, ``-log softmax(x)[y]``, or ``-Σ y log softmax(x)`` for class probabilities.

    Args:
        input: logits ``(N, C, *)`` or ``C``
        target: class indices ``(N, *)``, or class probabilities ``(N, C, *)``
        weight: weight of each class, ``C``
        ignore_index: target class that does not contribute to the loss
        reduction: "mean" (weighted by `weight`), "sum" or "none"
        label_smoothing: probability mass of each target that is spread over all classes (Szegedy et al., arXiv
            1512.00567)
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing must be between 0 and 1, not {label_smoothing}")
    if label_smoothing == 0 and not target.dtype.is_floating_point:
        _check_classes("cross_entropy", input, target, weight)
        return fused_cross_entropy(input, target, weight, ignore_index, reduction)
    log_probabilities = input.log_softmax(_class_dim(input))
    if target.dtype.is_floating_point:
        return _soft_cross_entropy(log_probabilities, target, weight, reduction, label_smoothing)
    return _smoothed_nll(log_probabilities, target, weight, ignore_index, reduction, label_smoothing)


@cast_by_name
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Deprecated = None,
    ignore_index: int = -100,
    reduce: Deprecated = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log likelihood ``-x[y]`` of log probabilities; arguments as in `cross_entropy`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    return _nll("nll_loss", input, target, weight, ignore_index, reduction)


def _nll(
    name: str, input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: Reduction
) -> Tensor:
    _check_classes(name, input, target, weight)
    counted = target != ignore_index
    classes = where(counted, target, 0)
    loss = -_gather_classes(name, input, classes)
    if weight is not None:
        loss = loss * _target_weights(weight, classes)
    loss = where(counted, loss, 0.0)  # ignored targets contribute 0, even if their loss is infinite
    return (
        loss.sum() / _mean_denominator(counted, classes, weight)
        if reduction == "mean"
        else reduce_loss(loss, reduction)
    )


def _smoothed_nll(
    log_probabilities: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: Reduction,
    label_smoothing: float,
) -> Tensor:
    _check_classes("cross_entropy", log_probabilities, target, weight)
    counted = target != ignore_index
    classes = where(counted, target, 0)
    target_term, smoothing_term = _gather_classes("cross_entropy", log_probabilities, classes), log_probabilities
    if weight is not None:
        target_term = target_term * _target_weights(weight, classes)
        smoothing_term = smoothing_term * _broadcast_over_classes(weight, smoothing_term)
    loss = target_term * (label_smoothing - 1) - smoothing_term.mean(_class_dim(smoothing_term)) * label_smoothing
    loss = where(counted, loss, 0.0)
    return (
        loss.sum() / _mean_denominator(counted, classes, weight)
        if reduction == "mean"
        else reduce_loss(loss, reduction)
    )


def _soft_cross_entropy(
    log_probabilities: Tensor, target: Tensor, weight: Tensor | None, reduction: Reduction, label_smoothing: float
) -> Tensor:
    if tuple(target.shape) != tuple(log_probabilities.shape):
        raise ShapeError(
            f"cross_entropy: a floating-point target holds class probabilities and must have the shape of the input, "
            f"{format_shape(log_probabilities.shape)}, not {format_shape(target.shape)}. "
            "Use an integer target for class indices."
        )
    dim = _class_dim(log_probabilities)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / log_probabilities.shape[dim]
    terms = log_probabilities * target
    loss = -(terms if weight is None else terms * _broadcast_over_classes(weight, terms)).sum(dim)
    return reduce_loss(loss, reduction)


def _class_dim(input: Tensor) -> int:
    if input.ndim == 0:
        raise ShapeError("the input must have a class dimension, but is a scalar")
    return 1 if input.ndim > 1 else 0


def _broadcast_over_classes(weight: Tensor, like: Tensor) -> Tensor:
    """`weight` reshaped to broadcast over the class dimension of `like`."""
    return weight.reshape(-1, *(1,) * (like.ndim - 1 - _class_dim(like)))


def _gather_classes(name: str, input: Tensor, classes: Tensor) -> Tensor:
    dim = _class_dim(input)
    return gather(input, dim, classes.unsqueeze(dim), owner=IndexCaller(name, "classes")).squeeze(dim)


def _target_weights(weight: Tensor, classes: Tensor) -> Tensor:
    """Weight of the target class of each sample."""
    return weight.index_select(0, classes.flatten()).reshape(classes.shape)


def _mean_denominator(counted: Tensor, classes: Tensor, weight: Tensor | None) -> Tensor:
    """Denominator of the weighted mean."""
    return counted.sum() if weight is None else where(counted, _target_weights(weight, classes), 0.0).sum()


def _check_classes(loss: str, input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if target.dtype not in (int64, uint8):
        raise DTypeError(
            f"{loss}: class indices must be int64, but the target is {target.dtype.name}.",
            in_code="Use target.long().",
        )
    dim = _class_dim(input)
    expected = (*input.shape[:dim], *input.shape[dim + 1 :])
    if tuple(target.shape) != expected:
        hint = "Use target.squeeze(1)." if tuple(target.shape) == (*expected[:1], 1, *expected[1:]) else ""
        raise ShapeError(
            f"{loss}: an input of {format_shape(input.shape)} requires a target of {format_shape(expected)}, "
            f"one class index per sample, not {format_shape(target.shape)}.",
            in_code=hint,
        )
    if weight is not None and tuple(weight.shape) != (input.shape[dim],):
        raise ShapeError(
            f"{loss}: the input has {input.shape[dim]} classes, so weight must have shape {input.shape[dim]}, "
            f"not {format_shape(weight.shape)}."
        )
