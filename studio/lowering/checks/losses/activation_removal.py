"""The fix that takes activations away from the input of a node."""

from __future__ import annotations

from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.losses.loss_conventions import ORDER_METRICS
from studio.lowering.checks.value_paths import value_readers
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix


def remove_activations(flow: Dataflow, names: list[str], target: Endpoint) -> tuple[Fix, str]:
    """The fix, and the same as an imperative.

    The nodes are removed; if another node reads their output, the input is connected to what is before them instead.

    Args:
        names: activations in a row, the last one first
        target: the input that they are before
    """
    graph = flow.graph
    last, first = names[0], names[-1]
    before = graph.source(first, graph.types[first].inputs[0].name)
    is_direct = graph.source(target.node, target.port) == Endpoint(last, graph.types[last].outputs[0].name)
    if before is not None and is_direct and any(_has_other_reader(flow, name, target, names) for name in names):
        return quick_fixes.wire_up(before, target), f"Connect {before} to {target}"
    fixes = [quick_fixes.bypass(name, graph.types[name].inputs[0].name) for name in names]
    fix = fixes[0] if len(fixes) == 1 else quick_fixes.all_of(fixes, f"Remove {' and '.join(names)}")
    return fix, fix.title


def _has_other_reader(flow: Dataflow, name: str, target: Endpoint, names: list[str]) -> bool:
    """Whether a node other than the target, and other than metrics that rank scores, reads an activation."""
    readers = value_readers(flow.graph, Endpoint(name, flow.graph.types[name].outputs[0].name))
    return any(
        reader != target and reader.node not in names and flow.graph.types[reader.node].key not in ORDER_METRICS
        for reader in readers
    )


__all__ = ["remove_activations"]
