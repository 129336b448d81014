"""Nodes, edges and cuts of autograd graphs as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.graph import SourceLocation
from engine.shape import Spec


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """Tensor that a node keeps for the backward pass."""

    name: str
    """Name of the op's input, or "result" for its output."""
    spec: Spec
    nbytes: int
    """Bytes of memory that it covers; 0 if a pack hook replaced it."""
    storage: int
    """Number of its memory in the graph. Saved tensors with equal numbers share memory."""
    offset: int
    """Position in that memory, in bytes after the first saved byte."""
    version: int | None
    """Version counter when it was saved; None if a pack hook replaced it."""
    current_version: int | None
    """Version counter when the graph was read."""

    @property
    def is_changed(self) -> bool:
        """Whether it was changed in place after it was saved, so that backward refuses it."""
        return self.version != self.current_version


@dataclass(frozen=True, slots=True)
class GraphHook:
    """Hook of a node or leaf."""

    kind: str
    """ "tensor", "pre", "post", "retain_grad" or "post_accumulate_grad"."""
    name: str
    """Qualified name of the function."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """Node of an autograd graph: the backward of an op, or the accumulation of a leaf's gradient."""

    id: int
    """Position in the order of the backward pass."""
    name: str
    """PyTorch's name, as `grad_fn` prints it: "AddmmBackward0"; "AccumulateGrad" for leaves."""
    op: str
    """Name of the op; "leaf" for leaves."""
    spec: Spec
    """Spec of the op's first output, or of the leaf."""
    where: SourceLocation = None
    """Source line that called the op, if it ran while recording."""
    module: str | None = None
    """Path of the innermost module whose forward called the op, if its model was passed to `recording`."""
    gradient_norm: float | None = None
    """Euclidean norm of the gradients of all outputs, if a backward pass was recorded."""
    leaf: str | None = None
    """Name of the parameter; "" for a leaf without name; None for ops."""
    saved: tuple[SavedTensor, ...] = ()
    uses: int = 0
    """Largest number of edges that lead to one output; the gradients of several edges are summed."""
    hooks: tuple[GraphHook, ...] = ()

    @property
    def saved_bytes(self) -> int:
        """Bytes saved for the backward pass. Shared memory is counted once."""
        return memory_of(self.saved)

    @property
    def changed(self) -> tuple[SavedTensor, ...]:
        """Saved tensors that were changed in place."""
        return tuple(each for each in self.saved if each.is_changed)


class GraphEdge(NamedTuple):
    """Way of a gradient in the backward pass."""

    source: int
    target: int
    """Node that receives the gradient."""
    input: int = 0
    """Index of the source's gradient: that of the op's input."""
    output: int = 0
    """Index of the target's output."""


@dataclass(frozen=True, slots=True)
class GraphCut:
    """Place where a value enters the graph without its history, so that no gradient flows back."""

    node: int | None
    """Node of the op that uses the value; None if the value is the root itself."""
    input: int
    """Index of the op's input."""
    kind: str
    """ "detach", "data", "no_grad", "inference_mode" or "not differentiable"."""
    op: str
    """Op or method that cut the history."""
    spec: Spec
    """Spec of the tensor that lost its history."""
    where: SourceLocation
    """Source line of the cut."""
    upstream: tuple[int, ...]
    """Nodes of this graph that would receive a gradient without the cut. The others are not part of the graph."""
    upstream_names: tuple[str, ...]
    """PyTorch's names of the nodes that would receive a gradient, including those that are not part of the graph."""


def memory_of(saved: Iterable[SavedTensor]) -> int:
    """Bytes that these saved tensors cover. Shared memory is counted once."""
    ranges = sorted((each.storage, each.offset, each.offset + each.nbytes) for each in saved)
    total, known, end = 0, None, 0
    for storage, first, last in ranges:
        if storage != known:
            known, end = storage, first
        total += max(last - max(first, end), 0)
        end = max(end, last)
    return total


__all__ = ["GraphCut", "GraphEdge", "GraphHook", "GraphNode", "SavedTensor", "memory_of"]
