"""Tensors saved for the backward pass, packed by `saved_tensors_hooks` if these are active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from engine.errors import AutogradError, StaleTensorError
from engine.graph.node import Edge, Node, PassThrough, format_location
from engine.modes import MODES, Packing

Saved = tuple[Any, "int | None"]
"""A tensor and its version when it was saved; or a `PackedTensor` and None."""

SavedEntry = tuple[str, Any, Any, "int | None"]
"""Name of a saved tensor, the tensor or what a pack hook returned, its Spec, and its version when it was saved."""


class PackedTensor:
    """Result of a pack hook, with the unpack hook."""

    __slots__ = ("unpack", "value")

    def __init__(self, value: Any, unpack: Callable[[Any], Any]) -> None:
        self.value, self.unpack = value, unpack


def pack(tensor: Any, packing: Packing) -> Saved:
    """Pass `tensor` through the innermost pack hook."""
    version = tensor._storage.version
    outer, MODES.grad = MODES.grad, False
    try:
        value = packing.pack(tensor.detach())
    finally:
        MODES.grad = outer
    if tensor._storage.version != version:
        raise AutogradError(
            "a pack hook of saved_tensors_hooks changed its input in place. Return a new tensor instead."
        )
    return PackedTensor(value, packing.unpack), None


def unpack(packed: PackedTensor, spec: Any) -> Any:
    outer, MODES.grad = MODES.grad, False
    try:
        tensor = packed.unpack(packed.value)
    finally:
        MODES.grad = outer
    if not hasattr(tensor, "_storage"):
        raise TypeError(f"an unpack hook must return a tensor, not {type(tensor).__name__}")
    if spec is not None and tuple(tensor._array.shape) != tuple(spec[0]):
        raise AutogradError(
            f"an unpack hook must return a tensor of shape {tuple(spec[0])}, not {tuple(tensor._array.shape)}"
        )
    return tensor


def with_history(tensor: Any, edge: Edge) -> Any:
    """Return the unpacked tensor with the grad_fn of the tensor that was packed."""
    if edge is None:
        return tensor.detach()
    target, index = edge
    if isinstance(target, Node):
        return tensor._with_history(target, index)
    spec = (tensor._array.shape, tensor._array.dtype)
    return tensor._with_history(PassThrough((edge,), (spec,), None), 0)


def raise_modified(what: str, call: str, where: Any, tensor: Any, version: int) -> NoReturn:
    raise StaleTensorError(
        f"{what} of {call}(){format_location(where)}, {tensor.spec}, is needed for its gradient but was "
        "changed in place afterwards.",
        in_code=f"It has version {tensor._storage.version}, but version {version} was saved. "
        "Use the out-of-place op, or clone() before changing it.",
        location=where,
    )


def raise_freed(node: Node) -> NoReturn:
    raise AutogradError(
        f"backward through {node.name()}{format_location(node.where)} a second time: the first backward freed its "
        "saved tensors.",
        in_code="Pass retain_graph=True to the first backward.",
    )


def raise_inference_tensor(tensor: Any) -> NoReturn:
    raise AutogradError(
        f"Inference tensors cannot be saved for backward: {tensor.spec} was created in inference_mode() but used in a "
        "computation that autograd records.",
        in_code="Use clone() for a normal tensor, or no_grad() instead of inference_mode().",
    )
