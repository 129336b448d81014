"""Autograd node of a custom Function."""

from __future__ import annotations

import weakref
from typing import Any

from engine.autograd.context import FunctionCtx
from engine.dtypes import from_numpy
from engine.errors import AutogradError
from engine.graph.node import Edge, Node, SourceLocation
from engine.graph.saved_tensors import SavedEntry
from engine.shape import Spec, format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros


class FunctionNode(Node):
    """Node that runs `backward`. Has the attributes of `ctx`, as in PyTorch: `y.grad_fn.saved_tensors`."""

    __slots__ = ("ctx", "function", "inputs", "output_specs")

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
        self.output_specs = results
        ctx._node = weakref.ref(self)

    @property
    def label(self) -> str:
        return self.function.__name__

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    def output_spec(self, index: int) -> Spec:
        tensor_specs = [spec for spec in self.output_specs if spec is not None]
        shape, dtype, _ = self.output_specs[index] or tensor_specs[0]
        return Spec(tuple(shape), from_numpy(dtype))

    def saved_entries(self) -> list[SavedEntry]:
        saved = self.ctx._saved or ()
        return [
            (f"saved_tensors[{number}]", entry.value, entry.spec, entry.version)
            for number, entry in enumerate(saved)
            if entry is not None
        ]

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        ctx = self.ctx
        ctx.needs_input_grad = tuple(
            [edge is not None and (useful is None or id(edge[0]) in useful) for edge in self.edges]
        )
        if ctx._materialize:
            grads = [self._zeros(i) if gradient is None else gradient for i, gradient in enumerate(grads)]
        results = self.function._backward()(ctx, *grads)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        if not keep:
            ctx._release()
        return self._check_gradients(results)

    def _zeros(self, index: int) -> Any:
        if self.output_specs[index] is None:
            return None
        shape, dtype, device = self.output_specs[index]
        return zeros(shape, dtype=from_numpy(dtype), device=device)

    def _check_gradients(self, gradients: list[Any]) -> list[Any]:
        """Return one gradient per argument, in its shape and dtype. Raises AutogradError if that is not possible."""
        expected, name = len(self.edges), self.name()
        while len(gradients) > expected and gradients[-1] is None:
            gradients.pop()
        if len(gradients) != expected:
            raise AutogradError(
                f"{name} returned an incorrect number of gradients: expected {expected}, one for each argument of "
                f"forward, got {len(gradients)}. Return None for arguments without gradient."
            )
        return [None if gradient is None else self._match_input(i, gradient) for i, gradient in enumerate(gradients)]

    def _match_input(self, index: int, gradient: Any) -> Any:
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
            gradient = self._sum_to_shape(index, gradient, shape)
        return gradient.to(dtype=from_numpy(dtype), device=device)

    def _sum_to_shape(self, index: int, gradient: Any, shape: Any) -> Any:
        got = tuple(gradient._array.shape)
        tail = got[len(got) - len(shape) :]
        fits = len(got) >= len(shape) and all(size in (1, other) for size, other in zip(shape, tail, strict=True))
        if not fits:
            raise AutogradError(
                f"{self.name()} returned an invalid gradient at index {index}: got {format_shape(got)}, "
                f"but the argument's shape is {format_shape(shape)}"
            )
        return gradient.sum_to_size(shape)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.ctx, name)
