"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from engine.errors import ShapeError
from engine.ops.movement.joining import cat
from engine.tensors import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in a row."""
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the elements of `vec`, of which they become views."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters takes a tensor, not {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        if end > vec.numel():
            raise ShapeError(f"the vector has {vec.numel()} elements, too few for the parameters")
        parameter.data = vec[start:end].reshape(parameter.shape).detach()
        start = end
