"""Values keep their meaning through reshapes, dropout, casts and selections, and through muted nodes."""

from __future__ import annotations

import pytest

from studio.document.blocks.block_expansion import Expansion
from studio.document.blocks.block_grouping import group
from studio.document.model import Document, Endpoint, Node
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.checks.value_paths import PASSING_KEYS, linear_behind, origin_of_values, value_path, value_readers
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.projects import digits, document
from tests.studio.lowering.graphs import changed

LINEAR = Node("nn.Linear", {"out_features": 8})


def graph_of(document: Document) -> NodeGraph:
    return NodeGraph(Expansion(document).flat, catalogue())


def through(key: str) -> NodeGraph:
    """A linear layer, a node of a type, and ReLU."""
    port = catalogue()[key].inputs[0].name
    output = catalogue()[key].outputs[0].name
    wires = [f"linear.output -> between.{port}", f"between.{output} -> relu.input"]
    return graph_of(document({"linear": LINEAR, "between": key, "relu": "nn.ReLU"}, wires))


@pytest.mark.parametrize(
    "key", [*sorted(PASSING_KEYS), "nn.Flatten", "nn.Identity", "nn.Dropout2d", "ops.reshape", "ops.squeeze"]
)
def test_values_pass_through(key: str) -> None:
    graph = through(key)
    origin = origin_of_values(graph, "relu", "input")
    assert origin == Endpoint("linear", "output")
    assert value_readers(graph, origin) == [Endpoint("relu", "input")]
    assert linear_behind(graph, Endpoint("between", graph.types["between"].outputs[0].name)) == "linear"


@pytest.mark.parametrize("key", ["nn.Tanh", "ops.cat", "ops.neg", "nn.LayerNorm", "ops.argmax", "ops.tril"])
def test_other_nodes_compute_values(key: str) -> None:
    graph = through(key)
    assert origin_of_values(graph, "relu", "input") == Endpoint("between", "output")
    assert [end.node for end in value_readers(graph, Endpoint("linear", "output"))] == ["between"]


def test_values_pass_muted_nodes_and_block_boundaries() -> None:
    chain = {"hidden": LINEAR, "flatten": "nn.Flatten", "drop": "nn.Dropout", "relu": "nn.ReLU", "scores": LINEAR}
    muted = changed(digits({**chain}), "relu", muted=True)
    grouped, _ = group(muted, ["hidden", "flatten"], "Part")
    path = value_path(graph_of(grouped), Endpoint("drop", "output"))
    assert [end.node.rpartition(".")[2] for end in path] == ["drop", "flatten", "hidden"]
    assert origin_of_values(graph_of(grouped), "scores", "input") == path[-1]


def test_an_input_without_a_wire_has_no_origin() -> None:
    assert origin_of_values(graph_of(document({"relu": "nn.ReLU"})), "relu", "input") is None
