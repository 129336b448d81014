"""Activations: elementwise nonlinearities. Every one keeps the shape."""

from __future__ import annotations

from typing import Literal

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, Positive
from engine.tensor import Tensor

GROUP = "Activation"


class InPlaceActivation(Module):
    """An activation whose only argument says where the result goes."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


@LAYERS.register(category=GROUP, tags=("rectifier", "rectified linear unit"))
class ReLU(InPlaceActivation):
    """Keeps what is positive and turns the rest into 0, ``max(x, 0)`` (Nair and Hinton, ICML 2010).

    Args:
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


@LAYERS.register(category=GROUP)
class ReLU6(InPlaceActivation):
    """ReLU that stops at 6, ``min(max(x, 0), 6)`` (Howard et al., arXiv 1704.04861).

    Args:
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


@LAYERS.register(category=GROUP)
class LeakyReLU(Module):
    """ReLU that lets a little through below 0: ``x`` where ``x > 0``, else ``negative_slope x``.

    Source: Maas et al., ICML 2013.

    Args:
        negative_slope: slope for negative inputs
        inplace: write the result into the input's memory
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{', inplace=True' if self.inplace else ''}"


@LAYERS.register(category=GROUP, tags=("exponential linear unit",))
class ELU(Module):
    """Bends smoothly to ``-alpha`` below 0: ``x`` where ``x > 0``, else ``alpha (exp(x) - 1)``.

    Source: Clevert et al., arXiv 1511.07289.

    Args:
        alpha: the output far below 0 is ``-alpha``
        inplace: write the result into the input's memory
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


@LAYERS.register(category=GROUP, tags=("gaussian error linear unit",))
class GELU(Module):
    """Smooth ReLU of transformers, ``x Φ(x)`` with the normal distribution function ``Φ``.

    Source: Hendrycks and Gimpel, arXiv 1606.08415.

    Args:
        approximate: "tanh" for ``x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))``
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
    """Smooth ReLU with a dip below 0, ``x σ(x)``, also known as swish (Elfwing et al., arXiv 1702.03118).

    Args:
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


@LAYERS.register(category=GROUP, tags=("logistic",))
class Sigmoid(Module):
    """Squeezes any number into 0 to 1, ``σ(x) = 1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


@LAYERS.register(category=GROUP)
class LogSigmoid(Module):
    """The logarithm of the sigmoid, ``log σ(x)``, safe for large ``|x|``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


@LAYERS.register(category=GROUP, tags=("hyperbolic tangent",))
class Tanh(Module):
    """Squeezes any number into -1 to 1, ``tanh x``."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


@LAYERS.register(category=GROUP)
class Hardtanh(Module):
    """Holds the input between two bounds, ``min(max(x, min_val), max_val)``.

    Args:
        min_val: lower bound
        max_val: upper bound
        inplace: write the result into the input's memory
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if min_val >= max_val:
            raise ValueError(f"min_val={min_val} must be below max_val={max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{', inplace=True' if self.inplace else ''}"


@LAYERS.register(category=GROUP, tags=("smooth relu",))
class Softplus(Module):
    """Smooth ReLU that is always positive, ``log(1 + exp(beta x)) / beta`` (Dugas et al., NIPS 2000).

    Args:
        beta: the larger, the closer to ReLU
        threshold: where ``beta x`` exceeds it, the output is ``x``
    """

    def __init__(self, beta: Positive = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"
