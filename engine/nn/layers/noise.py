"""Layer that generates random numbers, for example the latent input of a generator."""

from __future__ import annotations

from typing import Literal

from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensors import Tensor
from engine.tensors.creation.random_tensors import rand, randn


@LAYERS.register(category="Constants and noise", tags=("random", "latent", "gan", "generator", "gaussian"))
class Noise(Module):
    """Random numbers for each sample: ``(N, *) → (N, size)``, independent of the input values.

    Draws new numbers in training and in evaluation.

    Args:
        size: shape of the random numbers of a sample
        distribution: "normal": mean 0 and variance 1; "uniform": between -1 and 1
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
