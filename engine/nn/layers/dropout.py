"""Dropout."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, Probability
from engine.tensors import Tensor

GROUP = "Dropout"


class DropoutLayer(Module):
    """What layers share that drop something with a probability while training."""

    def __init__(self, p: Probability = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"p is a probability, between 0 and 1, not {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


@LAYERS.register(category=GROUP, tags=("regularization", "regularisation"))
class Dropout(DropoutLayer):
    """In training sets each element to 0 with probability `p` and multiplies the rest by ``1 / (1 - p)``.

    In evaluation it passes its input on. The shape stays. Source: Srivastava et al., JMLR 15 (2014).

    Args:
        p: probability of an element to be dropped
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "spatial", "channels"))
class Dropout1d(DropoutLayer):
    """In training drops whole channels of sequences, ``N×C×L`` or ``C×L``. The shape stays.

    Source: Tompson et al., arXiv 1411.4280.

    Args:
        p: probability of a channel to be dropped
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "spatial", "channels"))
class Dropout2d(DropoutLayer):
    """In training drops whole channels of images, ``N×C×H×W``. The shape stays.

    Source: Tompson et al., arXiv 1411.4280.

    Args:
        p: probability of a channel to be dropped
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "spatial", "channels"))
class Dropout3d(DropoutLayer):
    """In training drops whole channels of volumes, ``N×C×D×H×W`` or ``C×D×H×W``. The shape stays.

    Source: Tompson et al., arXiv 1411.4280.

    Args:
        p: probability of a channel to be dropped
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "selu"))
class AlphaDropout(DropoutLayer):
    """Dropout that goes with SELU: mean and variance stay what they are.

    Source: Klambauer et al., arXiv 1706.02515.

    Args:
        p: probability of an element to be dropped
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


@LAYERS.register(category=GROUP, tags=("regularization", "selu", "channels"))
class FeatureAlphaDropout(DropoutLayer):
    """Alpha dropout of whole channels.

    Args:
        p: probability of a channel to be dropped
        inplace: write the result into the input's memory
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
