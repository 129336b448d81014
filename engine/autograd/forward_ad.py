"""Forward-mode derivatives with dual tensors: a primal with a tangent.

Between `make_dual` and `unpack_dual`, ops are recorded as for a backward pass. The tangent of a result is its
Jacobian-vector product, computed by two backward passes (J. Townsend, "A new trick for calculating Jacobian vector
products", 2017). The values equal those of forward mode, but memory use is that of reverse mode, since the graph is
kept. Inside `no_grad` nothing is recorded, so results have no tangents.
"""

from __future__ import annotations

import functools
import threading
from types import TracebackType
from typing import NamedTuple

from engine.dtypes import promote_types
from engine.errors import DTypeError, ShapeError
from engine.graph import Node, grad
from engine.modes import enable_grad
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


class UnpackedDualTensor(NamedTuple):
    """Result of `unpack_dual`. The tangent is None if the tensor does not depend on a dual tensor."""

    primal: Tensor
    tangent: Tensor | None


class _Level(threading.local):
    """Dual tensors of this thread's level and their tangents; None outside of a level."""

    duals: list[tuple[Tensor, Tensor]] | None = None


_LEVEL = _Level()


def enter_dual_level() -> int:
    """Enter a dual level, in which dual tensors can be created. As in PyTorch, levels cannot be nested."""
    if _LEVEL.duals is not None:
        raise RuntimeError("enter_dual_level(): levels cannot be nested. Exit the current level first.")
    _LEVEL.duals = []
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Exit the dual level and discard its tangents."""
    if _LEVEL.duals is None or level not in (None, 0):
        raise RuntimeError("exit_dual_level(): only the innermost level can be exited.")
    _LEVEL.duals = None


class dual_level:
    """Context manager for a dual level, in which forward derivatives are computed."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a dual tensor of `tensor` and `tangent`. Results computed from it have tangents, see `unpack_dual`.

    The dual tensor keeps `tangent`, or a copy in the layout and dtype of `tensor`. If the dtypes differ, derivatives
    are computed in the dtype of `tensor` and returned in the wider dtype.
    """
    if _LEVEL.duals is None:
        raise RuntimeError("make_dual(): there is no dual level. Call it inside `with forward_ad.dual_level():`.")
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not value.is_floating_point():
            raise DTypeError(f"make_dual(): the {name} must be floating-point, not {value.dtype.name}")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise ShapeError(
            f"make_dual(): the tangent must have the tensor's shape {format_shape(tensor.shape)}, "
            f"not {format_shape(tangent.shape)}"
        )
    with enable_grad():
        dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    _LEVEL.duals.append((dual, tangent if tangent.stride() == tensor.stride() else zeros_like(tensor).copy_(tangent)))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the primal and the tangent of a tensor."""
    duals = _LEVEL.duals
    if not duals or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    for dual, tangent in duals:
        if tensor is dual:
            primal = tensor if tensor.grad_fn is not None or tangent.requires_grad else tensor.detach()
            return UnpackedDualTensor(primal, tangent)
    with enable_grad():
        seed = zeros_like(tensor).requires_grad_()
        vjps = grad([tensor], [dual for dual, _ in duals], [seed], create_graph=True, allow_unused=True)
        tangent_terms = [(vjp, tangent) for vjp, (_, tangent) in zip(vjps, duals, strict=True) if vjp is not None]
        if not tangent_terms:
            return UnpackedDualTensor(tensor, None)
        differentiable_terms = [(vjp, tangent) for vjp, tangent in tangent_terms if vjp.requires_grad]
        outs, out_tangents = zip(*differentiable_terms, strict=True) if differentiable_terms else ((), ())
        jvp = grad(outs, [seed], out_tangents, create_graph=True, allow_unused=True)[0]
        dtype = functools.reduce(promote_types, [tangent.dtype for _, tangent in tangent_terms], tensor.dtype)
        tangent = zeros_like(tensor, dtype=dtype) if jvp is None else jvp.to(dtype)
    needs_graph = _has_other_leaf(tensor, {id(dual) for dual, _ in duals if dual.grad_fn is None})
    needs_graph = needs_graph or any(tangent.requires_grad for _, tangent in tangent_terms)
    return UnpackedDualTensor(tensor, tangent) if needs_graph else UnpackedDualTensor(tensor.detach(), tangent.detach())


def _has_other_leaf(tensor: Tensor, dual_ids: set[int]) -> bool:
    """Return whether the graph has a leaf that is not a dual tensor, so that a backward pass may be needed too."""
    stack: list[object] = [tensor if tensor._node is None else tensor._node]
    visited: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, Node):
            stack.extend(edge[0] for edge in node.edges if edge is not None)
        elif id(node) not in dual_ids:
            return True
    return False


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
