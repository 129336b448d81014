"""Paths of values through nodes that do not change what the values mean: reshapes, dropout, casts, selections.

Block boundaries, muted nodes and reroute points need no rule here: the checks work on the flat graph, and
`NodeGraph.source` skips muted nodes.
"""

from __future__ import annotations

from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.types import NodeType

LINEAR_GROUPS = frozenset({"Linear", "Convolution"})
"""Layers that compute a linear map."""

PASSING_GROUPS = frozenset({"Dropout", "Shape"})
"""Nodes that move, repeat, pad or drop the values of their first input."""

PASSING_KEYS = frozenset(
    {
        "Tensor.to",
        "ops.detach",
        "ops.select",
        "ops.narrow",
        "ops.diagonal",
        "ops.split_with_sizes",
        "ops.chunk",
        "ops.unbind",
        "studio.Slice",
    }
)
"""Nodes of other groups, or with several outputs, that only select, cast or detach the values of their first input."""


PRODUCT, LEARNED = "ops.matmul", "nn.LearnedTensor"


def is_linear_map(graph: NodeGraph, name: str) -> bool:
    """Whether a node is a linear layer, or multiplies its input by a learned matrix."""
    node_type = graph.types[name]
    return node_type.group in LINEAR_GROUPS or (node_type.key == PRODUCT and is_learned(graph, name, "y"))


def is_learned(graph: NodeGraph, name: str, port: str) -> bool:
    """Whether the values of an input are those of a learned tensor."""
    origin = origin_of_values(graph, name, port)
    return origin is not None and graph.types[origin.node].key == LEARNED


def passes_values(node_type: NodeType) -> bool:
    """Whether all outputs of a node are values of its first input, in another order, shape or dtype."""
    is_alone = node_type.group in PASSING_GROUPS and node_type.adapt is None  # ops.cat has several inputs
    return is_alone or node_type.key in PASSING_KEYS


def source_of_values(graph: NodeGraph, end: Endpoint) -> Endpoint | None:
    """The output before a node that passes values through; None if the node computes other values."""
    node_type = graph.types[end.node]
    if not passes_values(node_type):
        return None
    return graph.source(end.node, node_type.inputs[0].name)


def value_path(graph: NodeGraph, end: Endpoint) -> list[Endpoint]:
    """The outputs that have the values of an output, itself first. The node of the last one computes them."""

    def before(end: Endpoint) -> list[Endpoint]:
        source = source_of_values(graph, end)
        return [] if source is None else [source]

    return list(walk([end], before))


def values_at(graph: NodeGraph, name: str, port: str) -> list[Endpoint]:
    """The outputs that have the values of an input, nearest first; empty if it has no wire."""
    end = graph.source(name, port)
    return [] if end is None else value_path(graph, end)


def origin_of_values(graph: NodeGraph, name: str, port: str) -> Endpoint | None:
    """The output whose node computes the values of an input."""
    path = values_at(graph, name, port)
    return path[-1] if path else None


def value_readers(graph: NodeGraph, end: Endpoint) -> list[Endpoint]:
    """The inputs of all nodes that compute something from the values of an output."""

    def after(end: Endpoint) -> list[Endpoint]:
        node_type = graph.types[end.node]
        outputs = node_type.outputs if _is_passing_input(node_type, end.port) else ()
        return [reader for port in outputs for reader in graph.readers(Endpoint(end.node, port.name))]

    found = walk(graph.readers(end), after)
    return [each for each in found if not _is_passing_input(graph.types[each.node], each.port)]


def linear_behind(graph: NodeGraph, end: Endpoint) -> str | None:
    """The linear layer that computes the values of an output."""
    origin = value_path(graph, end)[-1].node
    return origin if is_linear_map(graph, origin) else None


def _is_passing_input(node_type: NodeType, port: str) -> bool:
    return passes_values(node_type) and node_type.inputs[0].name == port


__all__ = [
    "LINEAR_GROUPS",
    "is_learned",
    "is_linear_map",
    "linear_behind",
    "origin_of_values",
    "passes_values",
    "source_of_values",
    "value_path",
    "value_readers",
    "values_at",
]
