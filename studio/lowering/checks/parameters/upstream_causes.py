"""Explanations of shape errors whose cause is a parameter of an upstream node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from engine.dtypes import float32
from engine.shape import Spec, format_shape
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import resolve_arguments
from studio.lowering.analysis.node_evaluation import NodeEvaluator, SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.broadcasts import would_broadcast
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

ENCODER = "transforms.OneHot"
LOSS_OR_METRIC = (Role.LOSS, Role.METRIC)


# -- explanations -----------------------------------------------------------------------------


def joined_samples(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loss or metric gets more outputs than targets because an upstream node concatenates along the batch."""
    if facts.type.role not in LOSS_OR_METRIC or not is_uneven(facts):
        return None
    upstream = flow.graph.upstream([name])
    return next(
        (
            joined_batches(node, "error")
            for node, other in flow.facts.items()
            if node in upstream and other.type.key == "ops.cat" and joins_batches(other)
        ),
        None,
    )


def encoded_inputs(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A layer gets encoded inputs because an encoder is applied to inputs instead of targets."""
    port = facts.type.inputs[0].name if facts.type.inputs else ""
    spec = facts.spec(port)
    if facts.type.role is not Role.LAYER or spec is None:
        return None
    for encoder, before, after in _encoders(flow, name, "inputs"):
        if spec.shape[1:] != after.input.shape or not before.input.ndim:
            continue
        unencoded = Spec(spec.shape[:-1], float32)
        arguments = resolve_arguments(facts.type, facts.node.params, unencoded)
        inputs = {**facts.inputs, port: unencoded}
        if arguments.is_incomplete or NodeEvaluator().evaluate(facts.type, arguments.values, inputs).failure:
            continue
        message = (
            f"{encoder} encodes every element of the inputs ({before.input}) as a vector, so {name} gets "
            f"{format_shape(spec.shape)}. Set on of {encoder} to targets, or remove {encoder}."
        )
        fix = quick_fixes.bypass(encoder, "samples")
        if before.classes is not None:
            fix = quick_fixes.assign(encoder, "on", "targets")
        return Problem("error", "wrong-encoding", message, node=encoder, fix=fix)
    return None


def encoded_targets(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Encoded targets have the wrong number of classes."""
    if facts.type.role not in LOSS_OR_METRIC:
        return None
    target = flow.graph.source(name, "target")
    for encoder, before, _ in _encoders(flow, None if target is None else target.node, "targets"):
        size = flow.facts[encoder].arguments.values.get("size")
        if before.classes is not None and size != before.classes:
            return _wrong_class_count(encoder, size, before.classes)
    return None


def too_few_encoded_classes(flow: Dataflow, name: str) -> Iterator[Problem]:
    """An encoder of targets has fewer classes than the data."""
    facts = flow.facts[name]
    samples, size = next(iter(facts.inputs.values()), None), facts.arguments.values.get("size")
    if facts.arguments.values.get("on") != "targets" or not isinstance(samples, SampleSpec) or samples.classes is None:
        return
    if isinstance(size, int) and size < samples.classes:
        yield _wrong_class_count(name, size, samples.classes)


def _wrong_class_count(encoder: str, size: object, classes: int) -> Problem:
    message = f"{encoder} encodes {size} classes but the data has {classes}. Set size of {encoder} to {classes}."
    return Problem("error", "wrong-encoding", message, node=encoder, fix=quick_fixes.assign(encoder, "size", classes))


def missing_column(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """The network outputs N but the targets are N×1."""
    spec, target, source = facts.spec("input"), facts.spec("target"), flow.graph.source(name, "target")
    if facts.type.role not in LOSS_OR_METRIC or spec is None or target is None or source is None:
        return None
    end = flow.graph.source(name, "input")
    if target.shape != (*spec.shape, 1) or end is None:
        return None
    message = (
        f"{name} expects input and target of one shape but gets {format_shape(spec.shape)} from {end.node} "
        f"and targets of {format_shape(target.shape)} from {source.node}{would_broadcast(spec, target)}. "
        f"Insert Flatten(start_dim={spec.ndim - 1}) before {name}.target."
    )
    column = Node("nn.Flatten", {"start_dim": spec.ndim - 1})
    fix = quick_fixes.insert(Endpoint(name, "target"), column, title=f"Insert Flatten before {name}.target")
    return Problem("error", "shape-mismatch", message, node=name, port="target", fix=fix)


# -- helpers ----------------------------------------------------------------------------------


def joined_batches(name: str, severity: Literal["error", "warning"]) -> Problem:
    message = f"{name} concatenates along the batch dimension, so there are more outputs than targets. Set dim to 1."
    return Problem(severity, "joined-batches", message, node=name, fix=quick_fixes.assign(name, "dim", 1))


def joins_batches(facts: NodeFacts) -> bool:
    """Whether a concatenation is along the batch instead of the features."""
    spec = facts.spec(facts.type.inputs[0].name)
    return spec is not None and spec.ndim >= 2 and facts.arguments.values.get("dim") in (0, -spec.ndim)


def is_uneven(reader: NodeFacts) -> bool:
    """Whether a loss or metric gets different numbers of outputs and targets."""
    spec, target = reader.spec("input"), reader.spec("target")
    return spec is None or target is None or spec.shape[:1] != target.shape[:1]


def _encoders(flow: Dataflow, name: str | None, on: str) -> Iterator[tuple[str, SampleSpec, SampleSpec]]:
    """The class encoders upstream of a node, with the samples before and after each."""
    for node in () if name is None else walk([name], lambda node: main_source(flow, node)):
        facts = flow.facts[node]
        if facts.type.key != ENCODER or facts.arguments.values.get("on") != on:
            continue
        before, after = next(iter(facts.inputs.values()), None), next(iter(facts.outputs.values()), None)
        if isinstance(before, SampleSpec) and isinstance(after, SampleSpec):
            yield node, before, after


def main_source(flow: Dataflow, name: str) -> list[str]:
    """The node connected to the first input of a node; empty if there is none."""
    inputs = flow.facts[name].type.inputs
    end = flow.graph.source(name, inputs[0].name) if inputs else None
    return [] if end is None or end.node not in flow.facts else [end.node]
