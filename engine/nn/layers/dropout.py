"""Dropout."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.registry import LAYERS, Probability
from engine.tensor import Tensor


@LAYERS.register(category="Dropout", tags=("regularization", "regularisation"))
class Dropout(Module):
    """In training sets each element to 0 with probability `p` and multiplies the rest by ``1 / (1 - p)``.

    In evaluation it passes its input on. The shape stays. Source: Srivastava et al., JMLR 15 (2014).

    Args:
        p: probability of an element to be dropped
        inplace: write the result into the input's memory
    """

    def __init__(self, p: Probability = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"p is a probability, between 0 and 1, not {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
