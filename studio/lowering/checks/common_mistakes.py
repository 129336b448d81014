"""Common mistakes: graphs that run, but train badly or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.shape import Dim, Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.checks.embedding_checks import few_embeddings
from studio.lowering.checks.size_origins import origin_of_size
from studio.lowering.checks.upstream_causes import (
    ENCODER,
    is_uneven,
    joined_batches,
    joins_batches,
    too_few_encoded_classes,
)
from studio.lowering.checks.value_paths import LINEAR_GROUPS, linear_behind, values_at
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

HIGHEST_ADAPTIVE_RATE = 0.1
"""Highest plausible learning rate of adaptive optimizers; usual values are 100 times smaller."""

ADAPTIVE = "Adaptive"
REDUNDANT_ACTIVATIONS = {
    "nn.CrossEntropyLoss": {"nn.Softmax": "softmax", "nn.LogSoftmax": "log-softmax", "nn.Sigmoid": "a sigmoid"},
    "nn.BCEWithLogitsLoss": {"nn.Sigmoid": "a sigmoid", "nn.LogSigmoid": "a log-sigmoid", "nn.Softmax": "softmax"},
}
"""Activations that must not precede a loss, because the loss already applies them, by loss."""

PROBABILITIES = {"nn.Softmax": "softmax", "nn.LogSoftmax": "log-softmax"}

LOG_PROBABILITY_LOSSES = frozenset({"nn.NLLLoss", "nn.KLDivLoss"})

SCORE_LOSSES = frozenset(REDUNDANT_ACTIVATIONS)
"""Losses that expect raw scores."""


def graph_mistakes(graph: NodeGraph) -> Iterator[Problem]:
    """Mistakes visible from node types and wires."""
    for loss in graph.with_role(Role.LOSS):
        if path := values_at(graph, loss, "input"):
            yield from _check_loss_input(graph, loss, [end.node for end in path])
    for name, node_type in graph.types.items():
        if node_type.group in LINEAR_GROUPS and name not in graph.muted:
            yield from _check_consecutive_linear(graph, name)


def value_mistakes(flow: Dataflow) -> Iterator[Problem]:
    """Mistakes visible from parameters and shapes."""
    for name in flow.graph.with_role(Role.LOSS):
        if name in flow.facts:
            yield from _check_class_count(flow, name, flow.facts[name])
    for name in flow.graph.with_role(Role.OPTIMIZER):
        if name in flow.facts:
            yield from _check_learning_rate(name, flow.facts[name])
    for name in flow.graph.with_role(Role.LOADER):
        if name in flow.facts:
            yield from _check_loader(flow, name, flow.facts[name])
    for name, facts in flow.facts.items():
        if facts.type.key in PROBABILITIES:
            yield from _check_softmax_dimension(name, facts)
        if facts.type.key == "nn.Embedding":
            yield from few_embeddings(flow, name, facts)
        if facts.arguments.values.get("inplace"):
            yield from _check_inplace(flow, name)
        if facts.type.key == "ops.cat":
            yield from _check_concatenation(flow, name, facts)
        if facts.type.key == ENCODER:
            yield from too_few_encoded_classes(flow, name)


# -- losses -----------------------------------------------------------------------------------


def _check_loss_input(graph: NodeGraph, loss: str, path: list[str]) -> Iterator[Problem]:
    """Check the node that computes the input of a loss, the last of the path to it."""
    dropout = next((layer for layer in path if graph.types[layer].group == "Dropout"), None)
    yield from _check_activation(graph, loss, path[-1])
    if loss_problem := _check_unbounded_scores(graph, loss, path[-1]):
        yield loss_problem
    elif dropout is not None:
        message = (
            f"{dropout} applies dropout to the scores right before {loss}, which only adds noise to the loss. "
            f"Remove {dropout}."
        )
        fix = quick_fixes.bypass(dropout, graph.types[dropout].inputs[0].name)
        yield Problem("warning", "dropout-on-scores", message, node=dropout, fix=fix)


def _check_activation(graph: NodeGraph, loss: str, before: str) -> Iterator[Problem]:
    loss_type, last = graph.types[loss], graph.types[before]
    if not last.inputs:
        return
    fix = quick_fixes.bypass(before, last.inputs[0].name)
    activation = REDUNDANT_ACTIVATIONS.get(loss_type.key, {}).get(last.key)
    if activation is not None:
        contained = "softmax" if loss_type.key == "nn.CrossEntropyLoss" else "a sigmoid"
        message = (
            f"{before} applies {activation} before {loss}, which already applies {contained}, so gradients become "
            "small and "
            f"training is slow. Remove {before}: {loss} expects raw scores."
        )
        yield Problem("warning", "squashed-scores", message, node=before, fix=fix)
    elif loss_type.key in SCORE_LOSSES and last.key in ("nn.ReLU", "nn.ReLU6"):
        message = (
            f"{before} removes the negative scores that {loss} needs. Remove {before}: "
            "the last layer before this loss needs no activation."
        )
        yield Problem("warning", "relu-on-scores", message, node=before, fix=fix)
    elif loss_type.key in LOG_PROBABILITY_LOSSES and last.key == "nn.Softmax":
        message = f"{loss} expects log-probabilities but {before} outputs probabilities. Use LogSoftmax at {before}."
        fix = quick_fixes.retype(before, "nn.LogSoftmax", keep=("dim",))
        yield Problem("warning", "no-log-probabilities", message, node=before, fix=fix)


def _check_unbounded_scores(graph: NodeGraph, loss: str, scorer: str) -> Problem | None:
    """Unbounded scores at a loss that expects probabilities or log-probabilities."""
    key = graph.types[loss].key
    if graph.types[scorer].group not in LINEAR_GROUPS:
        return None
    if key == "nn.BCELoss":
        message = (
            f"{loss} expects probabilities between 0 and 1 but {scorer} outputs unbounded scores. "
            f"Use BCEWithLogitsLoss, or insert Sigmoid before {loss}."
        )
        fix = quick_fixes.retype(loss, "nn.BCEWithLogitsLoss")
        return Problem("error", "no-probabilities", message, node=loss, port="input", fix=fix)
    if key in LOG_PROBABILITY_LOSSES:
        message = f"{loss} expects log-probabilities but {scorer} outputs unbounded scores, so the loss has no minimum."
        title = f"Insert LogSoftmax before {loss}"
        fix, remedy = (
            quick_fixes.insert(Endpoint(loss, "input"), Node("nn.LogSoftmax", {"dim": 1}), title=title),
            f"{title}.",
        )
        if key == "nn.NLLLoss":
            fix, remedy = quick_fixes.retype(loss, "nn.CrossEntropyLoss"), "Use CrossEntropyLoss."
        return Problem("warning", "no-log-probabilities", f"{message} {remedy}", node=loss, port="input", fix=fix)
    return None


def _check_class_count(flow: Dataflow, loss: str, facts: NodeFacts) -> Iterator[Problem]:
    """The number of scores differs from the number of classes, or there is only one class."""
    scores, target, classes = facts.spec("input"), facts.spec("target"), _data_classes(flow, loss)
    end = flow.graph.source(loss, "input")
    if (
        facts.type.key not in ("nn.CrossEntropyLoss", "nn.NLLLoss")
        or scores is None
        or target is None
        or scores.ndim < 2
    ):
        return
    if end is None or classes is None or not isinstance(scores.shape[1], int) or scores.shape[1] == classes:
        return
    if facts.outcome.failure and scores.ndim != target.ndim + 1:
        return  # dimension 1 does not contain scores; the shape is a separate problem
    if classes == 1:
        *_, source = walk([loss], lambda node: _target_source(flow, node))
        message = f"All targets of {source} have the same class, so {loss} has nothing to learn. Check its labels."
        yield Problem("warning", "one-class", message, node=source, affected=loss)
        return
    found, cause = scores.shape[1], origin_of_size(flow, end, 1)
    out = next((p.name for p in flow.facts[cause].type.params if p.name.startswith("out_")), None)
    fix = None if out is None else quick_fixes.assign(cause, out, classes)
    remedy = f"Set {out} of {cause} to {classes}." if out else f"Change {cause} to output {classes}."
    evidence = f"The data has {classes} classes but {cause} outputs scores for {found}"
    if found < classes:
        message = f"{evidence}, so {loss} has no score for the other classes. {remedy}"
        yield Problem("error", "too-few-classes", message, node=cause, fix=fix)
    else:
        message = f"{evidence}; the additional ones are never a target. {remedy}"
        yield Problem("warning", "too-many-classes", message, node=cause, fix=fix)


def _target_source(flow: Dataflow, name: str) -> list[str]:
    """The node that provides the targets of a loss, or the samples of a data node."""
    inputs = flow.facts[name].type.inputs
    port = "target" if flow.facts[name].type.role is Role.LOSS else inputs[0].name if inputs else ""
    end = flow.graph.source(name, port)
    return [] if end is None else [end.node]


def _data_classes(flow: Dataflow, loss: str) -> int | None:
    """Number of classes of a loss's target, if a loader provides it directly."""
    target = flow.graph.source(loss, "target")
    if target is None or target.node not in flow.facts or flow.facts[target.node].type.role is not Role.LOADER:
        return None
    samples = next(iter(flow.facts[target.node].inputs.values()), None)
    return samples.classes if isinstance(samples, SampleSpec) and target.port == "target" else None


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


def _check_softmax_dimension(name: str, facts: NodeFacts) -> Iterator[Problem]:
    """Softmax over the batch instead of the classes."""
    spec, dim = facts.spec("input"), facts.arguments.values.get("dim")
    if spec is None or spec.ndim < 2 or dim not in (0, -spec.ndim) or not isinstance(spec.shape[0], Dim):
        return
    message = f"{name} computes {PROBABILITIES[facts.type.key]} over dimension 0, the batch dimension. Set dim to 1."
    yield Problem("warning", "softmax-over-batch", message, node=name, fix=quick_fixes.assign(name, "dim", 1))


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
