"""Linear layer followed by cross entropy: the output layer of a classifier or language model with its loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.dtypes import DType
from engine.errors import ShapeError
from engine.nn.functional.classification_losses import cross_entropy
from engine.nn.functional.linear import linear
from engine.nn.functional.reduction import Reduction
from engine.shape import count, format_shape
from engine.tensors import Tensor


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """PyTorch's options for chunked computation, accepted for compatibility: all scores are computed at once.

    Args:
        allow_retain_graph: allow a second backward pass; always possible here
        batch_chunk_size: samples per chunk
        chunking_method: selection of the chunk size
        acc_policy: sums that use `acc_dtype`
        acc_dtype: dtype of the sums
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: DType | None = None


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target, …)``.

    Args:
        input: ``(N, I)`` or ``I``
        linear_weight: ``(C, I)`` or ``(C, *, I)``, for scores ``(N, C, *)``
        target: as in `cross_entropy`
        linear_bias: ``C`` or ``(C, *)``
        weight: weight of each class, ``C``
        reduction: "mean" (weighted by `weight`), "sum" or "none"
        ignore_index: target class that does not contribute to the loss (default: -100)
        label_smoothing: probability mass of each target that is spread over all classes
        options: accepted for compatibility; all scores are computed at once
    """
    classes, *rest = linear_weight.shape[:-1] or (0,)
    if input.ndim not in (1, 2) or linear_weight.ndim < 2 or input.shape[-1] != linear_weight.shape[-1]:
        raise ShapeError(
            f"linear_cross_entropy requires an input N×I or I and a weight C×I or C×…×I, "
            f"not {format_shape(input.shape)} with {format_shape(linear_weight.shape)}"
        )
    if rest and input.ndim == 1:
        raise ShapeError(
            f"linear_cross_entropy: a weight {format_shape(linear_weight.shape)} requires a batch of inputs N×I, "
            f"not {format_shape(input.shape)}.",
            in_code="Add a dimension with input.unsqueeze(0).",
        )
    if linear_bias is not None and tuple(linear_bias.shape) != tuple(linear_weight.shape[:-1]):
        raise ShapeError(
            f"linear_cross_entropy: a weight {format_shape(linear_weight.shape)} requires a bias "
            f"{format_shape(linear_weight.shape[:-1])}, not {format_shape(linear_bias.shape)}"
        )
    shape = (*input.shape[:-1], classes, *rest)
    if ignore_index is not None and tuple(target.shape) == shape:
        raise ShapeError("linear_cross_entropy: ignore_index requires class indices as target, not probabilities")
    rows = count((classes, *rest))
    flat = None if linear_bias is None else linear_bias.reshape(rows)
    scores = linear(input, linear_weight.reshape(rows, linear_weight.shape[-1]), flat).reshape(shape)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )
