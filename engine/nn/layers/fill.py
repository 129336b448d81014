"""Layer with a constant output."""

from __future__ import annotations

from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor
from engine.tensors.creation.constant_tensors import full_like


@LAYERS.register(category="Constants and noise", tags=("constant", "ones", "zeros", "full", "label", "gan"))
class Fill(Module):
    """A constant in the shape of the input, for example the target "real" or "generated" of a GAN.

    Args:
        value: constant value
    """

    def __init__(self, value: float = 1.0) -> None:
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return full_like(input.detach(), self.value)

    def extra_repr(self) -> str:
        return f"value={self.value}"
