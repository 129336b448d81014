"""Local response normalization."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, NonNegative, Size
from engine.tensors import Tensor


@LAYERS.register(category="Normalization", tags=("lrn", "alexnet"))
class LocalResponseNorm(Module):
    """Local response normalization across neighboring channels: ``y = x / (k + alpha · mean(x²))^beta``.

    Input and output: ``(N, C, *)``. Source: Krizhevsky et al., ImageNet classification with deep convolutional neural
    networks, 2012.

    Args:
        size: number of neighboring channels in the mean
        alpha: factor of the mean square
        beta: exponent
        k: additive constant of the denominator
    """

    def __init__(self, size: Size, alpha: NonNegative = 0.0001, beta: NonNegative = 0.75, k: NonNegative = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
