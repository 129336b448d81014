"""Attention to the padding of sequences."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.sequences.causality_checks import CAUSAL_MASK
from studio.lowering.checks.sequences.sequence_layers import ATTENTION, active, runs_along_batch, sequence_input
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem

PADDING_MASK = "nn.PaddingMask"


def padding_problems(flow: Dataflow) -> Iterator[Problem]:
    """Embeddings with an index for padding whose sequences attention layers read without a mask of it."""
    for name, facts in active(flow, ("nn.Embedding",)):
        index = facts.arguments.values.get("padding_idx")
        if not isinstance(index, int):
            continue
        source, tokens = flow.graph.source(name, "input"), facts.spec("input")
        layers = [
            layer
            for layer, other in active(flow, ATTENTION)
            if tokens is not None and tokens.ndim == 2 and _reads(flow, layer, other, name, tokens.shape[1])
        ]
        if source is None or not layers:
            continue
        first, ports = layers[0], [ATTENTION[flow.graph.types[layer].key] for layer in layers]
        message = (
            f"{name} has an index for padding, {index}, but {first} attends to all steps. Connect PaddingMask to "
            f"{first}.{ports[0].padding}."
        )
        targets = [Endpoint(layer, port.padding) for layer, port in zip(layers, ports, strict=True)]
        title = f"Connect PaddingMask to {ports[0].padding}"
        fix = quick_fixes.feed(source, Node(PADDING_MASK, {"padding_idx": index}), *targets, title=title)
        yield Problem("warning", "padding-not-masked", message, node=first, fix=fix, also=tuple(layers[1:]))


def _reads(flow: Dataflow, layer: str, facts: NodeFacts, embedding: str, length: object) -> bool:
    """Whether an attention layer reads sequences of an embedding, and has no mask that may hide padding."""
    ports = ATTENTION.get(facts.type.key)
    spec = sequence_input(facts)
    if ports is None or spec is None or spec.ndim != 3 or spec.shape[1] != length or runs_along_batch(facts):
        return False
    sources = flow.graph.sources(layer)
    mask = sources.get(ports.mask)
    is_hidden = ports.padding in sources or (mask is not None and flow.graph.types[mask.node].key != CAUSAL_MASK)
    return not is_hidden and embedding in flow.graph.upstream([sources[ports.sequence].node])


__all__ = ["padding_problems"]
