"""Nodes of the autograd graph."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from engine import dtypes
from engine.errors import AutogradError
from engine.graph.node_hooks import Hook, Hooks
from engine.graph.removable_handle import RemovableHandle
from engine.shape import Spec

sequence = itertools.count()

SourceLocation: TypeAlias = tuple[str, int] | None
"""File name and line of the code that called an op. Recorded only while an observer is active."""


class Leaf(Protocol):
    """Interface of leaf tensors for the backward pass."""

    _array: Any
    _hooks: Hooks | None
    _grad: Any

    def _accumulate(self, gradient: Any, *, copy: bool) -> None:
        """Add a gradient to `.grad`."""
        ...


Edge: TypeAlias = "tuple[Node | Leaf, int] | None"
"""Destination of a gradient: a node and its output index, or a leaf and 0. None: no gradient needed."""


class Node:
    """Base of autograd nodes: computes input gradients from output gradients."""

    __slots__ = ("__weakref__", "_metadata", "edges", "hooks", "outputs", "sequence", "where")

    def __init__(self, edges: Sequence[Edge], outputs: Sequence[tuple[Any, Any]], where: SourceLocation) -> None:
        self.sequence = next(sequence)
        """Increases with every node; the nodes that a node depends on have smaller numbers."""
        self.edges = edges
        """One edge per input; None if the input needs no gradient."""
        self.outputs = outputs
        """(shape, array dtype) of each output."""
        self.where = where
        self.hooks: Hooks | None = None

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        """Return the gradients of the inputs from those of the outputs. None means no gradient, in both.

        Args:
            keep: keep saved tensors, since the node will run again
            useful: ids of the edge targets whose gradients are needed; None: all
        """
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Name of the forward op."""
        raise NotImplementedError

    def saved_entries(self) -> list[Any]:
        """A SavedEntry for each tensor saved for the backward pass; the version is None if a pack hook replaced it."""
        return []

    def output_spec(self, index: int) -> Spec:
        shape, dtype = self.outputs[index]
        return Spec(tuple(shape), dtypes.from_numpy(dtype))

    # -- PyTorch's interface

    def name(self) -> str:
        raise NotImplementedError

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Nodes that receive the input gradients; (None, 0) for inputs without gradient."""
        return tuple([(None, 0) if edge is None else (function_of(edge[0]), edge[1]) for edge in self.edges])

    @property
    def metadata(self) -> dict[Any, Any]:
        """Dict for user data."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[Any, Any] = {}
            return self._metadata

    def _sequence_nr(self) -> int:
        return self.sequence

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node runs. A result replaces `grad_inputs`."""
        return RemovableHandle.add(self.ensure_hooks().after, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs. A result replaces `grad_outputs`."""
        return RemovableHandle.add(self.ensure_hooks().before, hook)

    def ensure_hooks(self) -> Hooks:
        """Return the hooks of the node, created on first use."""
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


class AccumulateGrad(Node):
    """Node of a leaf: accumulates gradients in `variable.grad`. Shares the hooks of the leaf."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        super().__init__((), ((variable._array.shape, variable._array.dtype),), None)
        self.variable = variable

    @property
    def label(self) -> str:
        return "leaf"

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def ensure_hooks(self) -> Hooks:
        if self.variable._hooks is None:
            self.variable._hooks = Hooks()
        return self.variable._hooks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self.variable))}>"


class PassThrough(Node):
    """Identity node: passes gradients on. Used when a tensor takes over the history of another."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "pass"

    def name(self) -> str:
        return "PassThrough"

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        return grads


class ErrorNode(Node):
    """Node without a gradient: raises an error when the backward pass reaches it."""

    __slots__ = ("message",)

    def __init__(self, edges: Sequence[Edge], outputs: Sequence[tuple[Any, Any]], message: str) -> None:
        super().__init__(edges, outputs, None)
        self.message = message

    @property
    def label(self) -> str:
        return "error"

    def name(self) -> str:
        return "Error"

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        raise AutogradError(self.message)


class GradientEdge(NamedTuple):
    """Output of a node, for `grad` and `backward` without the tensor itself."""

    node: Node
    output_nr: int

    @property
    def edge(self) -> Edge:
        return (self.node.variable, 0) if isinstance(self.node, AccumulateGrad) else (self.node, self.output_nr)


def function_of(target: Any) -> Node:
    """Return the node of an edge; for a leaf, its AccumulateGrad."""
    return target if isinstance(target, Node) else AccumulateGrad(target)


def format_location(where: SourceLocation) -> str:
    return f" ({where[0]}:{where[1]})" if where else ""
