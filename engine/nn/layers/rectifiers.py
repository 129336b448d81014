"""ReLU and its variants."""

from __future__ import annotations

from engine.dtypes import DType
from engine.nn import functional as F
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.inplace import InPlaceActivation, inplace_repr
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, Size
from engine.tensors import Tensor
from engine.tensors.creation import full

GROUP = "Activation"


@LAYERS.register(category=GROUP, tags=("rectifier", "rectified linear unit"))
class ReLU(InPlaceActivation):
    """Rectified linear unit: ``max(x, 0)`` (Nair and Hinton, ICML 2010).

    Args:
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


@LAYERS.register(category=GROUP)
class ReLU6(InPlaceActivation):
    """ReLU limited to 6: ``min(max(x, 0), 6)`` (Howard et al., arXiv 1704.04861).

    Args:
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


@LAYERS.register(category=GROUP)
class LeakyReLU(Module):
    """Leaky ReLU: ``x`` where ``x > 0``, else ``negative_slope x``.

    Source: Maas et al., ICML 2013.

    Args:
        negative_slope: slope for negative inputs
        inplace: write the result to the memory of the input
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{inplace_repr(self.inplace)}"


@LAYERS.register(category=GROUP, tags=("parametric",))
class PReLU(Module):
    """Leaky ReLU with a learned negative slope: ``x`` where ``x > 0``, else ``a x`` (He et al., arXiv 1502.01852).

    Args:
        num_parameters: number of learned slopes: 1, or one per channel (dimension 1)
        init: initial slope
    """

    def __init__(
        self, num_parameters: Size = 1, init: float = 0.25, device: DeviceArgument = None, dtype: DType | None = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Reset the slopes to `init`."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


@LAYERS.register(category=GROUP, tags=("randomized", "leaky"))
class RReLU(Module):
    """Leaky ReLU with random negative slopes in training and the mean slope in evaluation (arXiv 1505.00853).

    Args:
        lower: lower bound of the slope
        upper: upper bound of the slope
        inplace: write the result to the memory of the input
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{inplace_repr(self.inplace)}"


@LAYERS.register(category=GROUP, tags=("exponential linear unit",))
class ELU(Module):
    """Exponential linear unit: ``x`` where ``x > 0``, else ``alpha (exp(x) - 1)``.

    Source: Clevert et al., arXiv 1511.07289.

    Args:
        alpha: negated limit of the output for large negative inputs
        inplace: write the result to the memory of the input
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{inplace_repr(self.inplace)}"


@LAYERS.register(category=GROUP, tags=("continuously differentiable", "exponential linear unit"))
class CELU(Module):
    """Continuously differentiable ELU: ``x`` where ``x > 0``, else ``alpha (exp(x / alpha) - 1)``.

    Source: Barron, arXiv 1704.07483.

    Args:
        alpha: negated limit of the output for large negative inputs
        inplace: write the result to the memory of the input
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{inplace_repr(self.inplace)}"


@LAYERS.register(category=GROUP, tags=("self-normalizing", "exponential linear unit"))
class SELU(InPlaceActivation):
    """Scaled ELU, which makes networks self-normalizing (Klambauer et al., arXiv 1706.02515).

    Args:
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


@LAYERS.register(category=GROUP)
class Threshold(Module):
    """``x`` where ``x > threshold``, else ``value``.

    Args:
        threshold: threshold
        value: replacement of inputs up to the threshold
        inplace: write the result to the memory of the input
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{inplace_repr(self.inplace)}"
