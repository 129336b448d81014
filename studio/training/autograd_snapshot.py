"""Autograd graph of one training step, with the canvas node of each graph node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

from engine import fit, inspect
from engine.data.joint_loader import in_order
from engine.inspect import AutogradGraph, GraphNode
from studio.lowering.program import Program


@dataclass(frozen=True, slots=True)
class AutogradSnapshot:
    """Result of a forward and backward pass on the first training batch."""

    graph: AutogradGraph
    nodes: Mapping[int, str]
    """Graph node id → name of the canvas node, for graph nodes that come from one."""
    loss: float

    def ids(self, name: str) -> frozenset[int]:
        """Return the ids of the graph nodes of a canvas node."""
        return frozenset(number for number, node in self.nodes.items() if node == name)


def capture_autograd(task: fit.Task, program: Program) -> AutogradSnapshot:
    """Run one step without updating parameters or any other training state. Several losses are summed."""
    batches = task.setup()
    batch = next(iter(in_order(batches.train)))
    with fit.preserve_state(task), inspect.recording() as observer:
        loss = reduce(add, task.losses(task.to_device(batch)).values())
        loss.backward(retain_graph=True)
        graph = inspect.autograd_graph(loss, observer, dict(task.model.named_parameters()))
        value = float(loss.item())
    owners = ((node.id, _owner(node, program)) for node in graph.nodes)
    return AutogradSnapshot(graph, {number: name for number, name in owners if name is not None}, value)


def _owner(node: GraphNode, program: Program) -> str | None:
    """The canvas node of an op or parameter: for one in a block, the instance."""
    path = node.leaf or (None if node.where is None else program.node_at(*node.where))
    return None if path is None else path.partition(".")[0]  # names of parameters start with that of the node
