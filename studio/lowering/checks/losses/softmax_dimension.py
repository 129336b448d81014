"""Softmax over a dimension that does not contain the scores of classes."""

from __future__ import annotations

from collections.abc import Iterator

from engine.shape import Dim, Spec, format_shape
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.activation_fixes import other_activation, without_activation
from studio.lowering.checks.losses.loss_conventions import CLASS_LOSSES, CLASS_METRICS
from studio.lowering.checks.losses.value_kinds import (
    OVER_CLASSES,
    SQUASHING,
    activation_key,
    activation_of_formula,
)
from studio.lowering.checks.value_paths import value_path, value_readers
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem

SINGLE: dict[str, str] = {"nn.LogSoftmax": "nn.LogSigmoid"}
"""The activation of single scores that corresponds to an activation over classes; otherwise Sigmoid."""


def softmax_dimension_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if activation_key(flow, name) not in OVER_CLASSES or name in flow.graph.muted:
            continue
        formula = activation_of_formula(flow, name)
        spec, dim = facts.spec("input"), facts.arguments.values.get("dim")
        if formula is not None:
            output = facts.outputs.get("output")
            spec, dim = output if isinstance(output, Spec) else None, formula.dim
        if spec is None or not isinstance(dim, int) or not -spec.ndim <= dim < spec.ndim:
            continue
        if problem := _check_dimension(flow, name, facts, spec, dim % spec.ndim):
            yield problem


def _check_dimension(flow: Dataflow, name: str, facts: NodeFacts, spec: Spec, dim: int) -> Problem | None:
    key = str(activation_key(flow, name))
    noun, size = SQUASHING[key], spec.shape[dim]
    if isinstance(size, Dim) and spec.ndim > 1:
        if sum(isinstance(each, Dim) for each in spec.shape) > 1:
            return None  # similarities of all pairs of samples
        other = 1 if dim == 0 else -1 if dim < spec.ndim - 1 else 1
        message = f"{name} computes {noun} over dimension {dim}, the batch dimension. Set dim to {other}."
        return Problem("warning", "softmax-over-batch", message, node=name, fix=_over(flow, name, other))
    output = Endpoint(name, "output")
    readers = value_readers(flow.graph, output)
    if size == 1:
        if any(flow.graph.types[reader.node].key in CLASS_LOSSES for reader in readers):
            return None  # the loss reports the number of scores
        if any(flow.graph.types[reader.node].learns == "numbers" for reader in readers):
            fix = without_activation(flow, name)
            message = f"{name} computes {noun} over a single number, so its output does not depend on its input."
            return Problem("warning", "softmax-over-one", f"{message} {fix.title}.", node=name, fix=fix)
        key = SINGLE.get(key, "nn.Sigmoid")
        message = (
            f"{name} computes {noun} over a single score ({format_shape(spec.shape)}), so its output does not depend "
            f"on its input. Use {key.rpartition('.')[2]}."
        )
        return Problem("warning", "softmax-over-one", message, node=name, fix=other_activation(flow, name, key))
    for reader in readers:
        if flow.graph.types[reader.node].key not in CLASS_LOSSES | CLASS_METRICS or reader.port != "input":
            continue
        expected = _class_dimension(flow, output, reader)
        if expected is not None and expected not in (dim, 0) and expected < spec.ndim:
            message = (
                f"{name} computes {noun} over dimension {dim} of {format_shape(spec.shape)}, but {reader.node} reads "
                f"the classes in dimension {expected}. Set dim to {expected}."
            )
            fix = _over(flow, name, expected)
            return Problem("warning", "softmax-over-positions", message, node=name, fix=fix)
    return None


def _over(flow: Dataflow, name: str, dim: int) -> Fix:
    """Compute a softmax over another dimension."""
    formula = activation_of_formula(flow, name)
    if formula is None:
        return quick_fixes.assign(name, "dim", dim)
    return quick_fixes.assign(name, "expression", formula.as_call(formula.key, dim))


def _class_dimension(flow: Dataflow, output: Endpoint, reader: Endpoint) -> int | None:
    """The dimension of an output that a reader takes as classes; None if reshapes between them hide it."""
    end = flow.graph.source(reader.node, reader.port)
    if end is None:
        return None
    dim = 1
    for between in value_path(flow.graph, end):
        if between == output:
            return dim
        before = _before_node(flow.facts[between.node], dim)
        if before is None:
            return None
        dim = before
    return None


def _before_node(facts: NodeFacts, dim: int) -> int | None:
    """The dimension of the input of a node that becomes this dimension of its output."""
    spec, after = facts.spec(facts.type.inputs[0].name), next(iter(facts.outputs.values()), None)
    values = facts.arguments.values
    if spec is None or not isinstance(after, Spec):
        return None
    match facts.type.key:
        case "ops.transpose":
            first, second = (int(values[name]) % spec.ndim for name in ("dim0", "dim1"))
            return {first: second, second: first}.get(dim, dim)
        case "ops.permute":
            return int(values["dims"][dim]) % spec.ndim
        case _:
            return dim if spec.shape == after.shape else None


__all__ = ["softmax_dimension_problems"]
