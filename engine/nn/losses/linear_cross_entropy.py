"""Linear layer and cross entropy in one module."""

from __future__ import annotations

import math
from typing import Any

from engine.errors import RangeError, ShapeError
from engine.nn.functional.linear_cross_entropy import LinearCrossEntropyOptions, linear_cross_entropy
from engine.nn.functional.reduction import Reduction
from engine.nn.layers.linear import Linear
from engine.nn.losses.loss import WeightedLoss
from engine.registry import Probability, Size
from engine.shape import format_shape
from engine.tensors import Tensor


class LinearCrossEntropyLoss(WeightedLoss):
    """Linear layer followed by cross entropy; see `CrossEntropyLoss`.

    Args:
        in_features: size of the last dimension of the input
        num_classes: number of classes
        out_features: further dimensions of the scores, with one target per position
        bias: learn a bias in the linear layer
        reduction: reduction over the samples: mean, sum, or none for the unreduced losses
        weight: weight of each class
        ignore_index: target class that does not contribute to the loss (default: -100)
        label_smoothing: probability mass of each target that is spread over all classes
        options: accepted for compatibility; all scores are computed at once
    """

    def __init__(
        self,
        in_features: Size,
        num_classes: Size,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: Reduction = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: Probability = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(
                f"LinearCrossEntropyLoss: weight must have {num_classes} elements, one per class, "
                f"not shape {format_shape(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RangeError(f"LinearCrossEntropyLoss: label_smoothing must be between 0 and 1, not {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, math.prod((num_classes, *out_features)), bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        options = {"in_features": self.linear.in_features, "num_classes": self.num_classes}
        options |= {"out_features": self.out_features, "bias": self.linear.bias is not None}
        options |= {name: getattr(self, name) for name in ("reduction", "ignore_index", "label_smoothing", "options")}
        return ", ".join(f"{name}={value}" for name, value in options.items())
