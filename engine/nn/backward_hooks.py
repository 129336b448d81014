"""Full backward hooks of modules."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from engine.autograd import Function
from engine.errors import AutogradError
from engine.tensors import Tensor

Gradients = tuple[Any, ...]


class _Boundary(Function):
    """Identity whose autograd node marks where gradients enter or leave a module."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class BackwardHooks:
    """Backward hooks of one call of a module."""

    def __init__(self, module: Any, before: Sequence[Callable[..., Any]], after: Sequence[Callable[..., Any]]) -> None:
        self.module, self.before, self.after = module, before, after
        self.inputs: list[int] | None = None
        """Indices of tensors among the arguments; None if no argument requires gradients."""
        self.n_inputs = self.n_outputs = 0
        self.grad_outputs: Gradients | None = None

    def on_inputs(self, args: Gradients) -> Gradients:
        """Wrap the arguments, so that their gradients call the hooks."""
        self.n_inputs = len(args)
        if not self.after:
            return args
        indices, args, node = _wrap(args)
        if node is not None:
            self.inputs = indices
            node.register_hook(self._run_hooks)
        return args

    def on_outputs(self, output: Any) -> Any:
        """Wrap the output, so that its gradients call the pre-hooks."""
        is_tuple = isinstance(output, tuple)
        values = tuple(output) if is_tuple else (output,)
        self.n_outputs = len(values)
        indices, values, node = _wrap(values)
        if node is not None:
            node.register_hook(lambda grads, _: self._run_pre_hooks(indices, grads))
        return values if is_tuple else values[0]

    def _run_pre_hooks(self, indices: list[int], grads: Gradients) -> Gradients:
        self.grad_outputs = _scatter(indices, grads, self.n_outputs)
        for hook in self.before:
            self.grad_outputs = _hook_result(hook(self.module, self.grad_outputs), self.grad_outputs, "pre-hook")
        found = tuple([self.grad_outputs[index] for index in indices])
        if self.inputs is None and self.after:
            self._run_hooks_without_inputs()
        return found

    def _run_hooks_without_inputs(self) -> None:
        """Call the hooks with the output gradients only, because no input requires gradients."""
        warnings.warn(
            "a full backward hook runs although no input of the module requires gradients; grad_input is None",
            stacklevel=2,
        )
        for hook in self.after:
            found = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if found is not None and not (isinstance(found, tuple) and all(one is None for one in found)):
                raise AutogradError("a backward hook must return None where no input of the module requires gradients")
        self.grad_outputs = None

    def _run_hooks(self, grads: Gradients, _: Gradients) -> Gradients | None:
        if self.grad_outputs is None or self.inputs is None:
            return None  # gradients that bypass the output do not call hooks, as in PyTorch
        found = _scatter(self.inputs, grads, self.n_inputs)
        for hook in self.after:
            found = _hook_result(hook(self.module, found, self.grad_outputs), found, "hook")
        self.grad_outputs = None
        return tuple([found[index] for index in self.inputs])


def _wrap(values: Gradients) -> tuple[list[int], Gradients, Any]:
    """Indices of the tensors, the values wrapped in a boundary, and its node if gradients flow through it."""
    indices = [index for index, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[index].requires_grad for index in indices):
        return indices, values, None
    tensors = _Boundary.apply(*[values[index] for index in indices])
    node = next((tensor.grad_fn for tensor in tensors if tensor.requires_grad), None)
    wrapped = list(values)
    for index, tensor in zip(indices, tensors, strict=True):
        wrapped[index] = tensor
    return indices, tuple(wrapped), node


def _scatter(indices: Sequence[int], grads: Gradients, count: int) -> Gradients:
    found: list[Any] = [None] * count
    for index, gradient in zip(indices, grads, strict=True):
        found[index] = gradient
    return tuple(found)


def _hook_result(found: Any, old: Gradients, kind: str) -> Gradients:
    if found is None:
        return old
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(old):
        raise AutogradError(
            f"a backward {kind} of a module must return as many gradients as it receives: {len(old)}, not {len(found)}"
        )
    return found
