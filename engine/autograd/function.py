"""Custom autograd functions.

class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

y = Square.apply(x)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from engine.autograd.context import FunctionCtx
from engine.autograd.function_node import FunctionNode
from engine.errors import AutogradError
from engine.graph.node import ErrorNode
from engine.modes import MODES, enable_grad, no_grad
from engine.tensors import Tensor


class Function:
    """Base class of custom autograd functions. Subclass it and call `apply`.

    `forward(ctx, *args)` runs with autograd off. `backward(ctx, *grad_outputs)` returns one gradient per argument of
    `forward`, or None for arguments without gradient. Alternatively, define `forward(*args)` and
    `setup_context(ctx, inputs, output)`. A `backward` that uses tensor ops can itself be differentiated.
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            f"{type(self)} should not be instantiated: its methods are static. Call {type(self).__name__}.apply(...)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save data for `backward`, if `forward` does not take `ctx`."""
        raise NotImplementedError("setup_context is not implemented")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments of `forward` from those of its outputs."""
        raise NotImplementedError(
            "a Function needs a static method backward(ctx, *grad_outputs), or vjp, to be differentiated"
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Forward-mode derivative. Never called: the engine differentiates in reverse mode."""
        raise NotImplementedError("forward-mode differentiation is not supported; see engine.autograd.functional.jvp")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record `backward` for autograd."""
        needs = tuple([isinstance(value, Tensor) and value.requires_grad for value in args])
        ctx = FunctionCtx(needs)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        returns_several = isinstance(output, (tuple, list))
        results = _record(cls, ctx, args, list(output) if returns_several else [output])
        return tuple(results) if returns_several else results[0]

    @classmethod
    def _backward(cls) -> Callable[..., Any]:
        defined = [name for name in ("backward", "vjp") if getattr(cls, name) is not Function.backward]
        if len(defined) == 2:
            raise AutogradError(f"{cls.__name__} defines both backward and vjp, which are aliases. Remove one of them.")
        return getattr(cls, defined[0] if defined else "backward")


def _record(function: type[Function], ctx: FunctionCtx, args: Sequence[Any], results: list[Any]) -> list[Any]:
    """Set grad_fn of the outputs and return them."""
    inputs = {id(value) for value in args if isinstance(value, Tensor)}
    dirty = {id(tensor) for tensor in ctx._dirty}
    constant = {id(tensor) for tensor in ctx._constant}
    is_recording = MODES.grad and any(ctx.needs_input_grad)
    _check_dirty(function, ctx, results, is_recording)
    edges = tuple([value.edge if isinstance(value, Tensor) else None for value in args])
    outputs: list[Any] = []
    for value in results:
        needs_alias = isinstance(value, Tensor) and id(value) not in dirty
        needs_alias = needs_alias and (id(value) in inputs or value.requires_grad or value._base is not None)
        outputs.append(value.detach() if needs_alias or any(value is other for other in outputs) else value)
    output_indices = {id(value): i for i, value in enumerate(results) if id(value) not in inputs or id(value) in dirty}
    if not is_recording:
        return outputs
    ctx._keep(function.__name__, output_indices)
    where = None if MODES.observer is None else MODES.observer.location()
    node = FunctionNode(function, ctx, edges, _specs(args), _specs(outputs), where)
    for index, (value, result) in enumerate(zip(outputs, results, strict=True)):
        if isinstance(value, Tensor) and value.is_floating_point() and id(result) not in constant:
            _attach(value, node, index)
    return outputs


def _check_dirty(function: type[Function], ctx: FunctionCtx, results: Sequence[Any], recording: bool) -> None:
    for tensor in ctx._dirty:
        if all(tensor is not result for result in results):
            raise AutogradError(
                f"{function.__name__} marks an input as dirty that it does not return. "
                "Return every input that it changes in place."
            )
        if recording and tensor.requires_grad and tensor.is_leaf:
            raise AutogradError(
                f"{function.__name__} changes a leaf that requires gradients in place.",
                in_code="Do it inside no_grad(), or on a clone().",
            )


def _specs(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([(v._array.shape, v._array.dtype, v.device) if isinstance(v, Tensor) else None for v in values])


def _attach(value: Tensor, node: FunctionNode, index: int) -> None:
    """Set `node` as grad_fn of an output; for a view modified in place, of its base too."""
    if value._base is not None:
        with enable_grad():
            value.copy_(value.detach()._with_history(node, index))
        return
    value._node, value._index, value._requires_grad = node, index, True


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that uses non-differentiable operations. Differentiating its result raises an error."""

    @functools.wraps(function)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            gradients = function(ctx, *grads)
        if not MODES.grad or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return gradients
        edges = tuple([g.edge for g in grads if isinstance(g, Tensor)])
        message = "the gradient of a function marked with @once_differentiable cannot be differentiated again"
        if isinstance(gradients, tuple):
            return tuple([_with_error_node(gradient, edges, message) for gradient in gradients])
        return _with_error_node(gradients, edges, message)

    return wrapped


def _with_error_node(gradient: Any, edges: tuple[Any, ...], message: str) -> Any:
    """`gradient` with a node that raises AutogradError with `message` in a backward pass."""
    if not isinstance(gradient, Tensor):
        return gradient
    spec = (gradient._array.shape, gradient._array.dtype)
    return gradient._with_history(ErrorNode(edges, (spec,), message), 0)


__all__ = ["Function", "FunctionCtx", "once_differentiable"]
