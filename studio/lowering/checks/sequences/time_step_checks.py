"""The step of a sequence that a loss of whole sequences needs."""

from __future__ import annotations

from collections.abc import Iterator

from engine.shape import Spec, format_shape
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.parameters.upstream_causes import main_source
from studio.lowering.checks.sequences.sequence_layers import (
    ATTENTION,
    RECURRENT,
    SELF_ATTENTION,
    active,
    runs_along_batch,
)
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

_OF_STEPS = frozenset({*RECURRENT, *ATTENTION, SELF_ATTENTION, "nn.Embedding", "nn.MergeHeads"})
"""Layers that output each step of a sequence."""


def missing_step_selection(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loss or metric of samples that gets the outputs of all steps of a sequence."""
    spec, target = facts.spec("input"), facts.spec("target")
    if facts.type.role not in (Role.LOSS, Role.METRIC) or spec is None or target is None:
        return None
    if not _has_steps(spec, target):
        return None
    path = list(walk([name], lambda node: main_source(flow, node)))
    at = next((index for index, node in enumerate(path) if _outputs_steps(flow.facts[node], spec.shape[1])), None)
    if at is None or runs_along_batch(flow.facts[path[at]]):
        return None
    layer = path[at]
    leaving = next(node for node in reversed(path[: at + 1]) if _leaves_blocks(path, node))
    end = Endpoint(leaving, flow.facts[leaving].type.outputs[0].name)
    is_recurrent = flow.facts[layer].type.key in RECURRENT
    node = Node("ops.select", {"dim": 1, "index": -1}) if is_recurrent else Node("ops.mean", {"dim": 1})
    remedy = f"Select the last step of {leaving}" if is_recurrent else f"Average the steps of {leaving}"
    message = (
        f"{layer} outputs each of the {spec.shape[1]} steps of a sequence, so {name} gets {format_shape(spec.shape)} "
        f"for targets of {format_shape(target.shape)}, one for each sample. {remedy}."
    )
    fix = quick_fixes.insert_behind(end, node, title=remedy, input_port="x")
    return Problem("error", "no-step-selected", message, node=layer, fix=fix)


def time_step_problems(flow: Dataflow) -> Iterator[Problem]:
    """The first step of a recurrent layer as the result of a sequence."""
    for name, facts in active(flow, ("ops.select",)):
        values, spec = facts.arguments.values, facts.spec("x")
        if values.get("index") != 0 or spec is None or spec.ndim != 3:
            continue
        layer = _recurrent_before(flow, name)
        if layer is None or values.get("dim") not in (1, -2):
            continue
        message = (
            f"{name} selects the first step of {layer}, which has read only the first element of a sequence. "
            "Set index to -1, the last step."
        )
        fix = quick_fixes.assign(name, "index", -1)
        yield Problem("warning", "first-step-selected", message, node=name, fix=fix)


def _has_steps(spec: Spec, target: Spec) -> bool:
    """Whether predictions have a dimension of steps that targets lack."""
    if spec.ndim != 3 or spec.shape[:1] != target.shape[:1] or not isinstance(spec.shape[1], int):
        return False
    if not target.dtype.is_floating_point:
        return target.ndim == 1
    return target.shape[1:] == spec.shape[2:] or (target.ndim == 1 and spec.shape[2] == 1)


def _outputs_steps(facts: NodeFacts, length: object) -> bool:
    output = next((value for value in facts.outputs.values() if isinstance(value, Spec)), None)
    is_sequence = output is not None and output.ndim >= 3 and length in output.shape
    return facts.type.key in _OF_STEPS and is_sequence


def _leaves_blocks(path: list[str], node: str) -> bool:
    """Whether a node of a path towards the inputs is on the canvas, or the last of a block whose reader is."""
    return "." not in node or "." not in path[path.index(node) - 1]


def _recurrent_before(flow: Dataflow, name: str) -> str | None:
    """The recurrent layer with one direction whose steps a node reads, through dropout and normalization."""

    def before(node: str) -> list[str]:
        node_type = flow.graph.types[node]
        is_passing = node == name or node_type.group == "Dropout" or node_type.key in ("nn.LayerNorm", "nn.Identity")
        return main_source(flow, node) if is_passing else []

    *_, origin = walk([name], before)
    values = flow.facts[origin].arguments.values
    is_recurrent = flow.facts[origin].type.key in RECURRENT
    return origin if is_recurrent and values.get("batch_first") and not values.get("bidirectional") else None


__all__ = ["missing_step_selection", "time_step_problems"]
