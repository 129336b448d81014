"""Layers that read the steps of a sequence, and their ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.shape import Dim, Spec
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts

RECURRENT = ("nn.LSTM", "nn.GRU", "nn.RNN")
SELF_ATTENTION = "functional.scaled_dot_product_attention"


@dataclass(frozen=True, slots=True)
class AttentionPorts:
    """Inputs of an attention layer."""

    sequence: str
    mask: str
    padding: str


ATTENTION: Mapping[str, AttentionPorts] = {
    "nn.MultiheadAttention": AttentionPorts("query", "attn_mask", "key_padding_mask"),
    "nn.TransformerEncoderLayer": AttentionPorts("src", "src_mask", "src_key_padding_mask"),
    "nn.TransformerDecoderLayer": AttentionPorts("tgt", "tgt_mask", "tgt_key_padding_mask"),
    "nn.Transformer": AttentionPorts("tgt", "tgt_mask", "tgt_key_padding_mask"),
}

FEATURES_LAST = frozenset(
    {*RECURRENT, *ATTENTION, "nn.Embedding", "nn.LayerNorm", "nn.LearnedPositions", "nn.SinusoidalPositions"}
)
"""Layers that output N×T×E: the features are the last dimension."""


def sequence_input(facts: NodeFacts) -> Spec | None:
    """The sequence that a recurrent or attention layer reads, if it is known."""
    ports = ATTENTION.get(facts.type.key)
    port = ports.sequence if ports is not None else "input" if facts.type.key in RECURRENT else None
    return None if port is None else facts.spec(port)


def runs_along_batch(facts: NodeFacts) -> bool:
    """Whether the dimension that a layer treats as time is the batch."""
    spec = sequence_input(facts)
    if spec is None:
        return False
    if spec.ndim == 2:
        return isinstance(spec.shape[0], Dim)
    batch_first: Any = facts.arguments.values.get("batch_first")
    if spec.ndim != 3 or not isinstance(batch_first, bool):
        return False
    time, batch = (1, 0) if batch_first else (0, 1)
    return isinstance(spec.shape[time], Dim) and not isinstance(spec.shape[batch], Dim)


def active(flow: Dataflow, keys: Iterable[str]) -> Iterator[tuple[str, NodeFacts]]:
    """The nodes of some types that are evaluated without an error and not muted."""
    for name in flow.graph.with_key(keys):
        facts = flow.facts.get(name)
        if facts is not None and not facts.outcome.failure:
            yield name, facts


__all__ = [
    "ATTENTION",
    "FEATURES_LAST",
    "RECURRENT",
    "SELF_ATTENTION",
    "AttentionPorts",
    "active",
    "runs_along_batch",
    "sequence_input",
]
