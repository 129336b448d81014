"""Tensors of loaders with different batch sizes at one node."""

from __future__ import annotations

from engine.shape import Dim, Spec
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role


def different_batch_sizes(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A node combines batches of loaders that have different batch sizes."""
    symbols = {dim for value in facts.inputs.values() if isinstance(value, Spec) for dim in value.shape[:1]}
    sizes = {size: symbol for size, symbol in flow.batch_dimensions.items() if symbol in symbols}
    if len(sizes) < 2 or not all(isinstance(dim, Dim) for dim in symbols):
        return None
    loaders = [
        (loader, flow.facts[loader].arguments.values["batch_size"])
        for loader in flow.graph.with_role(Role.LOADER)
        if loader in flow.graph.upstream([name]) and flow.facts[loader].arguments.values["batch_size"] in sizes
    ]
    (first, size), *others = loaders
    other, other_size = next(pair for pair in others if pair[1] != size)
    message = (
        f"{name} combines batches of {size} samples from {first} and of {other_size} from {other}. "
        f"Set batch_size of {other} to {size}."
    )
    fix = quick_fixes.assign(other, "batch_size", size)
    return Problem("error", "batch-sizes", message, node=other, fix=fix)
