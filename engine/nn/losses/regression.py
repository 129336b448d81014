"""Regression losses and losses of distributions."""

from __future__ import annotations

from typing import Literal

from engine.nn import functional as F
from engine.nn.functional.reduction import Deprecated, Reduction
from engine.nn.losses.loss import Loss
from engine.registry import LOSSES, NonNegative, Positive
from engine.tensors import Tensor

GROUP = "Regression"


@LOSSES.register(category=GROUP, title="Mean squared error", learns="numbers", tags=("mse", "l2", "least squares"))
class MSELoss(Loss):
    """Mean squared error: ``(x - y)²``.

    Input and target have the same shape.

    Args:
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Mean absolute error", learns="numbers", tags=("mae", "l1"))
class L1Loss(Loss):
    """Mean absolute error, less sensitive to outliers than squares: ``|x - y|``.

    Input and target have the same shape.

    Args:
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Smooth L1", learns="numbers", tags=("robust",))
class SmoothL1Loss(Loss):
    """Smooth L1 loss: ``(x - y)² / (2 beta)`` where ``|x - y| < beta``, else ``|x - y| - beta / 2``.

    Source: Girshick, arXiv 1504.08083. Input and target have the same shape.

    Args:
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
        beta: distance at which the loss changes from quadratic to linear
    """

    def __init__(
        self,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
        beta: NonNegative = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


@LOSSES.register(category=GROUP, title="Huber", learns="numbers", tags=("robust",))
class HuberLoss(Loss):
    """Huber loss: ``(x - y)² / 2`` where ``|x - y| < delta``, else ``delta (|x - y| - delta / 2)``.

    Source: Huber, 1964. Input and target have the same shape.

    Args:
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
        delta: distance at which the loss changes from quadratic to linear
    """

    def __init__(self, reduction: Reduction = "mean", delta: Positive = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, self.reduction, self.delta)


@LOSSES.register(
    category=GROUP,
    title="Poisson NLL",
    learns="numbers",
    tags=("counts", "negative log likelihood"),
)
class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts under a Poisson distribution: ``exp(x) - y x``.

    Args:
        log_input: the input is the logarithm of the expected count
        full: add Stirling's approximation of ``log y!``
        eps: term added to the input before the logarithm, if `log_input` is off
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Deprecated = None,
        eps: Positive = 1e-8,
        reduce: Deprecated = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


@LOSSES.register(
    category=GROUP,
    title="Gaussian NLL",
    learns="numbers",
    tags=("uncertainty", "negative log likelihood"),
)
class GaussianNLLLoss(Loss):
    """Negative log likelihood under a normal distribution with predicted mean and variance.

    Source: Nix and Weigend, ICNN 1994. The variance has the shape of the input, or one element per row.

    Args:
        full: add the constant ``log(2π) / 2``
        eps: lower bound of the variance
        reduction: reduction over the elements: mean, sum, or none for the unreduced losses
    """

    def __init__(self, *, full: bool = False, eps: Positive = 1e-6, reduction: Reduction = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


@LOSSES.register(category="Distributions", title="Kullback-Leibler divergence", tags=("kl", "relative entropy"))
class KLDivLoss(Loss):
    """Kullback-Leibler divergence of the input, log probabilities ``x``, from the target: ``Σ y (log y - x)``.

    Args:
        reduction: batchmean divides the sum by the batch size, mean by the number of elements
        log_target: the target contains log probabilities
    """

    def __init__(
        self,
        size_average: Deprecated = None,
        reduce: Deprecated = None,
        reduction: Literal["mean", "sum", "none", "batchmean"] = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)  # pyright: ignore[reportArgumentType]
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)
