"""Derivatives of functions: Jacobians, Hessians, and their products with vectors.

Functions take and return a tensor or a tuple of tensors; results have the same structure. With `create_graph` the
results can be differentiated. With `strict` an input that an output does not depend on raises an error; otherwise
its derivative is 0. Jacobian-vector products use two backward passes (J. Townsend, "A new trick for calculating
Jacobian vector products", 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.errors import AutogradError, ShapeError
from engine.graph import grad
from engine.modes import enable_grad
from engine.ops.movement.joining import stack
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like

Function = Callable[..., Any]
Tensors = tuple[Tensor, ...]


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return `func(*inputs)` and the vector-Jacobian product with `v`, which has the shape of the result."""
    with enable_grad():
        call = _FunctionCall(func, inputs, create_graph, "vjp", strict)
        seeds = _vectors(v, call.outputs, "v", "the function's result", optional=True)
        products = call.gradients(call.outputs, seeds, create_graph, strict)
    return call.result(create_graph), call.like_inputs(_with_history_if(products, create_graph))


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return `func(*inputs)` and the Jacobian-vector product with `v`, which has the shape of `inputs`."""
    with enable_grad():
        call = _FunctionCall(func, inputs, create_graph, "jvp", strict)
        vectors = _vectors(v, call.inputs, "v", "the inputs", optional=True)
        seeds = tuple([zeros_like(out).requires_grad_() for out in call.outputs])
        vjps = call.gradients(call.outputs, seeds, True, strict)
        products = _zeros_if_none(_gradients(vjps, seeds, vectors, create_graph), call.outputs)
        if strict and create_graph:
            call.check_second(products)
    return call.result(create_graph), call.like_outputs(_with_history_if(products, create_graph))


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian: for each output and input a tensor with the output's shape followed by the input's.

    Args:
        func: takes tensors, returns one tensor or several
        inputs: a tensor or a tuple of tensors
        create_graph: make the result differentiable
        strict: raise an error for outputs that do not depend on an input
        vectorize: no effect: rows are computed one by one
        strategy: no effect: rows are computed in reverse mode
    """
    _check_strategy(strategy, vectorize)
    with enable_grad():
        call = _FunctionCall(func, inputs, create_graph, "jacobian", strict)
        rows = [call.jacobian_of(out, create_graph, strict) for out in call.outputs]
    rows = [_with_history_if(row, create_graph) for row in rows]
    return call.like_outputs(tuple([call.like_inputs(row) for row in rows]))


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the Hessian of a function with a one-element result: for each pair of inputs a tensor of both shapes."""
    _check_strategy(outer_jacobian_strategy, vectorize)
    takes_tuple = isinstance(inputs, tuple)

    def gradient_function(*args: Tensor) -> Any:
        rows = jacobian(_require_scalar("hessian", func), args, create_graph=True, strict=strict)
        return rows if takes_tuple else rows[0]

    return jacobian(gradient_function, inputs, create_graph=create_graph, strict=strict)


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return `func(*inputs)` and the vector-Hessian product with `v`, which has the shape of `inputs`."""
    with enable_grad():
        call = _FunctionCall(_require_scalar("vhp", func), inputs, create_graph, "vhp", strict)
        vectors = _vectors(v, call.inputs, "v", "the inputs", optional=True)
        vjps = call.gradients(call.outputs, None, True, strict)
        products = call.gradients(vjps, vectors, create_graph, strict)
    return call.result(create_graph), call.like_inputs(_with_history_if(products, create_graph))


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return `func(*inputs)` and the Hessian-vector product with `v`. `vhp` is faster and equal."""
    with enable_grad():
        call = _FunctionCall(_require_scalar("hvp", func), inputs, create_graph, "hvp", strict)
        vectors = _vectors(v, call.inputs, "v", "the inputs", optional=True)
        vjps = call.gradients(call.outputs, None, True, strict)
        seeds = tuple([zeros_like(tensor).requires_grad_() for tensor in call.inputs])
        second_vjps = call.gradients(vjps, seeds, True, strict)
        products = _zeros_if_none(_gradients(second_vjps, seeds, vectors, create_graph), call.inputs)
    return call.result(create_graph), call.like_inputs(_with_history_if(products, create_graph))


# -- implementation ---------------------------------------------------------------------------


class _FunctionCall:
    """Call of a function, with inputs prepared for differentiation."""

    def __init__(self, func: Function, inputs: Any, create_graph: bool, name: str, strict: bool) -> None:
        self.name = name
        self.one_input = isinstance(inputs, Tensor)
        values = _tensors(inputs, f"{name}(): the inputs")
        # With create_graph the result must depend on the caller's tensors; otherwise their graph must not change.
        self.inputs = tuple(
            [t.clone() if create_graph and t.requires_grad else t.detach().requires_grad_() for t in values]
        )
        outputs = func(*self.inputs)
        self.one_output = isinstance(outputs, Tensor)
        self.outputs = _tensors(outputs, f"{name}(): the result of the function")
        for number, out in enumerate(self.outputs):
            if strict and not out.requires_grad:
                raise AutogradError(
                    f"{name}(): output {number} of the function does not require gradients: it does not depend on the "
                    "inputs.",
                    in_code="Omit strict=True to get zeros.",
                )

    def gradients(self, outs: Tensors, seeds: Any, create_graph: bool, strict: bool) -> Tensors:
        """Return the gradients with respect to the inputs."""
        grads = _gradients(outs, self.inputs, seeds, create_graph)
        if strict and None in grads:
            raise AutogradError(
                f"{self.name}(): the function does not depend on input {grads.index(None)}, or a "
                "derivative of lower order is constant.",
                in_code="Omit strict=True to get zeros.",
            )
        grads = _zeros_if_none(grads, self.inputs)
        if strict and create_graph:
            self.check_second(grads)
        return grads

    def check_second(self, grads: Tensors) -> None:
        for number, gradient in enumerate(grads):
            if not gradient.requires_grad:
                raise AutogradError(
                    f"{self.name}(): derivative {number} does not depend on the inputs, so it cannot be "
                    "differentiated again.",
                    in_code="Omit strict=True or create_graph=True.",
                )

    def jacobian_of(self, out: Tensor, create_graph: bool, strict: bool) -> Tensors:
        flat = out.reshape(-1)
        rows = [self.gradients((flat[i],), None, create_graph, strict) for i in range(flat.shape[0])]
        shapes = [(*out.shape, *tensor.shape) for tensor in self.inputs]
        if not rows:
            return tuple([t.new_zeros(shape) for t, shape in zip(self.inputs, shapes, strict=True)])
        columns = zip(*rows, strict=True)
        return tuple([stack(c).reshape(shape) for c, shape in zip(columns, shapes, strict=True)])

    def result(self, keep_history: bool) -> Any:
        return self.like_outputs(_with_history_if(self.outputs, keep_history))

    def like_outputs(self, values: Sequence[Any]) -> Any:
        return values[0] if self.one_output else tuple(values)

    def like_inputs(self, values: Sequence[Any]) -> Any:
        return values[0] if self.one_input else tuple(values)


def _gradients(outs: Tensors, inputs: Tensors, seeds: Any, create_graph: bool) -> tuple[Tensor | None, ...]:
    seeds = seeds or (None,) * len(outs)
    pairs = [(out, seed) for out, seed in zip(outs, seeds, strict=True) if out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outs, seeds = zip(*pairs, strict=True)
    return grad(outs, inputs, seeds, retain_graph=True, create_graph=create_graph, allow_unused=True)


def _zeros_if_none(grads: Sequence[Tensor | None], like: Tensors) -> Tensors:
    return tuple([zeros_like(t) if g is None else g for g, t in zip(grads, like, strict=True)])


def _tensors(value: Any, what: str) -> Tensors:
    tensors = value if isinstance(value, tuple) else (value,)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{what} must be a tensor or a tuple of tensors, not {type(tensor).__name__}")
    return tensors


def _vectors(v: Any, like: Tensors, name: str, what: str, *, optional: bool) -> Tensors | None:
    """Return `v` after a check of its shape, or None if it is omitted for a one-element result."""
    if v is None:
        if optional and len(like) == 1 and like[0].numel() == 1:
            return (zeros_like(like[0]) + 1,)
        raise AutogradError(f"{name} is required unless {what} has one element. Pass a tensor of its shape.")
    vectors = _tensors(v, name)
    if len(vectors) != len(like):
        raise AutogradError(f"{name} must have one tensor for each of {what}: {len(like)}, not {len(vectors)}")
    for number, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if tuple(vector.shape) != tuple(tensor.shape):
            raise ShapeError(
                f"{name}[{number}] is {format_shape(vector.shape)}, but {what} {number} is {format_shape(tensor.shape)}"
            )
    return vectors


def _require_scalar(name: str, func: Function) -> Function:
    """Wrap `func` with a check that its result has one element."""

    def checked(*args: Tensor) -> Tensor:
        out = func(*args)
        if not isinstance(out, Tensor) or out.numel() != 1:
            got = format_shape(out.shape) if isinstance(out, Tensor) else type(out).__name__
            raise AutogradError(f"{name}(): the function must return a tensor with one element, not {got}")
        return out.reshape(())

    return checked


def _with_history_if(tensors: Sequence[Tensor], keep_history: bool) -> Tensors:
    return tuple(tensors) if keep_history else tuple([tensor.detach() for tensor in tensors])


def _check_strategy(strategy: str, vectorize: bool) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f'strategy must be "reverse-mode" or "forward-mode", not {strategy!r}')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError('strategy "forward-mode" needs vectorize=True, as in PyTorch')


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
