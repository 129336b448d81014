"""Autograd graph as plain data, with exports to NetworkX, JSON and SVG."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engine import lazy
from engine.graph import SourceLocation
from engine.inspect.graph_nodes import GraphCut, GraphEdge, GraphNode, SavedTensor, memory_of
from engine.inspect.graph_svg import drawing
from engine.shape import Spec

if TYPE_CHECKING:
    import networkx as nx
else:
    nx = lazy.module("networkx")  # used only by the export and the layout


@dataclass(frozen=True)
class AutogradGraph:
    """Autograd graph. Nodes have the order of the backward pass, so the root is the first.

    Each op node runs once its whole gradient is known; a leaf follows the last node that contributes to its gradient.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    cuts: tuple[GraphCut, ...] = ()
    """Empty unless the forward pass ran in `recording()`."""

    @cached_property
    def saved_bytes(self) -> int:
        """Bytes saved for the backward pass. Shared memory is counted once."""
        return memory_of(saved for node in self.nodes for saved in node.saved)

    @property
    def changed(self) -> tuple[tuple[GraphNode, SavedTensor], ...]:
        """Saved tensors that were changed in place, each with its node."""
        return tuple((node, saved) for node in self.nodes for saved in node.changed)

    def as_dict(self) -> dict[str, Any]:
        """Return the graph as lists, dicts, strings and numbers."""
        return {
            "nodes": [_node_dict(node) for node in self.nodes],
            "edges": [edge._asdict() for edge in self.edges],
            "cuts": [
                {
                    "node": cut.node, "input": cut.input, "kind": cut.kind, "op": cut.op, **_spec_dict(cut.spec),
                    "where": _where(cut.where), "upstream": list(cut.upstream),
                    "upstream_names": list(cut.upstream_names),
                }
                for cut in self.cuts
            ],
            "saved_bytes": self.saved_bytes,
        }  # fmt: skip

    def json(self, indent: int | None = None) -> str:
        """Return the graph as JSON text. Norms that are NaN or infinite are written as strings."""
        return json.dumps(_finite(self.as_dict()), indent=indent, allow_nan=False)

    def networkx(self) -> nx.MultiDiGraph[int]:
        """Return a `networkx.MultiDiGraph` with the fields of nodes and edges as attributes."""
        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        for node in self.nodes:
            graph.add_node(node.id, **{key: value for key, value in _node_dict(node).items() if key != "id"})
        for edge in self.edges:
            graph.add_edge(edge.source, edge.target, input=edge.input, output=edge.output)
        return graph

    def svg(self) -> str:
        """Return a drawing as SVG text: the root on the right, leaves on the left."""
        return drawing(self.nodes, self.edges, self.cuts)


def _node_dict(node: GraphNode) -> dict[str, Any]:
    return {
        "id": node.id, "name": node.name, "op": node.op, **_spec_dict(node.spec), "where": _where(node.where),
        "module": node.module, "gradient_norm": node.gradient_norm, "leaf": node.leaf, "uses": node.uses,
        "saved_bytes": node.saved_bytes,
        "saved": [
            {
                "name": saved.name, **_spec_dict(saved.spec), "bytes": saved.nbytes, "storage": saved.storage,
                "offset": saved.offset, "version": saved.version, "current_version": saved.current_version,
            }
            for saved in node.saved
        ],
        "hooks": [{"kind": hook.kind, "name": hook.name} for hook in node.hooks],
    }  # fmt: skip


def _spec_dict(spec: Spec) -> dict[str, Any]:
    return {"shape": [size if isinstance(size, int) else str(size) for size in spec.shape], "dtype": spec.dtype.name}


def _where(where: SourceLocation) -> dict[str, Any] | None:
    return None if where is None else {"file": where[0], "line": where[1]}


def _finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by strings."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    is_number = not isinstance(value, float) or value - value == 0
    return value if is_number else str(value)


__all__ = ["AutogradGraph"]
