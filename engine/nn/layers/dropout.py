"""Dropout layers."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, Probability
from engine.tensors import Tensor

GROUP = "Dropout"


class DropoutLayer(Module):
    """Base of dropout layers: a probability `p`, active in training only."""

    def __init__(self, p: Probability = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"p must be a probability between 0 and 1, not {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


@LAYERS.register(category=GROUP, tags=("regularization", "regularisation"))
class Dropout(DropoutLayer):
    """Zeroes elements with probability `p` in training and scales the others by ``1 / (1 - p)``.

    Identity in evaluation; any shape. Source: Srivastava et al., JMLR 15 (2014).

    Args:
        p: probability of an element to be zeroed
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "spatial", "channels"))
class Dropout1d(DropoutLayer):
    """Zeroes whole channels of ``(N, C, L)`` with probability `p` in training.

    The other channels are scaled by ``1 / (1 - p)``; the batch dimension is optional. Source: Tompson et al., arXiv
    1411.4280.

    Args:
        p: probability of a channel to be zeroed
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "spatial", "channels"))
class Dropout2d(DropoutLayer):
    """Zeroes whole channels of ``(N, C, H, W)`` with probability `p` in training.

    The other channels are scaled by ``1 / (1 - p)``. Source: Tompson et al., arXiv 1411.4280.

    Args:
        p: probability of a channel to be zeroed
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "spatial", "channels"))
class Dropout3d(DropoutLayer):
    """Zeroes whole channels of ``(N, C, D, H, W)`` with probability `p` in training.

    The other channels are scaled by ``1 / (1 - p)``; the batch dimension is optional. Source: Tompson et al., arXiv
    1411.4280.

    Args:
        p: probability of a channel to be zeroed
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "selu"))
class AlphaDropout(DropoutLayer):
    """Dropout for SELU networks, which keeps mean and variance of the activations.

    Source: Klambauer et al., arXiv 1706.02515.

    Args:
        p: probability of an element to be dropped
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "selu", "channels"))
class FeatureAlphaDropout(DropoutLayer):
    """Alpha dropout of whole channels of ``(N, C, *)``.

    Args:
        p: probability of a channel to be dropped
        inplace: write the result to the memory of the input
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
