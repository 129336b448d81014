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
                grads[index] = _check_replacement(hook(grads[index]), grads[index])
        for index, keep in self.retained.items():
            if grads[index] is not None:
                keep(grads[index])

    def run_before(self, grads: list[Any]) -> list[Any]:
        for hook in tuple(self.before.values()):
            grads = _replace(hook(tuple(grads)), grads)
        return grads

    def run_after(self, results: list[Any], grads: Sequence[Any]) -> list[Any]:
        for hook in tuple(self.after.values()):
            results = _replace(hook(tuple(results), tuple(grads)), results)
        return results


def _callable(hook: Hook) -> Hook:
    if not callable(hook):
        raise TypeError(f"a hook must be a function, not {type(hook).__name__}")
    return hook


def _check_replacement(results: Any, gradient: Any) -> Any:
    if results is None:
        return gradient
    if getattr(results, "shape", None) != gradient.shape:
        got = f"{type(results).__name__} of {format_shape(getattr(results, 'shape', ()))}"
        raise AutogradError(
            f"a gradient hook must return None or a tensor of the gradient's shape {format_shape(gradient.shape)}, "
            f"not a {got}"
        )
    return results


def _replace(results: Any, grads: list[Any]) -> list[Any]:
    if results is None:
        return grads
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    if len(results) != len(grads):
        raise AutogradError(f"a hook must return as many gradients as it receives: {len(grads)}, not {len(results)}")
    return [
        gradient if gradient is None or old is None else _check_replacement(gradient, old)
        for gradient, old in zip(results, grads, strict=True)
    ]
