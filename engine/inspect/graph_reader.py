"""Reads the autograd graph of a tensor as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.backend import MetaArray, address
from engine.graph import Node, reachable
from engine.graph.node_hooks import Hooks
from engine.graph.saved_tensors import SavedEntry
from engine.inspect.graph_data import AutogradGraph
from engine.inspect.graph_nodes import GraphCut, GraphEdge, GraphHook, GraphNode, SavedTensor
from engine.inspect.graph_recording import Cut, GraphRecording, key_of
from engine.observe import norm_of
from engine.tensors import Tensor
from engine.tensors.deferred import Deferred
from engine.tensors.storage import memory_owner


def autograd_graph(
    tensor: Tensor, observer: GraphRecording | None = None, names: Mapping[str, Tensor] | None = None
) -> AutogradGraph:
    """Return the graph that `tensor.backward()` traverses. Call it before the pass frees it, or with retain_graph.

    Args:
        observer: recording under which forward and backward ran
        names: parameters by name, for the leaves
    """
    return _GraphReader(observer, names or {}).read(tensor)


class _GraphReader:
    """Reads one graph."""

    def __init__(self, observer: GraphRecording | None, names: Mapping[str, Tensor]) -> None:
        self._observer = observer
        self._labels = {id(leaf): name for name, leaf in names.items()}
        self._memory = _Memory()
        self._ids: dict[int, int] = {}
        """Key of a node or leaf → its id."""

    def read(self, tensor: Tensor) -> AutogradGraph:
        root = tensor.edge
        if root is None:
            found = () if self._observer is None else self._observer.cuts_of(tensor)
            return AutogradGraph((), (), tuple(self._cut(None, 0, cut) for cut in found))
        targets = _backward_order(root)
        self._ids = {key_of(target): number for number, target in enumerate(targets)}
        edges = tuple(
            GraphEdge(self._ids[key_of(node)], self._ids[key_of(edge[0])], index, edge[1])
            for node in targets
            if isinstance(node, Node)
            for index, edge in enumerate(node.edges)
            if edge is not None
        )
        uses = Counter((edge.target, edge.output) for edge in edges)
        most: dict[int, int] = {}
        for (target, _), count in uses.items():
            most[target] = max(count, most.get(target, 0))
        nodes = [self._node(target, most.get(number, 0)) for number, target in enumerate(targets)]
        return AutogradGraph(self._memory.with_offsets(nodes), edges, tuple(self._cuts(targets)))

    def _node(self, target: Any, uses: int) -> GraphNode:
        number, norm = self._ids[key_of(target)], self._norm(target)
        if isinstance(target, Tensor):
            hooks, name = _hooks(target._hooks), self._labels.get(id(target), "")
            return GraphNode(
                number, "AccumulateGrad", "leaf", target.spec, gradient_norm=norm, leaf=name, uses=uses, hooks=hooks
            )
        module = None if self._observer is None else self._observer.modules.get(target.sequence)
        saved = tuple(self._memory.read(each) for each in target.saved_entries())
        return GraphNode(
            number, target.name(), target.label, target.output_spec(0), target.where, module, norm, None, saved, uses,
            _hooks(target.hooks),
        )  # fmt: skip

    def _norm(self, target: Any) -> float | None:
        norms = {} if self._observer is None else self._observer.gradient_norms
        norm = norms.get(key_of(target))
        return norm_of(target.grad) if norm is None and isinstance(target, Tensor) else norm

    def _cuts(self, targets: list[Any]) -> list[GraphCut]:
        if self._observer is None:
            return []
        recorded = self._observer.cuts
        return [
            self._cut(self._ids[target.sequence], index, cut)
            for target in targets
            if isinstance(target, Node)
            for index, cut in recorded.get(target.sequence, ())
        ]

    def _cut(self, node: int | None, index: int, cut: Cut) -> GraphCut:
        upstream = tuple(dict.fromkeys(self._ids[key] for key, _ in cut.upstream if key in self._ids))
        names = tuple(dict.fromkeys(name for _, name in cut.upstream))
        return GraphCut(node, index, cut.kind, cut.op, cut.spec, cut.where, upstream, names)


class _Memory:
    """Numbers the memory of saved tensors."""

    def __init__(self) -> None:
        self._storages: dict[int, tuple[int, Any]] = {}
        """Id of the owner of a memory → its number, and the owner itself, so that no other object gets the id."""
        self._first: dict[int, int] = {}
        """Number of a memory → address of its first saved byte."""

    def read(self, entry: SavedEntry) -> SavedTensor:
        name, value, spec, version = entry
        if version is None:  # replaced by a pack hook
            return SavedTensor(name, spec, 0, self._number(value), 0, None, None)
        array, current = value._array, value._storage.version
        nbytes = value.nbytes if isinstance(value.nbytes, int) else 0
        if type(array) in (MetaArray, Deferred):  # without memory, or not computed yet
            return SavedTensor(name, spec, nbytes, self._number(value._storage), 0, version, current)
        owner = memory_owner(array)
        steps = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)]
        span = sum(map(abs, steps)) + array.itemsize if array.size else 0
        first = address(array) + sum(step for step in steps if step < 0)
        number = self._number(owner)
        self._first[number] = min(first, self._first.get(number, first))
        return SavedTensor(name, spec, min(nbytes, span), number, first, version, current)

    def with_offsets(self, nodes: list[GraphNode]) -> tuple[GraphNode, ...]:
        """Replace the addresses of saved tensors by their distances from the first saved byte of their memory."""
        return tuple(replace(node, saved=tuple(map(self._with_offset, node.saved))) for node in nodes)

    def _with_offset(self, saved: SavedTensor) -> SavedTensor:
        return replace(saved, offset=saved.offset - self._first.get(saved.storage, saved.offset))

    def _number(self, owner: Any) -> int:
        return self._storages.setdefault(id(owner), (len(self._storages), owner))[0]


def _backward_order(root: Any) -> list[Any]:
    """Nodes and leaves in the order of the backward pass; a leaf follows the last node that contributes to it."""
    if isinstance(root[0], Tensor):
        return [root[0]]
    nodes = reachable([root])
    remaining = Counter(
        id(edge[0]) for node in nodes for edge in node.edges if edge is not None and isinstance(edge[0], Tensor)
    )
    order: list[Any] = []
    for node in reversed(nodes):
        order.append(node)
        for edge in node.edges:
            if edge is not None and isinstance(edge[0], Tensor):
                remaining[id(edge[0])] -= 1
                if not remaining[id(edge[0])]:
                    order.append(edge[0])
    return order


def _hooks(hooks: Hooks | None) -> tuple[GraphHook, ...]:
    if hooks is None:
        return ()
    by_kind = {
        "pre": hooks.before.values(),
        "tensor": [hook for _, hook in hooks.tensors.values()],
        "post": hooks.after.values(),
        "post_accumulate_grad": hooks.accumulated.values(),
    }
    found = [GraphHook(kind, _qualified_name(hook)) for kind, functions in by_kind.items() for hook in functions]
    return (*found, *[GraphHook("retain_grad", "retain_grad")] * len(hooks.retained))


def _qualified_name(function: Any) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


__all__ = ["autograd_graph"]
