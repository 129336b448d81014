"""Mistakes of layers that process sequences."""

from __future__ import annotations

from collections.abc import Iterator

from engine.shape import Dim, format_shape
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem


def sequence_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.arguments.values.get("batch_first") is False:
            yield from _check_time_dimension(name, facts)


def _check_time_dimension(name: str, facts: NodeFacts) -> Iterator[Problem]:
    """A layer that takes time steps first and gets batches first, so that it runs along the batch."""
    specs = (facts.spec(port.name) for port in facts.type.inputs)
    spec = next((spec for spec in specs if spec is not None), None)
    if spec is None or spec.ndim != 3 or not isinstance(spec.shape[0], Dim) or isinstance(spec.shape[1], Dim):
        return
    message = (
        f"{name} takes time steps in dimension 0 but dimension 0 of its input {format_shape(spec.shape)} is the batch, "
        "so it mixes samples. Turn batch_first on."
    )
    fix = quick_fixes.assign(name, "batch_first", True)
    yield Problem("warning", "sequence-along-batch", message, node=name, fix=fix)
