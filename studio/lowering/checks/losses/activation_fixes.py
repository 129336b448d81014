"""Fixes that take activations away from the input of a node, or use others."""

from __future__ import annotations

from dataclasses import replace

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.losses.loss_conventions import ORDER_METRICS, THRESHOLD_METRICS
from studio.lowering.checks.losses.value_kinds import OVER_CLASSES, activation_of_formula
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
    formula = activation_of_formula(flow, first)
    is_whole = formula is None or formula.is_whole
    if (
        before is not None
        and is_direct
        and is_whole
        and any(_has_other_reader(flow, name, target, names) for name in names)
    ):
        return quick_fixes.wire_up(before, target), f"Connect {before} to {target}"
    fixes = [without_activation(flow, name) for name in names]
    fix = fixes[0] if len(fixes) == 1 else quick_fixes.all_of(fixes, f"Remove {' and '.join(names)}")
    fix = with_thresholds(flow, fix, Endpoint(last, graph.types[last].outputs[0].name), 0.0)
    return fix, fix.title


def with_thresholds(flow: Dataflow, fix: Fix, end: Endpoint, threshold: float) -> Fix:
    """A fix after which an output has scores or probabilities, with the threshold of the metrics that read it.

    Args:
        threshold: 0 for scores, 0.5 for probabilities
    """
    metrics: list[str] = []
    for reader in value_readers(flow.graph, end):
        if reader.node not in flow.facts:
            continue
        values = flow.facts[reader.node].arguments.values
        current = values.get("threshold", 0.0)
        is_judge = flow.graph.types[reader.node].key in THRESHOLD_METRICS and values.get("num_classes", 1) == 1
        if is_judge and isinstance(current, (int, float)) and (0 < current < 1) is not (0 < threshold < 1):
            metrics.append(reader.node)
    if not metrics:
        return fix
    steps = [quick_fixes.assign(name, "threshold", threshold) for name in metrics]
    title = f"{fix.title} and set threshold of {' and '.join(metrics)} to {threshold:g}"
    return replace(quick_fixes.all_of([fix, *steps], title), reason=fix.reason)


def other_activation(flow: Dataflow, name: str, key: str, dim: int | None = None) -> Fix:
    """Apply another activation at a node. Without a dimension, the one of the node is kept if it has one."""
    formula = activation_of_formula(flow, name)
    if formula is not None:
        fix = quick_fixes.assign(name, "expression", formula.as_call(key, dim))
    elif dim is None:
        fix = quick_fixes.retype(name, key, keep=("dim",) if key in OVER_CLASSES else ())
    else:
        fix = quick_fixes.replace_type(name, Node(key, {"dim": dim}))
    output = Endpoint(name, flow.graph.types[name].outputs[0].name)
    return with_thresholds(flow, fix, output, 0.5) if key == "nn.Sigmoid" else fix


def without_activation(flow: Dataflow, name: str) -> Fix:
    """Remove an activation, or the outermost function of a formula."""
    formula = activation_of_formula(flow, name)
    if formula is None or formula.is_whole:
        return quick_fixes.bypass(name, flow.graph.types[name].inputs[0].name)
    return quick_fixes.assign(name, "expression", formula.argument)


def _has_other_reader(flow: Dataflow, name: str, target: Endpoint, names: list[str]) -> bool:
    """Whether a node other than the target, and other than metrics that rank scores, reads an activation."""
    readers = value_readers(flow.graph, Endpoint(name, flow.graph.types[name].outputs[0].name))
    return any(
        reader != target and reader.node not in names and flow.graph.types[reader.node].key not in ORDER_METRICS
        for reader in readers
    )


__all__ = ["other_activation", "remove_activations", "with_thresholds", "without_activation"]
