"""Losses for predicting numbers, and distributions of numbers."""

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
    """The squared distance from the target, ``(x - y)²``.

    Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
    """

    def __init__(
        self, size_average: Deprecated = None, reduce: Deprecated = None, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Mean absolute error", learns="numbers", tags=("mae", "l1"))
class L1Loss(Loss):
    """The distance from the target, ``|x - y|``; outliers weigh less than with squares.

    Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
    """

    def __init__(
        self, size_average: Deprecated = None, reduce: Deprecated = None, reduction: Reduction = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


@LOSSES.register(category=GROUP, title="Smooth L1", learns="numbers", tags=("robust",))
class SmoothL1Loss(Loss):
    """Squared near the target, straight far from it: ``(x - y)² / (2 beta)`` or ``|x - y| - beta / 2``.

    Source: Girshick, arXiv 1504.08083. Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
        beta: the distance up to which it is quadratic
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
    """Squared near the target, straight far from it: ``(x - y)² / 2`` or ``delta (|x - y| - delta / 2)``.

    Source: Huber, 1964. Input and target have one shape.

    Args:
        reduction: mean or sum over the elements, or none
        delta: the distance up to which it is quadratic
    """

    def __init__(self, reduction: Reduction = "mean", delta: Positive = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, self.reduction, self.delta)


@LOSSES.register(category=GROUP, title="Poisson", learns="numbers", tags=("counts", "negative log likelihood"))
class PoissonNLLLoss(Loss):
    """How surprising a count is if the input is the expected count, or its logarithm: ``exp(x) - y x``.

    Args:
        log_input: the input is the logarithm of the expected count
        full: add Stirling's approximation of ``log y!``
        eps: added to the input under the logarithm, without `log_input`
        reduction: mean or sum over the elements, or none
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


@LOSSES.register(category=GROUP, title="Gaussian", learns="numbers", tags=("uncertainty", "negative log likelihood"))
class GaussianNLLLoss(Loss):
    """How surprising the target is under a normal distribution whose mean and variance the network gives.

    Source: Nix and Weigend, ICNN 1994. The variance has the input's shape, or one element for each row.

    Args:
        full: add the constant ``log(2π) / 2``
        eps: the least variance
        reduction: mean or sum over the elements, or none
    """

    def __init__(self, *, full: bool = False, eps: Positive = 1e-6, reduction: Reduction = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


@LOSSES.register(category="Distributions", title="Kullback-Leibler divergence", tags=("kl", "relative entropy"))
class KLDivLoss(Loss):
    """How far the target distribution is from the input's, ``Σ y (log y - x)``, for log-probabilities ``x``.

    Args:
        reduction: batchmean is the divergence, averaged over the samples; mean divides by the number of elements
        log_target: the target holds logarithms too
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
