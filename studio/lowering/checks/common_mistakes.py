"""Common mistakes: graphs that run, but train badly or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.shape import Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.checks.embedding_checks import EMBEDDINGS, few_embeddings
from studio.lowering.checks.upstream_causes import (
    ENCODER,
    is_uneven,
    joined_batches,
    joins_batches,
    too_few_encoded_classes,
)
from studio.lowering.checks.value_paths import LINEAR_GROUPS, linear_behind
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

HIGHEST_ADAPTIVE_RATE = 0.1
"""Highest plausible learning rate of adaptive optimizers; usual values are 100 times smaller."""

ADAPTIVE = "Adaptive"


def graph_mistakes(graph: NodeGraph) -> Iterator[Problem]:
    """Mistakes visible from node types and wires."""
    for name, node_type in graph.types.items():
        if node_type.group in LINEAR_GROUPS and name not in graph.muted:
            yield from _check_consecutive_linear(graph, name)


def value_mistakes(flow: Dataflow) -> Iterator[Problem]:
    """Mistakes visible from parameters and shapes."""
    for name in flow.graph.with_role(Role.OPTIMIZER):
        if name in flow.facts:
            yield from _check_learning_rate(name, flow.facts[name])
    for name in flow.graph.with_role(Role.LOADER):
        if name in flow.facts:
            yield from _check_loader(flow, name, flow.facts[name])
    for name, facts in flow.facts.items():
        if facts.type.key in EMBEDDINGS:
            yield from few_embeddings(flow, name, facts)
        if facts.arguments.values.get("inplace"):
            yield from _check_inplace(flow, name)
        if facts.type.key == "ops.cat":
            yield from _check_concatenation(flow, name, facts)
        if facts.type.key == ENCODER:
            yield from too_few_encoded_classes(flow, name)


# -- layers -----------------------------------------------------------------------------------


def _check_consecutive_linear(graph: NodeGraph, name: str) -> Iterator[Problem]:
    """Two linear layers without an activation between them.

    Grouped convolutions are exempt: a depthwise and a pointwise convolution together save parameters. So are layers
    with several readers, such as an embedding that queries, keys and values are computed from.
    """
    port = graph.types[name].inputs[0].name
    end = graph.source(name, port)
    before = None if end is None else linear_behind(graph, end)
    if before is None or before == name or any(_is_grouped(graph, layer) for layer in (before, name)):
        return
    if not _has_one_reader(graph, before, name):
        return
    message = (
        f"{before} and {name} have no activation between them, so together they compute a single linear map. "
        f"Insert ReLU before {name}."
    )
    direct = graph.input_sources[name].get(port)
    fix = (
        None
        if direct is None
        else quick_fixes.insert(Endpoint(name, port), Node("nn.ReLU"), title=f"Insert ReLU before {name}")
    )
    yield Problem("warning", "no-activation", message, node=name, fix=fix)


def _has_one_reader(graph: NodeGraph, layer: str, last: str) -> bool:
    """Whether the output of a layer, and all that is computed from it before `last`, has no other reader."""

    def readers(name: str) -> list[str]:
        ends = (Endpoint(name, output.name) for output in graph.types[name].outputs)
        return [] if name == last else [reader.node for end in ends for reader in graph.readers(end)]

    return all(len(readers(name)) == 1 for name in walk([layer], readers) if name != last)


def _is_grouped(graph: NodeGraph, name: str) -> bool:
    groups = graph.document.nodes[name].params.get("groups", 1)
    return graph.types[name].group == "Convolution" and isinstance(groups, int) and groups > 1


def _check_inplace(flow: Dataflow, name: str) -> Iterator[Problem]:
    end = flow.graph.source(name, flow.facts[name].type.inputs[0].name)
    others = [] if end is None else [reader.node for reader in flow.graph.readers(end) if reader.node != name]
    if others:
        message = f"{name} changes its input in place, and {others[0]} reads the same tensor. Turn inplace off."
        yield Problem(
            "warning", "in-place-shared", message, node=name, fix=quick_fixes.clear(name, "inplace", "Turn inplace off")
        )


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


def _check_learning_rate(name: str, facts: NodeFacts) -> Iterator[Problem]:
    rate, parameter = facts.arguments.values.get("lr"), facts.type.param("lr")
    if not isinstance(rate, (int, float)) or parameter is None:
        return
    if rate == 0:
        message = f"{name} has a learning rate of 0, so the weights do not change. Set lr to {parameter.default:g}."
        yield Problem(
            "warning", "learning-rate-zero", message, node=name, fix=quick_fixes.assign(name, "lr", parameter.default)
        )
    if facts.type.group != ADAPTIVE:
        return
    if rate > max(HIGHEST_ADAPTIVE_RATE, parameter.default):  # Adadelta's default learning rate is 1
        message = (
            f"{name} has a learning rate of {rate:g}. {facts.type.title} changes each weight by about the "
            "learning rate "
            "in every step, so training does not converge. Set lr to 0.001."
        )
        yield Problem("warning", "learning-rate-high", message, node=name, fix=quick_fixes.assign(name, "lr", 0.001))


def _check_loader(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    values = facts.arguments.values
    is_in_order = values.get("shuffle") is False and not values.get("contiguous")
    if is_in_order and not _is_one_batch(flow, name, values.get("batch_size")):
        message = (
            f"{name} reads the training samples in the same order in every epoch, which slows learning. "
            "Turn shuffle on."
        )
        yield Problem("warning", "not-shuffled", message, node=name, fix=quick_fixes.assign(name, "shuffle", True))
    if values.get("batch_size") == 1:
        batch_norm = next((n for n, other in flow.facts.items() if _averages_over_batch_only(n, other, flow)), None)
        if batch_norm is not None:
            message = (
                f"{batch_norm} needs several samples per batch but {name} has batch_size 1. "
                f"Set batch_size of {name} to 32."
            )
            yield Problem(
                "error", "batch-norm-single", message, node=name, fix=quick_fixes.assign(name, "batch_size", 32)
            )


def _is_one_batch(flow: Dataflow, name: str, size: Any) -> bool:
    """Whether a batch holds all training samples, so their order does not matter."""
    facts = flow.facts[name]
    samples = next(iter(facts.inputs.values()), None)
    if not isinstance(size, int) or not isinstance(samples, SampleSpec) or samples.is_stream:
        return False
    count = flow.count(name)
    return count is not None and count <= size


def _averages_over_batch_only(name: str, facts: NodeFacts, flow: Dataflow) -> bool:
    """Batch normalization that can average over the batch only."""
    spec: Spec | None = facts.spec("input")
    is_batch_norm = (
        facts.type.key.startswith("nn.BatchNorm") and name not in flow.graph.muted and name in flow.graph.needed
    )
    return is_batch_norm and spec is not None and spec.ndim == 2
