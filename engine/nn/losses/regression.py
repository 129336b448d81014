"""Losses for predicting numbers. Input and target must have one shape: nothing is broadcast."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.functional.reduction import Reduction
from engine.nn.module import Module
from engine.registry import LOSSES, NonNegative, Positive
from engine.tensor import Tensor


@LOSSES.register(category="Regression", title="Mean squared error", tags=("mse", "l2", "least squares"))
class MSELoss(Module):
    """The squared distance from the target, ``(x - y)²``.

    Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
    """

    def __init__(self, *, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.reduction: Reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, self.reduction)


@LOSSES.register(category="Regression", title="Mean absolute error", tags=("mae", "l1"))
class L1Loss(Module):
    """The distance from the target, ``|x - y|``; outliers weigh less than with squares.

    Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
    """

    def __init__(self, *, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.reduction: Reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, self.reduction)


@LOSSES.register(category="Regression", title="Smooth L1", tags=("robust",))
class SmoothL1Loss(Module):
    """Squared near the target, straight far from it: ``(x - y)² / (2 beta)`` or ``|x - y| - beta / 2``.

    Source: Girshick, arXiv 1504.08083. Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
        beta: the distance up to which it is quadratic
    """

    def __init__(self, *, reduction: Reduction = "mean", beta: NonNegative = 1.0) -> None:
        super().__init__()
        self.reduction: Reduction = reduction
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, self.reduction, self.beta)


@LOSSES.register(category="Regression", title="Huber", tags=("robust",))
class HuberLoss(Module):
    """Squared near the target, straight far from it: ``(x - y)² / 2`` or ``delta (|x - y| - delta / 2)``.

    Source: Huber, 1964. Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
        delta: the distance up to which it is quadratic
    """

    def __init__(self, reduction: Reduction = "mean", delta: Positive = 1.0) -> None:
        super().__init__()
        self.reduction: Reduction = reduction
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, self.reduction, self.delta)
