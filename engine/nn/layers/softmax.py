"""Scores to probabilities."""

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
    """A layer whose only argument is the dimension it works along. With dim=None it guesses as PyTorch does."""

    def __init__(self, dim: Annotated[int | None, Preset(-1)] = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


@LAYERS.register(category=GROUP, tags=("probabilities", "normalised exponential"))
class Softmax(SoftmaxBase):
    """Turns scores into probabilities that sum to 1 along one dimension, ``exp(xᵢ) / Σⱼ exp(xⱼ)``. The shape stays.

    `CrossEntropyLoss` contains it: feed that loss the scores themselves. If `dim` is left out, it is chosen as
    in PyTorch, with a warning: 0 for inputs of 0, 1 or 3 dimensions, else 1. On the canvas it is the last.

    Args:
        dim: the dimension along which the outputs sum to 1
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


@LAYERS.register(category=GROUP, tags=("probabilities",))
class Softmin(SoftmaxBase):
    """Softmax of the negated input: the smallest score has the largest probability. The shape stays.

    If `dim` is left out, it is chosen as in PyTorch, with a warning: 0 for inputs of 0, 1 or 3 dimensions, else 1. On
    the canvas it is the last.

    Args:
        dim: the dimension along which the outputs sum to 1
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


@LAYERS.register(category=GROUP, tags=("log probabilities",))
class LogSoftmax(SoftmaxBase):
    """Turns scores into logarithms of probabilities along one dimension, ``log(exp(xᵢ) / Σⱼ exp(xⱼ))``.

    Safe for large numbers. The shape stays.

    If `dim` is left out, it is chosen as in PyTorch, with a warning: 0 for inputs of 0, 1 or 3 dimensions, else 1. On
    the canvas it is the last.

    Args:
        dim: the dimension along which the exponentials of the outputs sum to 1
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


@LAYERS.register(category=GROUP, tags=("probabilities", "images"))
class Softmax2d(Module):
    """Softmax over the channels at each place of an image, ``N×C×H×W`` or ``C×H×W``. The shape stays."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ShapeError(f"Softmax2d needs N×C×H×W or C×H×W, not {format_shape(input.shape)}")
        return input.softmax(-3)
