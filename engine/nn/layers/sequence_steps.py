"""Layers for sequences of different lengths, which padding makes equally long."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.nn.module import Module
from engine.registry import LAYERS, Count
from engine.tensors import Tensor
from engine.tensors.creation.ranges import arange


@LAYERS.register(category="Attention", tags=("mask", "padding", "key_padding_mask", "tokens", "length"))
class PaddingMask(Module):
    """The mask of the padding in token indices, N×T: true where a step holds no token.

    Wire it to `key_padding_mask` or `src_key_padding_mask` of an attention layer, or to `mask` of LastStep.

    Args:
        padding_idx: index of the padding
    """

    def __init__(self, padding_idx: Count = 0) -> None:
        super().__init__()
        self.padding_idx = padding_idx

    def forward(self, input: Tensor) -> Tensor:
        return input == self.padding_idx

    def extra_repr(self) -> str:
        return f"padding_idx={self.padding_idx}"


@LAYERS.register(category="Recurrent", tags=("select", "time step", "many to one", "lstm", "gru", "padding"))
class LastStep(Module):
    """The last step of each sequence: N×T×E becomes N×E. With a mask, the last step that is not padding.

    A sequence of padding only gives its first step.
    """

    def forward(self, input: Tensor, mask: Tensor | None = None) -> Tensor:
        """Select the steps.

        Args:
            input: sequences, N×T×E
            mask: ``(N, T)``, true at padding
        """
        if input.ndim != 3:
            raise ShapeError(f"LastStep expects sequences N×T×E, not {input.ndim} dimensions")
        if mask is None:
            return input.select(1, -1)
        steps = arange(input.shape[1], device=input.device)
        last = (steps * (~mask).to(steps.dtype)).amax(1)
        return input.take_along_dim(last.reshape(-1, 1, 1).expand(-1, 1, input.shape[2]), 1).squeeze(1)
