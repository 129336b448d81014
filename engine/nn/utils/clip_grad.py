"""Holding gradients within bounds."""

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
    """Scale all gradients together so that their norm is at most `max_norm`; returns what it was.

    Source: Pascanu et al., On the difficulty of training recurrent neural networks, arXiv 1211.5063.

    Args:
        parameters: whose gradients to scale; those without one are left out
        max_norm: the norm of all gradients as one vector
        norm_type: which norm; ``inf`` for the largest component
        error_if_nonfinite: raise if the norm is infinite or NaN, instead of going on with such gradients
        foreach: no effect
    """
    parameters = _listed(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors as one vector."""
    tensors = _listed(tensors)
    if not tensors:
        return tensor(0.0)
    norms = [vector_norm(each, float(norm_type)).to(device=tensors[0].device) for each in tensors]
    total = vector_norm(stack(norms), float(norm_type))
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RangeError(
            f"the norm of the gradients is {total.item()}, so they cannot be clipped.",
            in_code="Pass error_if_nonfinite=False to go on with such gradients.",
        )
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """PyTorch's old name of `clip_grad_norm_`."""
    warnings.warn("clip_grad_norm is the old name of clip_grad_norm_", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients so that their norm, which is `total_norm`, is at most `max_norm`."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in _gradients(_listed(parameters)):
        gradient.mul_(scale.to(dtype=gradient.dtype, device=gradient.device))


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Hold every component of the gradients between ``-clip_value`` and ``clip_value``."""
    bound = float(clip_value)
    for gradient in _gradients(_listed(parameters)):
        gradient.copy_(gradient.clamp(-bound, bound))


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: list[Tensor]) -> list[Any]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]
