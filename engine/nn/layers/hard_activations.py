"""Piecewise linear activation functions."""

from __future__ import annotations

import warnings

from engine.nn import functional as F
from engine.nn.layers.inplace import InPlaceActivation, inplace_repr
from engine.nn.module import Module
from engine.registry import LAYERS, NonNegative
from engine.tensors import Tensor

GROUP = "Activation"


@LAYERS.register(category=GROUP)
class Hardtanh(Module):
    """Clamps the input to two bounds: ``min(max(x, min_val), max_val)``.

    Args:
        min_val: lower bound
        max_val: upper bound
        inplace: write the result to the memory of the input
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: object = None,
        max_value: object = None,
    ) -> None:
        super().__init__()
        if min_value is not None or max_value is not None:
            warnings.warn("min_value and max_value were renamed to min_val and max_val", FutureWarning, stacklevel=2)
            min_val = min_val if min_value is None else float(min_value)  # pyright: ignore[reportArgumentType]
            max_val = max_val if max_value is None else float(max_value)  # pyright: ignore[reportArgumentType]
        if min_val >= max_val:
            raise ValueError(f"min_val={min_val} must be below max_val={max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{inplace_repr(self.inplace)}"


@LAYERS.register(category=GROUP, tags=("mobile", "quantization"))
class Hardsigmoid(InPlaceActivation):
    """Piecewise linear approximation of the sigmoid: ``min(max(x + 3, 0), 6) / 6`` (Howard et al., arXiv 1905.02244).

    Args:
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


@LAYERS.register(category=GROUP, tags=("mobile", "quantization", "swish"))
class Hardswish(InPlaceActivation):
    """Piecewise approximation of SiLU: ``x min(max(x + 3, 0), 6) / 6`` (Howard et al., arXiv 1905.02244).

    Args:
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


@LAYERS.register(category=GROUP)
class Hardshrink(Module):
    """Hard shrinkage: 0 where ``|x| ≤ lambd``, else ``x``.

    Args:
        lambd: threshold
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


@LAYERS.register(category=GROUP, tags=("soft thresholding",))
class Softshrink(Module):
    """Soft shrinkage: moves the input towards 0 by ``lambd``, ``sign(x) max(|x| - lambd, 0)``.

    Args:
        lambd: threshold, and size of the shift
    """

    def __init__(self, lambd: NonNegative = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)
