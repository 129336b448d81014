"""Layers that add tokens and positions to sequences."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from engine.errors import ShapeError
from engine.functions import cat
from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.learned_tensors import expand_to_batch
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, FromInput, Positive, Size
from engine.tensors import Tensor
from engine.tensors.creation import empty, from_numpy

GROUP = "Tokens and positions"
LONGEST_WAVE = 10_000.0
"""Wavelength of the slowest sinusoid, divided by 2π."""


@LAYERS.register(
    category=GROUP,
    title="Class token",
    tags=("cls", "learned token", "register", "prompt", "vision transformer", "vit"),
)
class ClassToken(Module):
    """Prepends learned tokens to each sequence: ``(N, L, features) → (N, tokens + L, features)``.

    A transformer collects in the first token what a classifier reads. Source: Devlin et al., arXiv 1810.04805.

    Args:
        features: size of a token
        tokens: number of learned tokens
        std: standard deviation of the initial values
    """

    def __init__(
        self,
        features: Annotated[Size, FromInput(-1)],
        tokens: Size = 1,
        std: Positive = 0.02,
        device: DeviceArgument = None,
    ) -> None:
        super().__init__()
        self.features = features
        self.tokens = tokens
        self.weight = Parameter(init.normal_(empty((tokens, features), device=device), std=std))

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 3:
            raise ShapeError(f"ClassToken: expected a batch of sequences (N, L, features), not {input.ndim} dimensions")
        return cat([expand_to_batch(self.weight, input), input], dim=1)

    def extra_repr(self) -> str:
        return f"features={self.features}, tokens={self.tokens}"


@LAYERS.register(
    category=GROUP,
    title="Learned positions",
    tags=("positional embedding", "position encoding", "transformer", "vision transformer", "vit", "gpt"),
)
class LearnedPositions(Module):
    """Adds a learned vector for each position: ``(N, L, features) → (N, L, features)``.

    L may be smaller than `length`. Source: Gehring et al., arXiv 1705.03122.

    Args:
        length: largest number of positions
        features: size of a token
        std: standard deviation of the initial values
    """

    def __init__(
        self,
        length: Annotated[Size, FromInput(-2)],
        features: Annotated[Size, FromInput(-1)],
        std: Positive = 0.02,
        device: DeviceArgument = None,
    ) -> None:
        super().__init__()
        self.length = length
        self.features = features
        self.weight = Parameter(init.normal_(empty((length, features), device=device), std=std))

    def forward(self, input: Tensor) -> Tensor:
        return input + _first_positions(self.weight, input)

    def extra_repr(self) -> str:
        return f"length={self.length}, features={self.features}"


@LAYERS.register(
    category=GROUP,
    title="Sinusoidal positions",
    tags=("positional encoding", "position embedding", "sine", "cosine", "transformer"),
)
class SinusoidalPositions(Module):
    """Adds sines and cosines of the position: ``(N, L, features) → (N, L, features)``.

    Element 2i of position p is ``sin(p / 10000^(2i / features))``, element 2i + 1 its cosine. The table is a buffer.
    L may be smaller than `length`. Source: Vaswani et al., arXiv 1706.03762.

    Args:
        length: largest number of positions
        features: size of a token
    """

    weight: Tensor

    def __init__(
        self,
        length: Annotated[Size, FromInput(-2)],
        features: Annotated[Size, FromInput(-1)],
        device: DeviceArgument = None,
    ) -> None:
        super().__init__()
        self.length = length
        self.features = features
        table = empty((length, features), device=device)
        self.register_buffer(
            "weight", table if table.is_meta else from_numpy(_waves(length, features)).to(table.device)
        )

    def forward(self, input: Tensor) -> Tensor:
        return input + _first_positions(self.weight, input)

    def extra_repr(self) -> str:
        return f"length={self.length}, features={self.features}"


def _first_positions(table: Tensor, input: Tensor) -> Tensor:
    """The rows of a table for the positions of a batch."""
    if input.ndim < 2 or input.shape[-2] > table.shape[0]:
        found = "fewer than 2 dimensions" if input.ndim < 2 else f"{input.shape[-2]} positions"
        raise ShapeError(f"the input has {found}, but there are {table.shape[0]} positions (length)")
    return table.narrow(0, 0, input.shape[-2])


def _waves(length: int, features: int) -> NDArray[np.float32]:
    steps = np.arange(0, features, 2)
    angles = np.arange(length)[:, None] * np.exp(steps * (-math.log(LONGEST_WAVE) / features))
    table = np.zeros((length, features))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles[:, : features // 2])
    return table.astype(np.float32)
