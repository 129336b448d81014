"""The number of epochs and steps of a training, as far as it can be inferred from the graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from studio.document.graph_walk import walk
from studio.document.model import Document, TrainingSettings
from studio.lowering.analysis.node_arguments import resolve_paths
from studio.lowering.analysis.node_evaluation import DataStep, NodeEvaluator
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.schedules.schedule_context import TrainingLength
from studio.nodes.types import Role


def training_length(
    document: Document, graph: NodeGraph, facts: Mapping[str, NodeFacts], evaluator: NodeEvaluator, base: Path | None
) -> TrainingLength:
    """The training length. May read the data to count samples."""
    training = document.training
    loaders = [name for name in graph.with_role(Role.LOADER) if name in graph.needed]
    counts = [_batches(name, graph, facts, evaluator, base) for name in loaders]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return _length_without_count(training)
    batches = max(known) if training.joint_epoch == "longest" else min(known)
    steps = -(-batches // training.accumulate)
    if training.steps is None or not batches:
        return TrainingLength(training.epochs, steps or None, batches=batches)
    full_epochs, remaining_batches = divmod(training.steps, batches)
    return TrainingLength(
        full_epochs + bool(remaining_batches),
        steps,
        full_epochs * steps - (-remaining_batches // training.accumulate),
        batches,
    )


def _batches(
    loader: str, graph: NodeGraph, facts: Mapping[str, NodeFacts], evaluator: NodeEvaluator, base: Path | None
) -> int | None:
    """Batches of a loader per epoch; None if its samples cannot be counted."""
    chain = data_steps(loader, graph, facts, base)
    samples = evaluator.count(chain) if chain else None
    if not samples:
        return None
    values = facts[loader].arguments.values
    size = values["batch_size"]
    if values["contiguous"]:
        return max(samples // size, 0 if values["drop_last"] else 1)
    return samples // size if values["drop_last"] else -(-samples // size)


def _length_without_count(training: TrainingSettings) -> TrainingLength:
    if training.steps is None:
        return TrainingLength(training.epochs, None)
    # The last batches of an epoch form an incomplete step, and the number of epochs is unknown.
    return TrainingLength(None, None, training.steps if training.accumulate == 1 else None)


def data_steps(
    name: str, graph: NodeGraph, facts: Mapping[str, NodeFacts], base: Path | None, *, transformed: bool = False
) -> list[DataStep]:
    """The source and splits that determine the number of samples at a node; empty if one is invalid.

    Args:
        transformed: include the transforms between them
    """
    roles = (Role.SOURCE, Role.DIVISION, Role.TRANSFORM) if transformed else (Role.SOURCE, Role.DIVISION)

    def previous_node(name: str) -> list[str]:
        end = graph.source(name, graph.types[name].inputs[0].name) if graph.types[name].inputs else None
        return [] if end is None else [end.node]

    steps: list[DataStep] = []
    for node in walk([name], previous_node):
        node_facts = facts.get(node)
        if (
            node_facts is None
            or node_facts.arguments.problems
            or node_facts.arguments.is_incomplete
            or not node_facts.outputs
        ):
            return []
        if node_facts.type.role in roles and node not in graph.muted:
            steps.append((node_facts.type, resolve_paths(node_facts.type, node_facts.arguments.values, base)))
        if node_facts.type.role is Role.SOURCE:
            return steps[::-1]
    return []
