"""Softmax layers."""

from __future__ import annotations

from typing import Annotated

from engine.errors import ShapeError
from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, Preset
from engine.shape import format_shape
from engine.tensors import Tensor

GROUP = "Activation"


class SoftmaxBase(Module):
    """Base of softmax layers; `dim` is chosen by PyTorch's rule if it is None."""

    def __init__(self, dim: Annotated[int | None, Preset(-1)] = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


@LAYERS.register(category=GROUP, tags=("probabilities", "normalized exponential"))
class Softmax(SoftmaxBase):
    """Softmax along a dimension, ``exp(xᵢ) / Σⱼ exp(xⱼ)``: probabilities that sum to 1.

    `CrossEntropyLoss` includes the softmax: its input is the scores (logits). If `dim` is omitted, PyTorch's rule
    selects it with a warning: 0 for inputs of 0, 1 or 3 dimensions, else 1. On the canvas the default is the last
    dimension.

    Args:
        dim: dimension along which the outputs sum to 1
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


@LAYERS.register(category=GROUP, tags=("probabilities",))
class Softmin(SoftmaxBase):
    """Softmin along a dimension: softmax of the negated input.

    If `dim` is omitted, PyTorch's rule selects it with a warning: 0 for inputs of 0, 1 or 3 dimensions, else 1. On the
    canvas the default is the last dimension.

    Args:
        dim: dimension along which the outputs sum to 1
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


@LAYERS.register(category=GROUP, tags=("log probabilities",))
class LogSoftmax(SoftmaxBase):
    """Logarithm of the softmax along a dimension, numerically stable: ``log(exp(xᵢ) / Σⱼ exp(xⱼ))``.

    If `dim` is omitted, PyTorch's rule selects it with a warning: 0 for inputs of 0, 1 or 3 dimensions, else 1. On the
    canvas the default is the last dimension.

    Args:
        dim: dimension along which the exponentials of the outputs sum to 1
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


@LAYERS.register(category=GROUP, tags=("probabilities", "images"))
class Softmax2d(Module):
    """Softmax over the channels at each pixel of ``(N, C, H, W)`` or ``(C, H, W)``."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ShapeError(f"Softmax2d requires an input N×C×H×W or C×H×W, not {format_shape(input.shape)}")
        return input.softmax(-3)
