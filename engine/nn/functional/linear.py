"""Matrix products with weights, and look-ups in them."""

from __future__ import annotations

from engine.errors import DTypeError
from engine.ops import linalg
from engine.ops.choice import where
from engine.ops.index import Owner, index_select
from engine.tensor import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x Wᵀ + b`` over the last dimension: ``…×I`` with `weight` ``O×I`` and `bias` ``O`` gives ``…×O``."""
    return linalg.linear(input, weight, bias)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of `weight` at the whole numbers `input`; row `padding_idx` gets no gradient."""
    if input.dtype.is_floating_point:
        raise DTypeError(f"embedding looks up whole numbers, but the input is {input.dtype.name}. Use input.long().")
    rows = index_select(weight, 0, input.flatten(), owner=_ROWS).reshape(*input.shape, weight.shape[1])
    if padding_idx is None:
        return rows
    return where((input == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)


_ROWS = Owner("embedding", "rows of the weight")
