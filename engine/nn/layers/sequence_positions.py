"""Layers that depend only on the length of a sequence: positions, and the mask of later positions."""

from __future__ import annotations

from engine.dtypes import float32
from engine.errors import ShapeError
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor
from engine.tensors.creation.constant_tensors import full
from engine.tensors.creation.ranges import arange


@LAYERS.register(category="Attention", tags=("position", "arange", "index", "embedding", "transformer"))
class Positions(Module):
    """The positions 0, 1, …, T-1 of a batch of sequences, N×T or N×T×E: the input of a positional embedding."""

    def forward(self, input: Tensor) -> Tensor:
        return arange(_length("Positions", input), device=input.device)


@LAYERS.register(category="Attention", tags=("mask", "triangular", "decoder", "gpt", "attn_mask", "transformer"))
class CausalMask(Module):
    """The T×T attention mask of a batch of sequences, N×T or N×T×E, that hides later positions.

    It is 0 on and below the diagonal and -inf above. Wire it to `attn_mask` or `src_mask`. It equals
    `nn.Transformer.generate_square_subsequent_mask(T)`.
    """

    def forward(self, input: Tensor) -> Tensor:
        length = _length("CausalMask", input)
        dtype = input.dtype if input.dtype.is_floating_point else float32
        return full((length, length), float("-inf"), dtype=dtype, device=input.device).triu(1)


def _length(layer: str, input: Tensor) -> int:
    if input.ndim < 2:
        raise ShapeError(f"{layer} expects a batch of sequences, N×T or N×T×E, not {input.ndim} dimensions")
    return input.shape[1]
