"""Operations that select or average along the batch, so that predictions have no batch."""

from __future__ import annotations

from dataclasses import replace

from engine.shape import Dim, Spec, format_shape
from studio.document.graph_walk import walk
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.parameters.upstream_causes import main_source
from studio.lowering.checks.sequences.sequence_checks import along_batch
from studio.lowering.checks.sequences.sequence_layers import runs_along_batch
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

CLASS_NUMBERS = frozenset({"ops.argmax", "ops.argmin"})


def reduced_batch(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loss or metric whose predictions lost the batch in an operation along dimension 0."""
    spec = facts.spec("input")
    if facts.type.role not in (Role.LOSS, Role.METRIC) or spec is None or _has_batch(spec):
        return None
    path = list(walk([name], lambda node: main_source(flow, node)))
    node = next((each for each in path if _loses_batch(flow.facts[each])), None)
    if node is None:
        return None
    sequence = next((each for each in path[path.index(node) :] if runs_along_batch(flow.facts[each])), None)
    if sequence is not None:
        return replace(along_batch(flow, sequence, flow.facts[sequence]), severity="error")
    value = next(iter(flow.facts[node].inputs.values()))
    assert isinstance(value, Spec)
    message = (
        f"{node} works along dimension 0 of {format_shape(value.shape)}, the batch, so {name} gets one prediction for "
        "all samples. Set dim to 1."
    )
    fix = quick_fixes.assign(node, "dim", 1)
    return Problem("error", "batch-reduced", message, node=node, fix=fix)


def class_numbers(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loss that gets the numbers of the best classes instead of scores."""
    end = flow.graph.source(name, "input") if facts.type.input("input") is not None else None
    if facts.type.role is not Role.LOSS or end is None or flow.graph.types[end.node].key not in CLASS_NUMBERS:
        return None
    message = f"{end.node} outputs class numbers, which have no gradient, but {name} expects scores. Remove {end.node}."
    fix = quick_fixes.bypass(end.node, flow.graph.types[end.node].inputs[0].name)
    return Problem("error", "no-gradient", message, node=end.node, fix=fix)


def _loses_batch(facts: NodeFacts) -> bool:
    """Whether an operation with `dim` 0 outputs no batch dimension, but its input has one."""
    value = next(iter(facts.inputs.values()), None)
    output = next(iter(facts.outputs.values()), None)
    if not isinstance(value, Spec) or not isinstance(output, Spec) or value.ndim < 2:
        return False
    is_first = facts.arguments.values.get("dim") in (0, -value.ndim, (0,), [0])
    return facts.type.role is Role.OPERATION and is_first and _has_batch(value) and not _has_batch(output)


def _has_batch(spec: Spec) -> bool:
    return any(isinstance(size, Dim) for size in spec.shape)


__all__ = ["class_numbers", "reduced_batch"]
