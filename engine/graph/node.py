"""Nodes of the autograd graph: what every kind of them has."""

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
"""File name and line of the code that called an op; known while somebody looks."""


class Leaf(Protocol):
    """What the backward pass needs of a leaf tensor."""

    _array: Any
    _hooks: Hooks | None
    _grad: Any

    def _accumulate(self, gradient: Any, *, copy: bool) -> None:
        """Adds a gradient to `.grad`."""
        ...


Edge: TypeAlias = "tuple[Node | Leaf, int] | None"
"""Destination of a gradient: a node and the number of its output, or a leaf tensor and 0. None: no gradient needed."""


class Node:
    """One step of a backward pass: turns gradients of a call's outputs into gradients of its inputs."""

    __slots__ = ("__weakref__", "_metadata", "edges", "hooks", "outputs", "sequence", "where")

    def __init__(self, edges: Sequence[Edge], outputs: Sequence[tuple[Any, Any]], where: SourceLocation) -> None:
        self.sequence = next(sequence)
        """Grows with every node: what leads to a node has smaller numbers."""
        self.edges = edges
        """One for each input; None where nobody wants a gradient."""
        self.outputs = outputs
        """(shape, array dtype) of each output."""
        self.where = where
        self.hooks: Hooks | None = None

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        """Gradients of the inputs from those of the outputs, either None where there is none.

        Args:
            keep: do not free what is saved; the node will run again
            useful: ids of the targets that gradients are wanted for; all if None
        """
        raise NotImplementedError

    @property
    def label(self) -> str:
        """What it is the gradient of."""
        raise NotImplementedError

    def kept(self) -> list[Any]:
        """What it keeps for the backward pass."""
        return []

    def output_spec(self, index: int) -> Spec:
        shape, dtype = self.outputs[index]
        return Spec(tuple(shape), dtypes.from_numpy(dtype))

    # -- PyTorch's view of it

    def name(self) -> str:
        raise NotImplementedError

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that its gradients go to; (None, 0) for inputs without gradient."""
        return tuple([(None, 0) if edge is None else (function_of(edge[0]), edge[1]) for edge in self.edges])

    @property
    def metadata(self) -> dict[Any, Any]:
        """Whatever anybody wants to attach."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[Any, Any] = {}
            return self._metadata

    def _sequence_nr(self) -> int:
        return self.sequence

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(grad_inputs, grad_outputs)`` after the node ran; what it returns replaces `grad_inputs`."""
        return RemovableHandle.add(self.ensure_hooks().after, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(grad_outputs)`` before the node runs; what it returns replaces them."""
        return RemovableHandle.add(self.ensure_hooks().before, hook)

    def ensure_hooks(self) -> Hooks:
        """Its hooks, made at first use."""
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


class AccumulateGrad(Node):
    """A leaf as a node: adds up what reaches it in `variable.grad`. Shares the leaf's hooks."""

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
    """Hands gradients on: gives a tensor that took another's place that other's history."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "pass"

    def name(self) -> str:
        return "PassThrough"

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        return grads


class ErrorNode(Node):
    """Stands where a gradient cannot be had, and says why when one is asked for."""

    __slots__ = ("message",)

    def __init__(self, edges: Sequence[Edge], outputs: Sequence[tuple[Any, Any]], message: str) -> None:
        super().__init__(edges, outputs, None)
        self.message = message

    @property
    def label(self) -> str:
        return "refusal"

    def name(self) -> str:
        return "Error"

    def gradients(self, grads: list[Any], keep: bool, useful: frozenset[int] | None) -> list[Any]:
        raise AutogradError(self.message)


class GradientEdge(NamedTuple):
    """An output of a node: what a gradient can be asked for or started from without the tensor itself."""

    node: Node
    output_nr: int

    @property
    def edge(self) -> Edge:
        return (self.node.variable, 0) if isinstance(self.node, AccumulateGrad) else (self.node, self.output_nr)


def function_of(target: Any) -> Node:
    """The node that an edge leads to, also for a leaf."""
    return target if isinstance(target, Node) else AccumulateGrad(target)


def format_location(where: SourceLocation) -> str:
    return f" ({where[0]}:{where[1]})" if where else ""
