"""Random numbers as an input of a network, as a generator takes them."""

from __future__ import annotations

from typing import Literal

from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensors import Tensor
from engine.tensors.creation.random_tensors import rand, randn


@LAYERS.register(category="Generation", tags=("random", "latent", "gan", "generator", "gaussian"))
class Noise(Module):
    """New random numbers for each sample: ``N×…`` becomes ``N×size``. Of its input only the number of samples counts.

    It draws in evaluation as well.

    Args:
        size: how many numbers a sample gets, or their shape
        distribution: "normal" has mean 0 and variance 1; "uniform" lies between -1 and 1
    """

    def __init__(
        self, size: Size | tuple[Size, ...] = 64, distribution: Literal["normal", "uniform"] = "normal"
    ) -> None:
        super().__init__()
        if distribution not in ("normal", "uniform"):
            raise ValueError(f"distribution must be 'normal' or 'uniform', not {distribution!r}")
        self.size = (size,) if isinstance(size, int) else tuple(size)
        self.distribution = distribution

    def forward(self, input: Tensor) -> Tensor:
        shape = (input.shape[0], *self.size)
        if self.distribution == "normal":
            return randn(*shape, device=input.device)
        return rand(*shape, device=input.device) * 2 - 1

    def extra_repr(self) -> str:
        return f"size={self.size}, distribution={self.distribution!r}"
