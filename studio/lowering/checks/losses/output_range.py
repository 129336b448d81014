"""Activations and recurrent layers that limit the outputs of a network to a range that its targets leave."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.shape import Spec
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.value_range import ValueRange
from studio.lowering.checks.losses.activation_fixes import remove_activations
from studio.lowering.checks.losses.loss_conventions import DISTANCE_LOSSES
from studio.lowering.checks.losses.targets import targets_of
from studio.lowering.checks.losses.value_kinds import (
    OVER_CLASSES,
    POSITIVE,
    SYMMETRIC,
    ValueKind,
    activation_key,
    kind_of,
)
from studio.lowering.checks.value_paths import origin_of_values, value_path, values_at
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.syntax_nodes import FORMULA
from studio.nodes.types import Role

LEAST_SHARE = 0.01
"""Fraction of the targets outside the range above which it is reported."""
_RECURRENT = frozenset({"nn.RNN", "nn.LSTM", "nn.GRU", "nn.RNNCell", "nn.LSTMCell", "nn.GRUCell"})
TOLERANCE = 0.02
"""Part of the range of the targets by which they may leave that of the outputs."""


def output_range_problems(flow: Dataflow) -> Iterator[Problem]:
    for loss in flow.graph.with_role(Role.LOSS):
        path = values_at(flow.graph, loss, "input")
        if flow.graph.types[loss].key not in DISTANCE_LOSSES or not path:
            continue
        before = path[-1].node
        key, value = activation_key(flow, before), flow.value(path[-1])
        if key in OVER_CLASSES and isinstance(value, Spec) and 1 in value.shape:
            continue  # the check of softmax reports a single number
        kind = (
            kind_of(flow, path[-1])
            if key is not None or flow.graph.types[before].key == FORMULA
            else _of_recurrence(flow, before)
        )
        if kind is None or not kind.is_bounded:
            continue
        values = _targets(flow, loss)
        if values is None:
            continue
        margin = TOLERANCE * max(values.high - values.low, 1e-12)
        share = values.share_outside(kind.low - margin, kind.high + margin)
        if share < LEAST_SHARE:
            continue
        fix, remedy = _remedy(flow, before, loss)
        message = (
            f"{before} outputs values {kind.range}, but {share:.0%} of the targets of {loss} are outside, from "
            f"{values.low:.4g} to {values.high:.4g}. {remedy}."
        )
        evidence = {"lowest": values.low, "highest": values.high, "share_outside": round(share, 4)}
        limits = {"low": kind.low, "high": kind.high}
        evidence |= {name: limit for name, limit in limits.items() if not math.isinf(limit)}
        yield Problem("warning", "output-range", message, node=before, fix=fix, evidence=evidence)


def _of_recurrence(flow: Dataflow, name: str) -> ValueKind | None:
    """The range of a recurrent layer, whose last step is a tanh or a mean of values of one; None for other layers."""
    facts = flow.facts.get(name)
    if facts is None or facts.type.key not in _RECURRENT:
        return None
    is_projected, activation = facts.arguments.values.get("proj_size"), facts.arguments.values.get("nonlinearity")
    return None if is_projected else POSITIVE if activation == "relu" else SYMMETRIC


def _remedy(flow: Dataflow, before: str, loss: str) -> tuple[Fix, str]:
    """A fix and its title: a linear layer behind a recurrent one, else the removal of the activation."""
    target = Endpoint(loss, "input")
    end = None
    if activation_key(flow, before) is not None:
        end = flow.graph.source(before, flow.graph.types[before].inputs[0].name)
    layer = before if end is None else value_path(flow.graph, end)[-1].node
    spec = flow.facts[loss].spec("input")
    if _of_recurrence(flow, layer) is None or spec is None or not isinstance(spec.shape[-1], int):
        return remove_activations(flow, [before], target)
    title = f"Insert Linear before {loss}"
    return quick_fixes.insert(target, Node("nn.Linear", {"out_features": spec.shape[-1]}), title=title), title


def _targets(flow: Dataflow, loss: str) -> ValueRange | None:
    """The values of the targets of a loss: those of a loader, or its inputs for an autoencoder."""
    origin = origin_of_values(flow.graph, loss, "target")
    facts = None if origin is None else flow.facts.get(origin.node)
    if origin is None or facts is None or facts.type.role is not Role.LOADER:
        return None
    if origin.port == "input":
        return flow.values(origin.node, "inputs")
    targets = targets_of(flow, loss)
    if targets is None or targets.classes is not None:
        return None  # the checks of targets report class numbers
    return flow.values(origin.node, "targets")


__all__ = ["output_range_problems"]
