"""Optional batch dimensions."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.shape import format_shape
from engine.tensors import Tensor


def add_batch_dimension(name: str, input: Tensor, ndim: int) -> tuple[Tensor, bool]:
    """Add a batch dimension to an input without one, for `ndim` spatial dimensions.

    Returns the input ``(N, C, *)`` and whether the dimension was added. Raises ShapeError for other numbers of
    dimensions.
    """
    if input.ndim == ndim + 2:
        return input, False
    if input.ndim == ndim + 1:
        return input.unsqueeze(0), True
    raise ShapeError(
        f"{name} requires an input of {ndim + 2} dimensions (batch, channels, {ndim} spatial) or {ndim + 1} "
        f"without batch, not {format_shape(input.shape)}."
    )
