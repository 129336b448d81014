"""Linear and bilinear maps."""

from __future__ import annotations

from engine.amp.cast_policy import cast_by_name
from engine.errors import ShapeError
from engine.ops.linalg import matmul
from engine.shape import format_shape
from engine.tensors import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x Wᵀ + b``: input ``(*, I)``, weight ``(O, I)`` and bias ``O`` give ``(*, O)``."""
    return matmul.linear(input, weight, bias)


@cast_by_name
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x₁ᵀ W x₂ + b``: inputs ``(*, I)`` and ``(*, J)`` and weight ``(O, I, J)`` give ``(*, O)``."""
    outputs, first, second = weight.shape
    if input1.shape[-1] != first or input2.shape[-1] != second or input1.shape[:-1] != input2.shape[:-1]:
        raise ShapeError(
            f"bilinear: the weight requires inputs …×{first} and …×{second}, "
            f"not {format_shape(input1.shape)} and {format_shape(input2.shape)}"
        )
    projected = input1 @ weight.permute((1, 0, 2)).reshape((first, outputs * second))
    out = (projected.unflatten(-1, (outputs, second)) @ input2.unsqueeze(-1)).squeeze(-1)
    return out if bias is None else out + bias
