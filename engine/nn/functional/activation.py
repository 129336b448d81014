"""Activations. All are elementwise and keep the shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from engine.ops import activation
from engine.ops.choice import where
from engine.tensor import Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``."""
    return input.relu_() if inplace else input.relu()


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)`` (Howard et al., arXiv 1704.04861)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` held between `min_val` and `max_val`."""
    return _placed(lambda x: x.clamp(min=min_val, max=max_val), input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where ``x > 0``, else ``negative_slope x`` (Maas et al., ICML 2013)."""
    return _placed(lambda x: where(x > 0, x, x * negative_slope), input, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where ``x > 0``, else ``alpha (exp(x) - 1)`` (Clevert et al., arXiv 1511.07289)."""

    def function(x: Tensor) -> Tensor:
        positive = x > 0
        negative = where(positive, 0.0, x)  # exp of large numbers would overflow, and then spoil the gradient
        return where(positive, x, negative.expm1() * alpha)

    return _placed(function, input, inplace)


def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """``x Φ(x)`` (Hendrycks and Gimpel, arXiv 1606.08415), or its approximation by tanh."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate must be 'none' or 'tanh', not {approximate!r}")
    return activation.gelu(input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x σ(x)`` (Elfwing et al., arXiv 1702.03118), also known as swish."""
    return _placed(lambda x: x * x.sigmoid(), input, inplace)


def sigmoid(input: Tensor) -> Tensor:
    """``σ(x) = 1 / (1 + exp(-x))``."""
    return input.sigmoid()


def logsigmoid(input: Tensor) -> Tensor:
    """``log σ(x)``, safe for large ``|x|``."""
    return -activation.softplus(-input, threshold=math.inf)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return input.tanh()


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta x)) / beta``; ``x`` itself where ``beta x > threshold``."""
    return activation.softplus(input, beta, threshold)


def softmax(input: Tensor, dim: int) -> Tensor:
    """``exp(xᵢ) / Σⱼ exp(xⱼ)`` along `dim`."""
    return input.softmax(dim)


def log_softmax(input: Tensor, dim: int) -> Tensor:
    """The logarithm of `softmax`, safe for large numbers."""
    return input.log_softmax(dim)


def _placed(function: Callable[[Tensor], Tensor], input: Tensor, inplace: bool) -> Tensor:
    """`function(input)`, written into the input's memory if `inplace`; its gradient may need what was there."""
    return input.copy_(function(input.clone())) if inplace else function(input)
