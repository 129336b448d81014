"""Derivatives carried along with the computation: dual tensors, a primal with a tangent.

Between `make_dual` and `unpack_dual` ops are recorded as for a backward pass, and the tangent of a result is the
product of the Jacobian with the tangents, found by differentiating twice (J. Townsend, "A new trick for calculating
Jacobian vector products", 2017). So the numbers are those of forward mode, and the memory is that of backward mode: a
graph is kept. Inside `no_grad` nothing is recorded, and there are no tangents.
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
    """What `unpack_dual` returns; the tangent is None where the tensor does not depend on a dual one."""

    primal: Tensor
    tangent: Tensor | None


class _Level(threading.local):
    """The duals of this thread's level, and their tangents; None outside of one."""

    duals: list[tuple[Tensor, Tensor]] | None = None


_LEVEL = _Level()


def enter_dual_level() -> int:
    """Begin a level: dual tensors can be made until it is left. There is one at a time, as in PyTorch."""
    if _LEVEL.duals is not None:
        raise RuntimeError("enter_dual_level(): levels cannot be nested. Leave the one that is entered first.")
    _LEVEL.duals = []
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tangents are forgotten."""
    if _LEVEL.duals is None or level not in (None, 0):
        raise RuntimeError("exit_dual_level(): only the level that was entered last can be left.")
    _LEVEL.duals = None


class dual_level:
    """A level for the code inside, in which forward derivatives are computed."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a direction: what is computed from it has the derivative in that direction, see `unpack_dual`.

    The dual keeps `tangent` itself, or a copy in the layout and the dtype of `tensor`. Where the dtypes differ, the
    derivatives have the wider one, and are computed in that of `tensor`.
    """
    if _LEVEL.duals is None:
        raise RuntimeError("make_dual(): there is no level. Call it inside `with forward_ad.dual_level():`.")
    for name, one in (("tensor", tensor), ("tangent", tangent)):
        if not one.is_floating_point():
            raise DTypeError(f"make_dual(): the {name} must be of floating point, not {one.dtype.name}")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise ShapeError(
            f"make_dual(): the tangent must be {format_shape(tensor.shape)} as the tensor, "
            f"not {format_shape(tangent.shape)}"
        )
    with enable_grad():
        dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    _LEVEL.duals.append((dual, tangent if tangent.stride() == tensor.stride() else zeros_like(tensor).copy_(tangent)))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor, and its derivative in the direction of the duals that it was computed from."""
    duals = _LEVEL.duals
    if not duals or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    for dual, tangent in duals:
        if tensor is dual:
            primal = tensor if tensor.grad_fn is not None or tangent.requires_grad else tensor.detach()
            return UnpackedDualTensor(primal, tangent)
    with enable_grad():
        seed = zeros_like(tensor).requires_grad_()
        slopes = grad([tensor], [dual for dual, _ in duals], [seed], create_graph=True, allow_unused=True)
        met = [(slope, tangent) for slope, (_, tangent) in zip(slopes, duals, strict=True) if slope is not None]
        if not met:
            return UnpackedDualTensor(tensor, None)
        kept = [(slope, tangent) for slope, tangent in met if slope.requires_grad]
        found = grad([s for s, _ in kept], [seed], [t for _, t in kept], create_graph=True, allow_unused=True)[0]
        dtype = functools.reduce(promote_types, [tangent.dtype for _, tangent in met], tensor.dtype)
        tangent = zeros_like(tensor, dtype=dtype) if found is None else found.to(dtype)
    followed = _leads_elsewhere(tensor, {id(dual) for dual, _ in duals if dual.grad_fn is None})
    followed = followed or any(tangent.requires_grad for _, tangent in met)
    return UnpackedDualTensor(tensor, tangent) if followed else UnpackedDualTensor(tensor.detach(), tangent.detach())


def _leads_elsewhere(tensor: Tensor, own: set[int]) -> bool:
    """Whether the graph below has a leaf that is not one of the duals: then a backward pass is wanted as well."""
    stack: list[object] = [tensor if tensor._node is None else tensor._node]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Node):
            stack.extend(edge[0] for edge in node.edges if edge is not None)
        elif id(node) not in own:
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
