"""The number of scores of a network against the number of classes of its targets."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.loss_conventions import CLASS_LOSSES
from studio.lowering.checks.losses.targets import LABEL_ENCODE, Targets, target_values, targets_of
from studio.lowering.checks.parameters.size_origins import origin_of_size
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

MAX_LISTED_LABELS = 1000
"""Maximum number of labels that a fix lists."""


def class_count_problems(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_role(Role.LOSS):
        facts = flow.facts.get(name)
        if facts is None or facts.type.key not in CLASS_LOSSES:
            continue
        targets = targets_of(flow, name)
        if targets is not None and targets.are_class_numbers:
            yield from _check_count(flow, name, targets)


def _check_count(flow: Dataflow, loss: str, targets: Targets) -> Iterator[Problem]:
    """The number of scores differs from the number of classes, or there is only one class."""
    facts, classes = flow.facts[loss], targets.classes
    scores, target, end = facts.spec("input"), facts.spec("target"), flow.graph.source(loss, "input")
    if scores is None or target is None or end is None or scores.ndim < 2 or classes is None:
        return
    found = scores.shape[1]
    if not isinstance(found, int) or found == classes:
        return
    if facts.outcome.failure and scores.ndim != target.ndim + 1:
        return  # dimension 1 does not contain scores; the shape is a separate problem
    if classes == 1:
        source = targets.source
        message = f"All targets of {source} have the same class, so {loss} has nothing to learn. Check its labels."
        yield Problem("warning", "one-class", message, node=source, affected=loss)
        return
    if found < classes and (problem := _misnumbered(flow, targets, classes, found)) is not None:
        yield problem
        return
    yield _different_count(flow, loss, end, found, classes)


def _different_count(flow: Dataflow, loss: str, end: Endpoint, found: int, classes: int) -> Problem:
    cause = origin_of_size(flow, end, 1)
    out = next((p.name for p in flow.facts[cause].type.params if p.name.startswith("out_")), None)
    fix = None if out is None else quick_fixes.assign(cause, out, classes)
    remedy = f"Set {out} of {cause} to {classes}." if out else f"Change {cause} to output {classes}."
    message = f"The data has {classes} classes but {cause} outputs scores for {found}"
    evidence = {"classes": classes, "scores": found}
    if found < classes:
        message = f"{message}, so {loss} has no score for the other classes. {remedy}"
        return Problem("error", "too-few-classes", message, node=cause, fix=fix, evidence=evidence)
    message = f"{message}; the additional ones are never a target. {remedy}"
    return Problem("warning", "too-many-classes", message, node=cause, fix=fix, evidence=evidence)


def _misnumbered(flow: Dataflow, targets: Targets, classes: int, scores: int) -> Problem | None:
    """Labels that begin at 1, or have gaps, so that more classes than there are labels are counted."""
    values = target_values(flow, targets)
    if values is None or classes > MAX_LISTED_LABELS:
        return None
    loader = targets.loader
    input_port = Endpoint(loader, flow.facts[loader].type.inputs[0].name)
    code, labels = "labels-from-one", list(range(1, classes))
    which = f"range from 1 to {classes - 1}"
    if values.low != 1 or scores != classes - 1:
        code, labels = "labels-with-gaps", [int(value) for value in values.distinct]
        if len(labels) != scores or scores < 2 or labels[-1] != classes - 1:
            return None  # the samples that were looked at have other labels than the rest
        which = f"are {', '.join(map(str, labels[:-1]))} and {labels[-1]}"
    message = (
        f"The labels of {targets.source} {which}, but classes are numbered from 0. Insert Label encode before {loader}."
    )
    node = Node(LABEL_ENCODE, {"labels": [*labels], "on": "targets"})
    title = f"Insert Label encode before {loader}"
    fix = quick_fixes.insert(input_port, node, title=title, input_port="samples", output_port="samples")
    evidence = {"lowest": labels[0], "highest": classes - 1}
    return Problem("error", code, message, node=targets.source, fix=fix, evidence=evidence)


def class_weights(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loss has another number of class weights than of scores."""
    weights, scores, end = facts.arguments.values.get("weight"), facts.spec("input"), flow.graph.source(name, "input")
    if facts.type.key not in CLASS_LOSSES or not isinstance(weights, tuple) or scores is None or end is None:
        return None
    count, classes = len(weights), scores.shape[1] if scores.ndim > 1 else None  # pyright: ignore[reportUnknownArgumentType]
    if classes is None or count == classes:
        return None
    cause = origin_of_size(flow, end, 1)
    message = (
        f"{name} has {count} class weights but {cause} outputs scores for {classes} classes. List a weight for each "
        "class, or clear weight."
    )
    fix = quick_fixes.clear(name, "weight")
    evidence = {"weights": count, "scores": classes if isinstance(classes, int) else str(classes)}
    return Problem("error", "class-weights", message, node=name, fix=fix, evidence=evidence)


__all__ = ["class_weights", "class_count_problems"]
