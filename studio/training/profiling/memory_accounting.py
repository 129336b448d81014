"""Memory of a training step by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from engine import fit
from engine.compiler import CompiledFunction
from engine.compiler.compile_report import SegmentRun
from engine.compiler.ir import IRGraph, PlanUnsupported, build_graph
from engine.compiler.plan import ExecutionPlan
from engine.compiler.plan_costs import StoredValue, stored_values, unfused_peak
from engine.data.joint_loader import in_order
from engine.fit.step_functions import compute_gradients, compute_losses
from engine.tensors import Tensor
from studio.lowering.program import Program
from studio.training.profiling.node_paths import without_copies
from studio.training.profiling.op_owners import OpOwners
from studio.training.profiling.profile_data import MEMORY_KINDS, MemoryKind, MemoryProfile, NodeMemory


def planned_memory(
    task: fit.Task, program: Program, nodes: Collection[str], plans: Sequence[ExecutionPlan]
) -> MemoryProfile:
    """Memory of a step that these plans run. `nodes` are the paths of all nodes."""
    memory = _Memory(task, program, nodes)
    for plan in plans:
        memory.add_values(stored_values(plan.graph, plan.steps))
    return memory.profile(max((plan.memory for plan in plans), default=0), is_planned=True)


def eager_memory(task: fit.Task, program: Program, nodes: Collection[str]) -> MemoryProfile:
    """Memory of a step in eager mode. Traces forward and backward on the first batch, and preserves all state."""
    batch = task.to_device(next(iter(in_order(task.setup().train))))
    with fit.preserve_state(task):
        runs = CompiledFunction(_losses_and_gradients).trace_call(task, batch)
    memory, peak = _Memory(task, program, nodes), 0
    for graph in filter(None, map(_unfused_graph, runs)):
        memory.add_values(stored_values(graph, graph.nodes))
        peak = max(peak, unfused_peak(graph))
    return memory.profile(peak, is_planned=False)


def _losses_and_gradients(task: fit.Task, batch: Any) -> None:
    compute_gradients(task, compute_losses(task, batch))


def _unfused_graph(run: SegmentRun) -> IRGraph | None:
    try:
        return build_graph(run.node, ()) if run.node.depth else None
    except PlanUnsupported:
        return None


class _Memory:
    """Bytes by node and kind."""

    def __init__(self, task: fit.Task, program: Program, nodes: Collection[str]) -> None:
        self._nodes = nodes
        self._owners = OpOwners(program, task)
        self._bytes: defaultdict[str, defaultdict[MemoryKind, int]] = defaultdict(lambda: defaultdict(int))
        self._add_parameters(task)

    def add_values(self, values: Iterable[StoredValue]) -> None:
        for value in values:
            _, node = self._owners.owner(value.where, backward=value.backward)
            self._bytes[node]["saved for backward" if value.is_saved else "temporary"] += value.nbytes

    def _add_parameters(self, task: fit.Task) -> None:
        nodes: dict[int, str] = {}
        for root, module in task.modules.items():
            prefix = "" if root == "model" else f"{root}."
            for path, parameter in module.named_parameters():
                node = nodes[id(parameter)] = self._node_of(prefix + path)
                self._bytes[node]["parameters"] += parameter.nbytes
                if parameter.requires_grad:
                    self._bytes[node]["gradients"] += parameter.nbytes
            for path, buffer in module.named_buffers():
                self._bytes[self._node_of(prefix + path)]["parameters"] += buffer.nbytes
        for optimizer in task.optimizers.values():
            for parameter, state in optimizer.state.items():
                found = sum(value.nbytes for value in state.values() if isinstance(value, Tensor))
                if found:
                    self._bytes[nodes.get(id(parameter), "")]["optimizer state"] += found

    def _node_of(self, path: str) -> str:
        """The node of a parameter or buffer, whose path starts with that of the node.

        The copies of a repeated block, with a number in their path, count as one.
        """
        while path and path not in self._nodes:
            path = path.rpartition(".")[0]
        return without_copies(path)

    def profile(self, intermediate: int, *, is_planned: bool) -> MemoryProfile:
        nodes = tuple(
            NodeMemory(node, {kind: kinds[kind] for kind in MEMORY_KINDS if kinds.get(kind)})
            for node, kinds in self._bytes.items()
            if any(kinds.values())
        )
        kept: tuple[MemoryKind, ...] = ("parameters", "gradients", "optimizer state")
        peak = intermediate + sum(node.kinds.get(kind, 0) for node in nodes for kind in kept)
        return MemoryProfile(nodes, peak, intermediate, is_planned)


__all__ = ["eager_memory", "planned_memory"]
