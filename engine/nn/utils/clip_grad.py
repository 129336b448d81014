"""Gradient clipping."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, TypeAlias

from engine.errors import RangeError
from engine.modes import no_grad
from engine.ops.linalg.norms import vector_norm
from engine.ops.movement.joining import stack
from engine.tensors import Tensor
from engine.tensors.creation import tensor

Tensors: TypeAlias = Tensor | Iterable[Tensor]


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their total norm is at most `max_norm`. Returns the norm before clipping.

    Source: Pascanu et al., On the difficulty of training recurrent neural networks, arXiv 1211.5063.

    Args:
        parameters: parameters whose gradients are scaled; those without a gradient are skipped
        max_norm: maximum of the total norm
        norm_type: exponent of the norm; ``inf`` for the maximum norm
        error_if_nonfinite: raise an error if the norm is infinite or NaN
        foreach: no effect
    """
    parameters = _as_list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Norm of all tensors as one vector."""
    tensors = _as_list(tensors)
    if not tensors:
        return tensor(0.0)
    norms = [vector_norm(each, float(norm_type)).to(device=tensors[0].device) for each in tensors]
    total = vector_norm(stack(norms), float(norm_type))
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RangeError(
            f"the norm of the gradients is {total.item()}, so they cannot be clipped.",
            in_code="Pass error_if_nonfinite=False to ignore this.",
        )
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`."""
    warnings.warn("clip_grad_norm is deprecated. Use clip_grad_norm_.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients, whose total norm is `total_norm`, so that it is at most `max_norm`."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in _gradients(_as_list(parameters)):
        gradient.mul_(scale.to(dtype=gradient.dtype, device=gradient.device))


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every gradient element to the range from ``-clip_value`` to ``clip_value``."""
    bound = float(clip_value)
    for gradient in _gradients(_as_list(parameters)):
        gradient.copy_(gradient.clamp(-bound, bound))


def _as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: list[Tensor]) -> list[Any]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]
