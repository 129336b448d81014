"""Arguments and parameter counts of nodes that use the weights of another node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as replaced

from msgspec.structs import replace

from studio.document.model import Node
from studio.document.weight_sharing import MATRICES, is_same_layer, layer_of, tied_sizes, tied_to
from studio.lowering.analysis.node_arguments import NodeArguments
from studio.lowering.analysis.node_facts import NodeFacts


class SharedArguments:
    """The arguments of layers that several nodes call: those of the first node that is analyzed."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._found: dict[str, NodeArguments] = {}
        """By owner."""

    def node(self, name: str, facts: Mapping[str, NodeFacts]) -> Node:
        """The node with the parameters that it uses: those of its owner, or sizes of the tied matrix."""
        node = self._nodes[name]
        if not node.shares:
            return node
        if (layer := layer_of(self._nodes, name)) != name:
            return replace(node, params=self._nodes[layer].params)
        owner = tied_to(self._nodes, name)
        if owner is None or owner not in facts:
            return node
        params = {**tied_sizes(self._nodes, name, facts[owner].arguments.values), **node.params}
        return node if params == node.params else replace(node, params=params)

    def given(self, name: str) -> NodeArguments | None:
        """The arguments that another node of the same layer determined; without its problems."""
        found = self._found.get(layer_of(self._nodes, name))
        if found is None or not is_same_layer(self._nodes, name):
            return found
        return replaced(found, problems=(), is_incomplete=found.is_incomplete or bool(found.problems))

    def record(self, name: str, facts: NodeFacts) -> NodeFacts:
        """Facts in which the parameters of each layer count once, at its owner."""
        self._found.setdefault(layer_of(self._nodes, name), facts.arguments)
        if is_same_layer(self._nodes, name):
            return replaced(facts, info=replaced(facts.info, parameters=0))
        if tied_to(self._nodes, name) is not None and (sizes := MATRICES.get(facts.type.key)) is not None:
            rows, columns = (facts.arguments.values.get(size, 0) for size in sizes)
            own = max(facts.outcome.parameters - rows * columns, 0)
            return replaced(facts, info=replaced(facts.info, parameters=own))
        return facts
