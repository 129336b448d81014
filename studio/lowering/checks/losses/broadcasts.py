"""Losses whose input and target have different shapes and would broadcast."""

from __future__ import annotations

from engine.shape import Spec, format_shape
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

ELEMENTWISE = frozenset(
    {"nn.PoissonNLLLoss", "nn.GaussianNLLLoss", "nn.HingeEmbeddingLoss", "nn.KLDivLoss", "nn.MarginRankingLoss"}
)
"""Losses that broadcast input and target without an error."""


def broadcasts(facts: NodeFacts) -> bool:
    """Whether a loss broadcasts its input and target silently."""
    pair = _pair(facts)
    return pair is not None and not facts.outcome.failure and pair[0].shape != pair[1].shape


def broadcast_loss(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Input and target of different shapes, where none of them is a column of single values."""
    pair = _pair(facts)
    if not broadcasts(facts) or pair is None:
        return None
    first, second = pair
    message = (
        f"{name} expects input and target of one shape but gets {format_shape(first.shape)} and "
        f"{format_shape(second.shape)}{would_broadcast(first, second)}. Connect outputs of one shape."
    )
    return Problem("error", "shape-mismatch", message, node=name, port="target")


def would_broadcast(first: Spec, second: Spec) -> str:
    """Which shape two tensors broadcast to, as a clause; empty if they do not."""
    longest = max(first.ndim, second.ndim)
    shapes = [(1,) * (longest - spec.ndim) + tuple(spec.shape) for spec in (first, second)]
    result = [a if b == 1 else b if a == 1 or a == b else None for a, b in zip(*shapes, strict=True)]
    if any(size is None for size in result):
        return ""
    return f", which would broadcast to {format_shape(tuple(size for size in result if size is not None))}"


def _pair(facts: NodeFacts) -> tuple[Spec, Spec] | None:
    if facts.type.role is not Role.LOSS or facts.type.key not in ELEMENTWISE:
        return None
    ports = ("input1", "target") if facts.type.key == "nn.MarginRankingLoss" else ("input", "target")
    first, second = facts.spec(ports[0]), facts.spec(ports[1])
    return None if first is None or second is None else (first, second)


__all__ = ["broadcast_loss", "broadcasts", "would_broadcast"]
