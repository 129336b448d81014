"""Scores to probabilities."""

from __future__ import annotations

from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensor import Tensor


@LAYERS.register(category="Activation", tags=("probabilities", "normalised exponential"))
class Softmax(Module):
    """Turns scores into probabilities that sum to 1 along one dimension, ``exp(xᵢ) / Σⱼ exp(xⱼ)``. The shape stays.

    `CrossEntropyLoss` contains it: feed that loss the scores themselves. PyTorch guesses `dim` if it is left out;
    here it is the last.

    Args:
        dim: the dimension along which the outputs sum to 1
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return input.softmax(self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


@LAYERS.register(category="Activation", tags=("log probabilities",))
class LogSoftmax(Module):
    """Turns scores into logarithms of probabilities along one dimension, ``log(exp(xᵢ) / Σⱼ exp(xⱼ))``.

    Safe for large numbers. The shape stays.

    PyTorch guesses `dim` if it is left out; here it is the last.

    Args:
        dim: the dimension along which the exponentials of the outputs sum to 1
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return input.log_softmax(self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
