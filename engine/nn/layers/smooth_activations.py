"""Smooth activation functions."""

from __future__ import annotations

from typing import Literal

from engine.nn import functional as F
from engine.nn.layers.inplace import InPlaceActivation
from engine.nn.module import Module
from engine.registry import LAYERS, Positive
from engine.tensors import Tensor

GROUP = "Activation"


@LAYERS.register(category=GROUP, tags=("logistic",))
class Sigmoid(Module):
    """Logistic sigmoid, with outputs between 0 and 1: ``σ(x) = 1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


@LAYERS.register(category=GROUP)
class LogSigmoid(Module):
    """Logarithm of the sigmoid, numerically stable: ``log σ(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


@LAYERS.register(category=GROUP, tags=("hyperbolic tangent",))
class Tanh(Module):
    """Hyperbolic tangent, with outputs between -1 and 1: ``tanh x``."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


@LAYERS.register(category=GROUP)
class Softsign(Module):
    """Softsign, with outputs between -1 and 1: ``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


@LAYERS.register(category=GROUP)
class Tanhshrink(Module):
    """``x - tanh x``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


@LAYERS.register(category=GROUP, tags=("smooth relu",))
class Softplus(Module):
    """Smooth approximation of ReLU: ``log(1 + exp(beta x)) / beta`` (Dugas et al., NIPS 2000).

    Args:
        beta: sharpness; ReLU is the limit for large values
        threshold: the output is ``x`` where ``beta x`` exceeds the threshold
    """

    def __init__(self, beta: Positive = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


@LAYERS.register(category=GROUP, tags=("gaussian error linear unit",))
class GELU(Module):
    """Gaussian error linear unit: ``x Φ(x)``, with the standard normal distribution function ``Φ``.

    Source: Hendrycks and Gimpel, arXiv 1606.08415.

    Args:
        approximate: "tanh" for the approximation ``x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))``
    """

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        super().__init__()
        self.approximate: Literal["none", "tanh"] = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


@LAYERS.register(category=GROUP, tags=("swish", "sigmoid linear unit"))
class SiLU(InPlaceActivation):
    """Sigmoid linear unit, also called swish: ``x σ(x)`` (Elfwing et al., arXiv 1702.03118).

    Args:
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


@LAYERS.register(category=GROUP)
class Mish(InPlaceActivation):
    """Mish: ``x tanh(softplus(x))`` (Misra, arXiv 1908.08681).

    Args:
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


@LAYERS.register(category=GROUP, tags=("gated linear unit", "gate"))
class GLU(Module):
    """Gated linear unit: ``a σ(b)`` with the halves a and b of the input along `dim`.

    Source: Dauphin et al., arXiv 1612.08083.

    Args:
        dim: dimension to split into halves
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
