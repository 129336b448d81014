"""Functions that run when the gradients of a module's output, and then of its input, are known."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from engine.autograd import Function
from engine.errors import AutogradError
from engine.tensors import Tensor

Gradients = tuple[Any, ...]


class _Boundary(Function):
    """Does nothing: its node stands where gradients enter or leave a module."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class BackwardHooks:
    """The hooks of one call of a module."""

    def __init__(self, module: Any, before: Sequence[Callable[..., Any]], after: Sequence[Callable[..., Any]]) -> None:
        self.module, self.before, self.after = module, before, after
        self.inputs: list[int] | None = None
        """Places of tensors among the arguments; None if no gradient goes that way."""
        self.n_inputs = self.n_outputs = 0
        self.grad_outputs: Gradients | None = None

    def on_inputs(self, args: Gradients) -> Gradients:
        """The arguments, such that gradients that come back through them call the hooks."""
        self.n_inputs = len(args)
        if not self.after:
            return args
        places, args, node = _bounded(args)
        if node is not None:
            self.inputs = places
            node.register_hook(self._leave)
        return args

    def on_outputs(self, output: Any) -> Any:
        """The result, such that gradients that come to it call the hooks."""
        several = isinstance(output, tuple)
        given = tuple(output) if several else (output,)
        self.n_outputs = len(given)
        places, given, node = _bounded(given)
        if node is not None:
            node.register_hook(lambda grads, _: self._enter(places, grads))
        return given if several else given[0]

    def _enter(self, places: list[int], grads: Gradients) -> Gradients:
        self.grad_outputs = _spread(places, grads, self.n_outputs)
        for hook in self.before:
            self.grad_outputs = _replaced(hook(self.module, self.grad_outputs), self.grad_outputs, "pre-hook")
        found = tuple([self.grad_outputs[place] for place in places])
        if self.inputs is None and self.after:
            self._without_inputs()
        return found

    def _without_inputs(self) -> None:
        """No input wants a gradient: the hooks are told of the output's alone."""
        warnings.warn(
            "a full backward hook runs although no input of the module requires gradients; grad_input is None",
            stacklevel=2,
        )
        for hook in self.after:
            found = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if found is not None and not (isinstance(found, tuple) and all(one is None for one in found)):
                raise AutogradError("a backward hook must return None where no input of the module requires gradients")
        self.grad_outputs = None

    def _leave(self, grads: Gradients, _: Gradients) -> Gradients | None:
        if self.grad_outputs is None or self.inputs is None:
            return None  # gradients that did not come through the output, as in PyTorch
        found = _spread(self.inputs, grads, self.n_inputs)
        for hook in self.after:
            found = _replaced(hook(self.module, found, self.grad_outputs), found, "hook")
        self.grad_outputs = None
        return tuple([found[place] for place in self.inputs])


def _bounded(values: Gradients) -> tuple[list[int], Gradients, Any]:
    """Places of the tensors, the values with a boundary at these, and its node if a gradient goes through it."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[place].requires_grad for place in places):
        return places, values, None
    tensors = _Boundary.apply(*[values[place] for place in places])
    node = next((tensor.grad_fn for tensor in tensors if tensor.requires_grad), None)
    changed = list(values)
    for place, tensor in zip(places, tensors, strict=True):
        changed[place] = tensor
    return places, tuple(changed), node


def _spread(places: Sequence[int], grads: Gradients, count: int) -> Gradients:
    found: list[Any] = [None] * count
    for place, gradient in zip(places, grads, strict=True):
        found[place] = gradient
    return tuple(found)


def _replaced(found: Any, old: Gradients, kind: str) -> Gradients:
    if found is None:
        return old
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(old):
        raise AutogradError(
            f"a backward {kind} of a module must return as many gradients as it gets: {len(old)}, not {len(found)}"
        )
    return found
