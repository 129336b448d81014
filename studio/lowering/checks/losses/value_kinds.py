"""Kinds of values that a node outputs: unbounded scores, probabilities, logarithms, and others with a range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.formula_activations import FormulaActivation, formula_activation
from studio.lowering.checks.losses.formula_kinds import formula_kind
from studio.lowering.checks.losses.kind_tables import (
    KINDS,
    LOG_PROBABILITIES,
    OVER_CLASSES,
    POSITIVE,
    PROBABILITIES,
    SCORES,
    SQUASHING,
    SYMMETRIC,
    UNLIMITED,
    ValueKind,
)
from studio.lowering.checks.value_paths import is_linear_map, value_path
from studio.nodes.syntax_nodes import FORMULA
from studio.nodes.types import Role

_FROM_PARAMS: Mapping[str, Callable[[Mapping[str, Any]], ValueKind]] = {
    "nn.ELU": lambda values: ValueKind(low=-_number(values.get("alpha"), 1)),
    "nn.CELU": lambda values: ValueKind(low=-_number(values.get("alpha"), 1)),
    "nn.Hardtanh": lambda values: ValueKind(
        low=_number(values.get("min_val"), -1), high=_number(values.get("max_val"), 1)
    ),
}
_NORMALIZATIONS = frozenset({"nn.LocalResponseNorm"})
"""Normalizations that keep the sign of their input, so that the range depends on it."""
_KEEPING = frozenset({"ops.mean", "ops.nanmean", "ops.amax", "ops.amin"})
"""Reductions whose result lies between their inputs."""
_OPERATIONS = _KEEPING | {"ops.add", "ops.sub", "ops.mul", "ops.div", "ops.neg", "ops.log", "ops.clamp"}
_MAX_DEPTH = 8
"""Maximum number of nodes in a row that a kind is computed through."""


def kind_of(flow: Dataflow, end: Endpoint, depth: int = 0) -> ValueKind | None:
    """The kind of the values of an output; None if it is not known."""
    origin = value_path(flow.graph, end)[-1]
    facts = flow.facts.get(origin.node)
    if facts is None or depth > _MAX_DEPTH:
        return None
    key, group, values = facts.type.key, facts.type.group, facts.arguments.values
    if is_linear_map(flow.graph, origin.node) or (group == "Normalization" and key not in _NORMALIZATIONS):
        return SCORES
    if key in _FROM_PARAMS:
        return _FROM_PARAMS[key](values)
    if key == FORMULA:
        sources = flow.graph.sources(origin.node).items()
        return formula_kind(values.get("expression"), {port: kind_of(flow, each, depth + 1) for port, each in sources})
    return KINDS.get(key) or _of_operation(flow, origin.node, facts, depth + 1)


def _of_operation(flow: Dataflow, name: str, facts: NodeFacts, depth: int) -> ValueKind | None:
    """The kind of the output of an operation that depends on that of its inputs."""
    is_pooling = facts.type.group == "Pooling" and not facts.type.key.startswith("nn.LPPool")
    if not is_pooling and facts.type.key not in _OPERATIONS:
        return None
    kinds = {port: kind_of(flow, end, depth) for port, end in flow.graph.sources(name).items()}
    first = kinds.get(facts.type.inputs[0].name)
    match facts.type.key:
        case "ops.sub" if _is_log_sum(flow, name):
            return LOG_PROBABILITIES
        case "ops.add" | "ops.sub" if SCORES in kinds.values():
            return SCORES  # the sum of an unbounded value with any other is unbounded
        case "ops.mul" | "ops.div" if first == SCORES and len(kinds) == 1:
            return SCORES  # scaled by a number
        case "ops.neg" if first == SCORES:
            return SCORES
        case "ops.log" if first is not None and first.noun == "probabilities":
            return LOG_PROBABILITIES
        case "ops.clamp":
            return _clamped(first or UNLIMITED, facts.arguments.values)
        case key if first is not None and (is_pooling or key in _KEEPING):
            return replace(first, noun="values") if first.noun == "log-probabilities" else first
        case _:
            return None


def _is_log_sum(flow: Dataflow, name: str) -> bool:
    """Whether a difference subtracts the logarithm of a sum of exponentials: log-softmax in two steps."""
    end = flow.graph.source(name, "y")
    return end is not None and flow.graph.types[value_path(flow.graph, end)[-1].node].key == "ops.logsumexp"


def _clamped(kind: ValueKind, values: Mapping[str, Any]) -> ValueKind:
    low = max(kind.low, _number(values.get("min"), -math.inf))
    high = min(kind.high, _number(values.get("max"), math.inf))
    noun = "values" if kind == SCORES and (low, high) != (kind.low, kind.high) else kind.noun
    return ValueKind(noun, low, high)


def activation_key(flow: Dataflow, name: str) -> str | None:
    """The activation that a node applies last, as the type of the node that only does that; None if there is none."""
    node_type = flow.graph.types[name]
    if node_type.category == "activation" and node_type.role is Role.LAYER:
        return node_type.key
    found = activation_of_formula(flow, name)
    return None if found is None else found.key


def activation_of_formula(flow: Dataflow, name: str) -> FormulaActivation | None:
    """The activation that a formula applies last; None for other nodes."""
    facts = flow.facts.get(name)
    return None if facts is None else formula_activation(facts.type, facts.arguments.values.get("expression"))


def activations_behind(flow: Dataflow, end: Endpoint) -> list[str]:
    """The activations in a row that compute the values of an output, the last one first."""
    found: list[str] = []
    while True:
        origin = value_path(flow.graph, end)[-1].node
        if activation_key(flow, origin) is None or origin in found:
            return found
        found.append(origin)
        formula = activation_of_formula(flow, origin)
        before = flow.graph.source(origin, flow.graph.types[origin].inputs[0].name)
        if before is None or (formula is not None and not formula.is_whole):
            return found
        end = before


def _number(value: Any, default: float) -> float:
    return float(value) if isinstance(value, (int, float)) else default


__all__ = [
    "LOG_PROBABILITIES",
    "OVER_CLASSES",
    "POSITIVE",
    "PROBABILITIES",
    "SCORES",
    "SQUASHING",
    "SYMMETRIC",
    "ValueKind",
    "activation_key",
    "activation_of_formula",
    "activations_behind",
    "kind_of",
]
