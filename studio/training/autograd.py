"""The autograd graph of one step, with the canvas node of each of its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

from engine import fit, inspect
from engine.data import DataLoader
from engine.inspect import Graph, GraphNode
from studio.lowering.program import Program


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One forward and backward pass over the first samples of the training data, as they are batched for training."""

    graph: Graph
    nodes: Mapping[int, str]
    """Id in the graph → name of the canvas node; without those that come from no node."""
    loss: float

    def ids(self, name: str) -> frozenset[int]:
        """The graph's nodes that a canvas node gave rise to."""
        return frozenset(number for number, node in self.nodes.items() if node == name)


def look(task: fit.Task, program: Program) -> Snapshot:
    """Run a step without its update. The training goes on as if it had not been. Several losses are added up."""
    batches = task.setup()
    batch = next(iter(DataLoader(batches.train.dataset, batches.train.batch_size)))
    with fit.preserve_state(task), inspect.recording() as observer:
        loss = reduce(add, task.losses(task.to_device(batch)).values())
        loss.backward(retain_graph=True)
        graph = inspect.autograd_graph(loss, observer, dict(task.model.named_parameters()))
        value = float(loss.item())
    owners = ((node.id, _owner(node, program)) for node in graph.nodes)
    return Snapshot(graph, {number: name for number, name in owners if name is not None}, value)


def _owner(node: GraphNode, program: Program) -> str | None:
    if node.leaf:
        return node.leaf.partition(".")[0]  # parameters are named after the attribute, which is the node's name
    return None if node.where is None else program.node_at(*node.where)
