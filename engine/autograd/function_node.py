"""Autograd node of a custom Function."""

from __future__ import annotations

import weakref
from typing import Any

from engine.autograd.context import FunctionCtx
from engine.dtypes import from_numpy
from engine.errors import AutogradError
from engine.graph.node import Edge, Node, SourceLocation
from engine.shape import Spec, format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros


class FunctionNode(Node):
    """Node that runs `backward`. Has the attributes of `ctx`, as in PyTorch: `y.grad_fn.saved_tensors`."""

    __slots__ = ("ctx", "function", "inputs", "places")

    def __init__(
        self,
        function: Any,
        ctx: FunctionCtx,
        edges: tuple[Edge, ...],
        inputs: tuple[Any, ...],
        results: tuple[Any, ...],
        where: SourceLocation,
    ) -> None:
        super().__init__(edges, tuple([((), None) if spec is None else spec[:2] for spec in results]), where)
        self.function, self.ctx = function, ctx
        self.inputs = inputs
        """(shape, array dtype, device) of each argument of `forward`; None for arguments that are not tensors."""
        self.places = results
        ctx._node = weakref.ref(self)

    @property
    def label(self) -> str:
        return self.function.__name__

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    def output_spec(self, index: int) -> Spec:
        tensors = [place for place in self.places if place is not None]
        shape, dtype, _ = self.places[index] or tensors[0]
        return Spec(tuple(shape), from_numpy(dtype))

    def kept(self) -> list[Any]:
        kept = self.ctx._saved or ()
        return [entry.value for entry in kept if entry is not None and entry.version is not None]

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        ctx = self.ctx
        ctx.needs_input_grad = tuple(
            [edge is not None and (useful is None or id(edge[0]) in useful) for edge in self.edges]
        )
        if ctx._materialize:
            grads = [self._zeros(i) if gradient is None else gradient for i, gradient in enumerate(grads)]
        found = self.function._backward()(ctx, *grads)
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        if not keep:
            ctx._release()
        return self._checked(found)

    def _zeros(self, index: int) -> Any:
        if self.places[index] is None:
            return None
        shape, dtype, device = self.places[index]
        return zeros(shape, dtype=from_numpy(dtype), device=device)

    def _checked(self, found: list[Any]) -> list[Any]:
        """Return one gradient per argument, in its shape and dtype. Raises AutogradError if that is not possible."""
        wanted, name = len(self.edges), self.name()
        while len(found) > wanted and found[-1] is None:
            found.pop()
        if len(found) != wanted:
            raise AutogradError(
                f"{name} returned an incorrect number of gradients: expected {wanted}, one for each argument of "
                f"forward, got {len(found)}. Return None for arguments without gradient."
            )
        return [None if gradient is None else self._fitted(i, gradient) for i, gradient in enumerate(found)]

    def _fitted(self, index: int, gradient: Any) -> Any:
        if not isinstance(gradient, Tensor):
            raise TypeError(f"{self.name()} returned a {type(gradient).__name__} for argument {index}, not a tensor")
        if self.inputs[index] is None:
            raise AutogradError(
                f"{self.name()} returned a gradient different from None at position {index}, "
                "but that argument of forward is not a tensor. Return None for it."
            )
        if self.edges[index] is None:
            return None
        shape, dtype, device = self.inputs[index]
        if tuple(gradient._array.shape) != tuple(shape):
            gradient = self._summed(index, gradient, shape)
        return gradient.to(dtype=from_numpy(dtype), device=device)

    def _summed(self, index: int, gradient: Any, shape: Any) -> Any:
        given = tuple(gradient._array.shape)
        tail = given[len(given) - len(shape) :]
        if len(given) < len(shape) or any(size not in (1, one) for size, one in zip(shape, tail, strict=True)):
            raise AutogradError(
                f"{self.name()} returned an invalid gradient at index {index}: got {format_shape(given)}, "
                f"but the argument's shape is {format_shape(shape)}"
            )
        return gradient.sum_to_size(shape)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.ctx, name)
