"""Conversion between parameters and one vector."""

from __future__ import annotations

from collections.abc import Iterable

from engine.errors import ShapeError
from engine.ops.movement.joining import cat
from engine.tensors import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate the elements of all parameters to one vector."""
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters to consecutive elements of `vec`, as views."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters requires a tensor, not {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        if end > vec.numel():
            raise ShapeError(
                f"vector_to_parameters: the vector has {vec.numel()} elements, but the parameters need more"
            )
        parameter.data = vec[start:end].reshape(parameter.shape).detach()
        start = end
