"""Kinds of values that a node outputs: unbounded scores, probabilities, logarithms, and others with a range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.value_paths import LINEAR_GROUPS, value_path
from studio.nodes.types import Role

Noun: TypeAlias = Literal["unbounded scores", "probabilities", "log-probabilities", "values"]


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of values, with the range that contains them."""

    noun: Noun = "values"
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_bounded(self) -> bool:
        return not math.isinf(self.low) or not math.isinf(self.high)

    @property
    def range(self) -> str:
        """The range in words: "at least 0", "from -1 to 1"."""
        if math.isinf(self.high):
            return "of any size" if math.isinf(self.low) else f"of at least {self.low:.3g}"
        return f"of at most {self.high:.3g}" if math.isinf(self.low) else f"from {self.low:.3g} to {self.high:.3g}"


SCORES = ValueKind("unbounded scores")
PROBABILITIES = ValueKind("probabilities", 0, 1)
LOG_PROBABILITIES = ValueKind("log-probabilities", high=0)
UNLIMITED = ValueKind()
POSITIVE = ValueKind(low=0)
SYMMETRIC = ValueKind(low=-1, high=1)

SQUASHING: Mapping[str, str] = {
    "nn.Softmax": "softmax",
    "nn.Softmax2d": "softmax",
    "nn.Softmin": "softmin",
    "nn.LogSoftmax": "log-softmax",
    "nn.Sigmoid": "a sigmoid",
    "nn.Hardsigmoid": "a sigmoid",
    "nn.LogSigmoid": "a log-sigmoid",
}
"""Activations that make probabilities or their logarithms of scores, in words."""

OVER_CLASSES = frozenset({"nn.Softmax", "nn.Softmax2d", "nn.Softmin", "nn.LogSoftmax"})
"""Those whose outputs depend on the scores of all classes."""

KINDS: Mapping[str, ValueKind] = {
    **dict.fromkeys(("nn.Softmax", "nn.Softmax2d", "nn.Softmin", "nn.Sigmoid", "nn.Hardsigmoid"), PROBABILITIES),
    **dict.fromkeys(("nn.LogSoftmax", "nn.LogSigmoid"), LOG_PROBABILITIES),
    **dict.fromkeys(("nn.ReLU", "nn.Softplus", "ops.abs", "ops.square", "ops.exp", "ops.exp2", "ops.sqrt"), POSITIVE),
    **dict.fromkeys(("nn.Tanh", "nn.Softsign", "ops.sin", "ops.cos", "ops.sign"), SYMMETRIC),
    **dict.fromkeys(("nn.LeakyReLU", "nn.PReLU", "nn.RReLU", "nn.Hardshrink", "nn.Softshrink"), UNLIMITED),
    "nn.ReLU6": ValueKind(low=0, high=6),
    "nn.GELU": ValueKind(low=-0.17),
    "nn.SiLU": ValueKind(low=-0.28),
    "nn.Mish": ValueKind(low=-0.31),
    "nn.Hardswish": ValueKind(low=-0.375),
    "nn.SELU": ValueKind(low=-1.76),
}
"""Kinds of values by the type of the node that computes them."""

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
    if group in LINEAR_GROUPS or (group == "Normalization" and key not in _NORMALIZATIONS):
        return SCORES
    if key in _FROM_PARAMS:
        return _FROM_PARAMS[key](values)
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


def activations_behind(flow: Dataflow, end: Endpoint) -> list[str]:
    """The activations in a row that compute the values of an output, the last one first."""
    found: list[str] = []
    while True:
        origin = value_path(flow.graph, end)[-1].node
        node_type = flow.graph.types[origin]
        if node_type.category != "activation" or origin in found or node_type.role is not Role.LAYER:
            return found
        found.append(origin)
        before = flow.graph.source(origin, node_type.inputs[0].name)
        if before is None:
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
    "activations_behind",
    "kind_of",
]
