"""Autograd graph of one training step, with the canvas node of each graph node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from time import perf_counter
from typing import Any

from engine import fit, inspect
from engine.data.joint_loader import in_order
from engine.fit.step_functions import compute_losses, preserve_modes
from engine.inspect import AutogradGraph, GraphCut, GraphNode
from engine.nn import Module
from studio.lowering.program import Program


@dataclass(frozen=True, slots=True)
class AutogradSnapshot:
    """Result of a forward and backward pass."""

    graph: AutogradGraph
    nodes: Mapping[int, str]
    """Graph node id → path of the canvas node, for graph nodes that come from one."""
    loss: float
    step: int = 0
    """Completed training steps; the pass uses the weights after them and the batch of the last one."""
    seconds: float = 0.0
    """Duration of the capture."""
    cut_places: Mapping[int, str] | None = None
    """Index of a cut of the graph → path of the canvas node that ends the history."""

    def ids(self, name: str) -> frozenset[int]:
        """Return the ids of the graph nodes of a canvas node, or of all nodes within an instance."""
        inner = f"{name}."
        return frozenset(number for number, node in self.nodes.items() if node == name or node.startswith(inner))


def capture_autograd(task: fit.Task, program: Program, batch: Any = None, step: int = 0) -> AutogradSnapshot:
    """Run a forward and backward pass without changing parameters or other state. Several losses are summed.

    Args:
        batch: the batch of the last training step; None for the first batch of the data
        step: completed training steps
    """
    began = perf_counter()
    if batch is None:
        batch = task.to_device(next(iter(in_order(task.setup().train))))
    with preserve_modes(task), fit.preserve_state(task), inspect.recording(task.model) as recording:
        for module in task.modules.values():
            module.train()
        loss = reduce(add, compute_losses(task, batch).values())
        loss.backward(retain_graph=True)
        graph = inspect.autograd_graph(loss, recording, dict(task.model.named_parameters()))
        value = float(loss.item())
    owners = _Owners(task.model, program)
    nodes = {node.id: name for node in graph.nodes if (name := owners.of(node)) is not None}
    places = {number: name for number, cut in enumerate(graph.cuts) if (name := owners.of_cut(cut, nodes)) is not None}
    return AutogradSnapshot(graph, nodes, value, step, perf_counter() - began, places)


class _Owners:
    """Finds the canvas nodes of graph nodes: inside a block, the node of the copy that ran."""

    def __init__(self, model: Module, program: Program) -> None:
        self._program = program
        self._instances = {
            path for path, module in model.named_modules() if type(module).__module__ == program.model_class
        }
        """Paths of the model and of the instances of blocks."""

    def of(self, node: GraphNode) -> str | None:
        if node.leaf is not None:
            return self._of_module(node.leaf.rpartition(".")[0]) if node.leaf else None
        line = None if node.where is None else self._program.node_at(*node.where)
        if line is None:
            return self._of_module(node.module) if node.module else None
        instance = self._instance_around(node.module or "")
        name = line.rpartition(".")[2]
        return f"{instance}.{name}" if instance else line if "." in line and not node.module else name

    def of_cut(self, cut: GraphCut, nodes: Mapping[int, str]) -> str | None:
        """The canvas node whose line ends the history, in the instance of the node that uses the value."""
        line = None if cut.where is None else self._program.node_at(*cut.where)
        if line is None:
            return None
        user = "" if cut.node is None else nodes.get(cut.node, "")
        instance, name = user.rpartition(".")[0], line.rpartition(".")[2]
        return f"{instance}.{name}" if instance and "." in line else line

    def _of_module(self, path: str) -> str | None:
        """The canvas node of a module or of a module within it."""
        instance = self._instance_around(path)
        rest = path[len(instance) + 1 :] if instance else path
        name = rest.partition(".")[0]
        if not name:
            return instance or None
        return f"{instance}.{name}" if instance else name

    def _instance_around(self, path: str) -> str:
        while path and path not in self._instances:
            path = path.rpartition(".")[0]
        return path
