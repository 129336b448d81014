"""Dropout."""

from __future__ import annotations

from engine.ops import random
from engine.tensor import Tensor


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training sets each element to 0 with probability `p` and multiplies the rest by ``1 / (1 - p)``.

    Source: Srivastava et al., JMLR 15 (2014).
    """
    if not training:
        return input
    result = random.dropout(input, p)
    return input.copy_(result) if inplace else result
