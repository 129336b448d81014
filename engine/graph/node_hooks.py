"""Hooks that a backward pass calls at a node or leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.errors import AutogradError
from engine.graph.removable_handle import RemovableHandle
from engine.shape import format_shape

Hook = Callable[..., Any]


class Hooks:
    """Hooks of a node or leaf, in the order in which they run."""

    __slots__ = ("accumulated", "after", "before", "retained", "tensors")

    def __init__(self) -> None:
        self.tensors: dict[int, tuple[int, Hook]] = {}
        """`hook(gradient)` of an output, with the output index."""
        self.retained: dict[int, Hook] = {}
        """Output index → hook that retains the gradient after the tensor hooks."""
        self.before: dict[int, Hook] = {}
        """`hook(grad_outputs)`."""
        self.after: dict[int, Hook] = {}
        """`hook(grad_inputs, grad_outputs)`."""
        self.accumulated: dict[int, Hook] = {}
        """`hook(leaf)`, after `.grad` was accumulated."""

    def on_tensor(self, index: int, hook: Hook) -> RemovableHandle:
        return RemovableHandle.add(self.tensors, (index, _callable(hook)))

    def run_on_tensors(self, grads: list[Any]) -> None:
        """Run the tensor hooks on `grads`. A hook may remove itself."""
        for index, hook in tuple(self.tensors.values()):
            if grads[index] is not None:
                grads[index] = _checked(hook(grads[index]), grads[index])
        for index, keep in self.retained.items():
            if grads[index] is not None:
                keep(grads[index])

    def run_before(self, grads: list[Any]) -> list[Any]:
        for hook in tuple(self.before.values()):
            grads = _replaced(hook(tuple(grads)), grads)
        return grads

    def run_after(self, found: list[Any], grads: Sequence[Any]) -> list[Any]:
        for hook in tuple(self.after.values()):
            found = _replaced(hook(tuple(found), tuple(grads)), found)
        return found


def _callable(hook: Hook) -> Hook:
    if not callable(hook):
        raise TypeError(f"a hook must be a function, not {type(hook).__name__}")
    return hook


def _checked(found: Any, gradient: Any) -> Any:
    if found is None:
        return gradient
    if getattr(found, "shape", None) != gradient.shape:
        given = f"{type(found).__name__} of {format_shape(getattr(found, 'shape', ()))}"
        raise AutogradError(
            f"a gradient hook must return None or a tensor of the gradient's shape {format_shape(gradient.shape)}, "
            f"not a {given}"
        )
    return found


def _replaced(found: Any, grads: list[Any]) -> list[Any]:
    if found is None:
        return grads
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    if len(found) != len(grads):
        raise AutogradError(f"a hook must return as many gradients as it receives: {len(grads)}, not {len(found)}")
    return [
        gradient if gradient is None or old is None else _checked(gradient, old)
        for gradient, old in zip(found, grads, strict=True)
    ]
