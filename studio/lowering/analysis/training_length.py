"""The length of a training, as far as the graph determines it."""

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
    loader = next((name for name in graph.with_role(Role.LOADER) if name in graph.needed), None)
    parts = [] if loader is None else data_steps(loader, graph, facts, base)
    samples = evaluator.count(parts) if parts else None
    if loader is None or not samples:
        return _uncounted(training)
    values = facts[loader].arguments.values
    batches = samples // values["batch_size"] if values["drop_last"] else -(-samples // values["batch_size"])
    steps = -(-batches // training.accumulate)
    if training.steps is None or not batches:
        return TrainingLength(training.epochs, steps or None)
    whole, rest = divmod(training.steps, batches)
    return TrainingLength(whole + bool(rest), steps, whole * steps - (-rest // training.accumulate))


def _uncounted(training: TrainingSettings) -> TrainingLength:
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

    def before(name: str) -> list[str]:
        end = graph.source(name, graph.types[name].inputs[0].name) if graph.types[name].inputs else None
        return [] if end is None else [end.node]

    parts: list[DataStep] = []
    for one in walk([name], before):
        found = facts.get(one)
        if found is None or found.arguments.complaints or found.arguments.waiting or not found.outputs:
            return []
        if found.type.role in roles and one not in graph.muted:
            parts.append((found.type, resolve_paths(found.type, found.arguments.values, base)))
        if found.type.role is Role.SOURCE:
            return parts[::-1]
    return []
