"""Access to the autograd graph: nodes, saved tensor hooks, and hooks on several tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal

from engine.errors import AutogradError
from engine.graph import AccumulateGrad, GradientEdge, Node, RemovableHandle
from engine.graph.node import function_of
from engine.modes import MODES, Packing
from engine.tensors import Tensor

__all__ = [
    "AccumulateGrad",
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:
    """Context manager: tensors saved for the backward pass are stored as `pack_hook` returns them.

    Args:
        pack_hook: takes a tensor, returns any object
        unpack_hook: takes that object, returns a tensor with the same values
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self._packing = Packing(pack_hook, unpack_hook)
        self._outer: list[Packing | None] = []

    def __enter__(self) -> None:
        if MODES.packing_disabled_message is not None:
            raise AutogradError(MODES.packing_disabled_message)
        self._outer.append(MODES.packing)
        MODES.packing = self._packing

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.packing = self._outer.pop()


class save_on_cpu(saved_tensors_hooks):
    """Context manager: tensors saved for the backward pass are stored on the CPU until they are needed."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            return packed[1].to(packed[0])

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager: using `saved_tensors_hooks` raises an error with this message."""
    if MODES.packing is not None:
        raise AutogradError("saved_tensors_hooks are active, so they cannot be disabled")
    outer, MODES.packing_disabled_message = MODES.packing_disabled_message, error_message
    try:
        yield
    finally:
        MODES.packing_disabled_message = outer


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Context manager: copies are saved for the backward pass, so that saved tensors may be modified in place."""
    with saved_tensors_hooks(lambda tensor: tensor.clone(), lambda tensor: tensor):
        yield


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the gradient edge of `tensor`. `grad` and `backward` accept it in place of the tensor."""
    edge = tensor.edge
    if edge is None:
        raise AutogradError("get_gradient_edge() needs a tensor that requires gradients")
    return GradientEdge(function_of(edge[0]), edge[1])


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version of `tensor`, after code outside the engine wrote to its memory."""
    for value in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if value.is_inference():
            raise AutogradError("an inference tensor has no version counter")
        value._storage.version += 1


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Call `fn` once in each backward pass that computes gradients of some of `tensors`.

    Args:
        tensors: tensors whose gradients are collected
        fn: with "all", takes the list of gradients, None for tensors not reached; with "any", one gradient
        mode: "all" waits for all gradients, "any" calls `fn` with the first one
    """
    if mode not in ("all", "any"):
        raise ValueError(f'register_multi_grad_hook: mode must be "all" or "any", not {mode!r}')
    collected: dict[int, list[Tensor | None]] = {}
    edges = [tensor.edge for tensor in tensors]

    def reached(number: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            backward_pass = MODES.backward_pass
            first = id(backward_pass) not in collected
            grads = collected.setdefault(id(backward_pass), [None] * len(edges))
            grads[number] = gradient
            if mode == "any":
                if first:
                    backward_pass.at_end.append(lambda: collected.pop(id(backward_pass), None))
                    fn(gradient)
                return
            if first:
                backward_pass.at_end.append(lambda: collected.pop(id(backward_pass), None))
            if sum(g is not None for g in grads) == sum(backward_pass.computes_gradient(edge) for edge in edges):
                fn(grads)

        return hook

    handles = [tensor.register_hook(reached(number)) for number, tensor in enumerate(tensors)]
    return _Handles(handles)


class _Handles(RemovableHandle):
    """Several handles as one."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        super().__init__()
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
