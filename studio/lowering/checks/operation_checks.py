"""Mistakes in the parameters of operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from engine.shape import Dim, Spec
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.adapted_ports import CountedOutputs
from studio.nodes.operation_nodes import BATCH_SIZE
from studio.nodes.types import Role


def operation_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.type.role is Role.OPERATION and not facts.outcome.failure:
            problem = literal_batch(flow, name, facts)
            if problem is not None:
                yield problem


def literal_batch(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A shape that begins with a number although dimension 0 is the batch."""
    parameter = next((each for each in facts.type.params if BATCH_SIZE in each.words), None)
    spec = facts.spec(facts.type.inputs[0].name) if facts.type.inputs else None
    value: Any = None if parameter is None else facts.arguments.values.get(parameter.name)
    if parameter is None or spec is None or not spec.shape or not isinstance(spec.shape[0], Dim):
        return None
    if not isinstance(value, tuple):
        return None
    first, *rest = cast("tuple[Any, ...]", value)
    if not isinstance(first, int) or first < 1:
        return None
    sizes: list[Any] = [BATCH_SIZE, *rest]
    message = (
        f"{parameter.name} of {name} begins with {first}, but dimension 0 of its input ({spec}) is the size of the "
        f"batch, which differs in the last batch and in validation. Set {parameter.name} to {_listed(sizes)}."
    )
    fix = quick_fixes.assign(name, parameter.name, sizes)
    severity: Literal["error", "warning"] = "error" if facts.outcome.failure else "warning"
    return Problem(severity, "literal-batch", message, node=name, fix=fix)


def wrong_output_count(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A node with as many outputs as a parameter says, for a dimension that gives another number."""
    adapt, values = facts.type.adapt, facts.arguments.values
    spec = facts.spec(facts.type.inputs[0].name) if facts.type.inputs else None
    dim: Any = values.get("dim")
    if not isinstance(adapt, CountedOutputs) or not isinstance(spec, Spec) or not isinstance(dim, int):
        return None
    size = spec.shape[dim] if -spec.ndim <= dim < spec.ndim else None
    count: Any = values.get(adapt.param)
    if not isinstance(size, int) or not isinstance(count, int) or not size:
        return None
    actual = size if facts.type.key == "ops.unbind" else -(-size // -(-size // count))
    if actual == count:
        return None
    message = (
        f"{name} has {count} outputs, but dimension {dim} of {spec} gives {actual} tensors. "
        f"Set {adapt.param} to {actual}."
    )
    return Problem("error", "shape-mismatch", message, node=name, fix=quick_fixes.assign(name, adapt.param, actual))


def _listed(sizes: list[Any]) -> str:
    return ", ".join(map(str, sizes))


__all__ = ["literal_batch", "operation_problems", "wrong_output_count"]
