"""Common mistakes: graphs that run, but train badly or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.parameters.upstream_causes import (
    ENCODER,
    is_uneven,
    joined_batches,
    joins_batches,
    too_few_encoded_classes,
)
from studio.lowering.checks.sequences.embedding_checks import EMBEDDINGS, few_embeddings
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role


def value_mistakes(flow: Dataflow) -> Iterator[Problem]:
    """Mistakes visible from parameters and shapes."""
    for name in flow.graph.with_role(Role.LOADER):
        if name in flow.facts:
            yield from _check_loader(flow, name, flow.facts[name])
    for name, facts in flow.facts.items():
        if facts.type.key in EMBEDDINGS:
            yield from few_embeddings(flow, name, facts)
        if facts.type.key == "ops.cat":
            yield from _check_concatenation(flow, name, facts)
        if facts.type.key == ENCODER:
            yield from too_few_encoded_classes(flow, name)


# -- layers -----------------------------------------------------------------------------------


def _check_concatenation(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """Concatenation along the batch instead of the features, unless the targets match."""
    if not joins_batches(facts):
        return
    readers = [
        reader
        for reader in (*flow.graph.with_role(Role.LOSS), *flow.graph.with_role(Role.METRIC))
        if name in flow.graph.upstream([reader])
    ]
    uneven = [flow.facts[reader] for reader in readers if reader in flow.facts and is_uneven(flow.facts[reader])]
    if not any(facts.outcome.failure for facts in uneven) and (uneven or not readers):
        yield joined_batches(name, "warning")


# -- settings ---------------------------------------------------------------------------------


def _check_loader(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    values = facts.arguments.values
    is_in_order = values.get("shuffle") is False and not values.get("contiguous")
    if is_in_order and not _is_one_batch(flow, name, values.get("batch_size")):
        message = (
            f"{name} reads the training samples in the same order in every epoch, which slows learning. "
            "Turn shuffle on."
        )
        yield Problem("warning", "not-shuffled", message, node=name, fix=quick_fixes.assign(name, "shuffle", True))


def _is_one_batch(flow: Dataflow, name: str, size: Any) -> bool:
    """Whether a batch holds all training samples, so their order does not matter."""
    facts = flow.facts[name]
    samples = next(iter(facts.inputs.values()), None)
    if not isinstance(size, int) or not isinstance(samples, SampleSpec) or samples.is_stream:
        return False
    count = flow.count(name)
    return count is not None and count <= size
