"""Inputs with and without a batch dimension."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.shape import format_shape
from engine.tensors import Tensor


def add_batch_dimension(name: str, input: Tensor, ndim: int) -> tuple[Tensor, bool]:
    """``N×C×…`` from that or from ``C×…``, and whether there was no batch dimension. `ndim` counts what is spatial."""
    if input.ndim == ndim + 2:
        return input, False
    if input.ndim == ndim + 1:
        return input.unsqueeze(0), True
    raise ShapeError(
        f"{name} needs an input of {ndim + 2} dimensions (batch, channels, {ndim} spatial) or {ndim + 1} "
        f"without batch, not {format_shape(input.shape)}."
    )
