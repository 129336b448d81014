"""Recorded ops and autograd graphs as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.graph import SourceLocation, reachable
from engine.observe import Call, Observer, norm_of
from engine.shape import Spec
from engine.tensors import Tensor


@dataclass(frozen=True, slots=True)
class GraphNode:
    """Node of an autograd graph: the backward of an op, or a leaf."""

    id: int
    op: str
    """Name of the op; "leaf" for leaves."""
    spec: Spec
    """Spec of the op's first output, or of the leaf."""
    where: SourceLocation
    """Source line that called the op, if it ran while recording."""
    gradient_norm: float | None
    """Euclidean norm of the gradient of the first output, if a backward pass was recorded."""
    leaf: str | None
    """Name of the parameter; "" for a leaf without name; None for ops."""
    saved_bytes: int
    """Bytes saved for the backward pass."""


@dataclass(frozen=True, slots=True)
class AutogradGraph:
    """Autograd graph. Edges point from a node to the nodes that receive its gradients."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int], ...]


def trace() -> Observer:
    """Context manager that collects the ops called inside as `.calls`."""
    return Observer()


def recording() -> Observer:
    """Context manager that records source lines of autograd nodes, and gradient norms in backward passes."""
    return Observer(norms=True)


def autograd_graph(
    tensor: Tensor, observer: Observer | None = None, names: Mapping[str, Tensor] | None = None
) -> AutogradGraph:
    """Return the graph that `tensor.backward()` traverses. Call it before the pass frees it, or with retain_graph.

    Args:
        observer: recording under which forward and backward ran
        names: parameters by name, for the leaves
    """
    root = tensor.edge
    if root is None:
        return AutogradGraph((), ())
    labels = {id(leaf): name for name, leaf in (names or {}).items()}
    norms = observer.gradient_norms if observer is not None else {}
    ids: dict[int, int] = {}
    found: list[GraphNode] = []
    edges: list[tuple[int, int]] = []

    def number(target: Any) -> int:
        if id(target) not in ids:
            ids[id(target)] = len(ids)
            if isinstance(target, Tensor):
                found.append(_leaf(ids[id(target)], target, labels.get(id(target), "")))
        return ids[id(target)]

    for node in reversed(reachable([root])):
        index = number(node)
        saved = sum(saved.nbytes for saved in node.saved_values() if isinstance(saved.nbytes, int))
        found.append(
            GraphNode(index, node.label, node.output_spec(0), node.where, norms.get(node.sequence), None, saved)
        )
        edges.extend((index, number(edge[0])) for edge in node.edges if edge is not None)
    if isinstance(root[0], Tensor):
        number(root[0])
    return AutogradGraph(tuple(sorted(found, key=lambda item: item.id)), tuple(edges))


def _leaf(number: int, leaf: Tensor, name: str) -> GraphNode:
    return GraphNode(number, "leaf", leaf.spec, None, norm_of(leaf.grad), name, 0)


__all__ = ["Call", "AutogradGraph", "GraphNode", "autograd_graph", "recording", "trace"]
