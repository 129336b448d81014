"""Smooth activations: sigmoids, and what is made of them."""

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
class Softsign(Module):
    """Squeezes any number into -1 to 1, slower than tanh, ``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


@LAYERS.register(category=GROUP)
class Tanhshrink(Module):
    """What tanh takes away, ``x - tanh x``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


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


@LAYERS.register(category=GROUP)
class Mish(InPlaceActivation):
    """Smooth ReLU with a dip below 0, ``x tanh(softplus(x))`` (Misra, arXiv 1908.08681).

    Args:
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


@LAYERS.register(category=GROUP, tags=("gated linear unit", "gate"))
class GLU(Module):
    """One half of the input times the sigmoid of the other; halves one dimension.

    Source: Dauphin et al., arXiv 1612.08083.

    Args:
        dim: the dimension that is halved
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
