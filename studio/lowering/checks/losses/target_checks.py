"""Targets of another kind than a loss expects: class numbers, one-hot vectors, signs or numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.classifier_fix import classify, encode
from studio.lowering.checks.losses.loss_conventions import (
    ANSWER_LOSSES,
    CLASS_METRICS,
    DISTANCE_LOSSES,
    SIGN_LOSSES,
)
from studio.lowering.checks.losses.targets import ONE_HOT_OPERATION, Targets, target_values, targets_of
from studio.lowering.checks.parameters.upstream_causes import main_source
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

_CLASSES = "The targets are class numbers."
MAX_CLASSES = 20
"""Number of classes above which class numbers are probably quantities."""
_QUANTITIES = f"More than {MAX_CLASSES} different numbers are usually quantities."
INDEX_LOSSES = frozenset({"nn.NLLLoss", "nn.MultiMarginLoss", "nn.MultiLabelMarginLoss"})
"""Losses that take class numbers only; cross entropy also takes one-hot vectors."""
VECTOR_LOSSES = frozenset({*ANSWER_LOSSES, *DISTANCE_LOSSES, "nn.KLDivLoss", "nn.MultiLabelMarginLoss"})
"""Losses whose targets have the shape of the scores."""


def target_problems(flow: Dataflow) -> Iterator[Problem]:
    """Wrong targets that losses accept without an error."""
    for name in flow.graph.with_role(Role.LOSS):
        facts = flow.facts.get(name)
        if facts is None or facts.outcome.failure or "target" not in facts.inputs:
            continue
        problem = _silent(flow, name, facts)
        if problem is not None:
            yield problem


def _silent(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    return (
        class_targets(flow, name, facts)
        or _class_numbers_as_signs(flow, name, facts)
        or _numbers_as_classes(flow, name)
    )


def class_targets(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Class numbers at a loss of numbers or of answers per class."""
    targets = targets_of(flow, name) if facts.type.key in VECTOR_LOSSES else None
    target, scores = facts.spec("target"), facts.spec("input")
    if targets is None or not targets.are_class_numbers or target is None or scores is None:
        return None
    classes, is_float = targets.classes or 0, target.dtype.is_floating_point
    is_distance = facts.type.key in DISTANCE_LOSSES
    is_vector = scores.ndim == target.ndim + 1 and scores.shape[1] not in (1, None)
    if not is_vector and classes == 2 and (is_float or not is_distance):
        return None  # yes or no as 0 or 1
    severity: Literal["error", "warning"] = "error" if facts.outcome.failure else "warning"
    expected = _expected(facts.type.key)
    message = f"{name} expects {expected} but {targets.loader} provides the numbers of {classes} classes ({target})"
    if is_distance:
        message = f"{message}, whose differences mean nothing"
    fix, others = classify(flow, name, targets), _encoding(flow, name, targets) if is_vector else ()
    if facts.type.key == "nn.KLDivLoss":
        fix = quick_fixes.retype(name, "nn.NLLLoss")
    are_quantities = classes > MAX_CLASSES
    can_be_numbers = is_distance and (are_quantities or scores.shape[1:] == (1,))
    numbers = learn_numbers(flow, targets.source)[1] if can_be_numbers else None
    if numbers is not None:
        fix, others = (numbers, (fix,) if fix else ()) if are_quantities else (fix or numbers, (numbers,))
    remedy = f"{fix.title}." if fix is not None else "Use CrossEntropyLoss with one score per class."
    text, evidence = f"{message}. {remedy}", {"classes": classes}
    others = tuple(other for other in others if other is not fix)
    if fix is not None and others:
        fix = fix.because(_QUANTITIES if fix is numbers else _CLASSES)
    return Problem(severity, "wrong-target", text, node=name, port="target", fix=fix, others=others, evidence=evidence)


def learn_numbers(flow: Dataflow, name: str) -> tuple[str, Fix | None]:
    """The data source upstream of a node, and a fix that sets it to provide numeric targets, if it can."""
    *_, source = walk([name], lambda node: main_source(flow, node))
    task = flow.facts[source].type.param("task")
    numbers = [] if task is None else [choice for choice in task.choices if choice.startswith("number")]
    return source, quick_fixes.assign(source, "task", numbers[0]) if numbers else None


def encoded_as_numbers(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """One-hot vectors at a loss or metric of class numbers."""
    if facts.type.key not in INDEX_LOSSES | CLASS_METRICS:
        return None
    targets, target = targets_of(flow, name), facts.spec("target")
    if targets is None or targets.encoder is None or target is None:
        return None
    encoder = targets.encoder
    start = f"{name} expects class numbers but gets one-hot vectors ({target}) from {encoder}."
    readers = [each for each in flow.graph.with_role(Role.LOSS) if _reads(flow, each, encoder)]
    if facts.type.role is Role.METRIC and any(flow.graph.types[each].key in VECTOR_LOSSES for each in readers):
        title = f"Insert Argmax before {name}.target"
        node = Node("ops.argmax", {"dim": 1})
        fix = quick_fixes.insert(Endpoint(name, "target"), node, title=title, input_port="x")
        return Problem("error", "wrong-encoding", f"{start} {title}.", node=name, port="target", fix=fix)
    port = "x" if flow.graph.types[encoder].key == ONE_HOT_OPERATION else "samples"
    fix = quick_fixes.bypass(encoder, port)
    return Problem("error", "wrong-encoding", f"{start} {fix.title}.", node=encoder, fix=fix)


def _class_numbers_as_signs(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Class numbers 0 and 1 at a loss of the labels -1 and 1. Other labels are found in the samples."""
    target = facts.spec("target")
    targets = targets_of(flow, name) if facts.type.key in SIGN_LOSSES else None
    if targets is None or target is None or not targets.are_class_numbers or target.dtype.is_floating_point:
        return None
    classes = targets.classes or 0
    fix = _as_signs(flow, targets) if classes == 2 else None
    others: tuple[Fix, ...] = ()
    if fix is not None and facts.type.key == "nn.SoftMarginLoss":
        others = (quick_fixes.retype(name, "nn.BCEWithLogitsLoss"),)
        fix = fix.because("It keeps the loss.")
    remedy = f"{fix.title}." if fix is not None else "Use a loss of classes such as CrossEntropyLoss."
    message = f"{name} expects targets -1 or 1, but those of {targets.loader} are the class numbers 0 to {classes - 1}."
    evidence = {"classes": classes}
    return Problem(
        "warning",
        "target-convention",
        f"{message} {remedy}",
        node=name,
        port="target",
        fix=fix,
        others=others,
        evidence=evidence,
    )


def _numbers_as_classes(flow: Dataflow, name: str) -> Problem | None:
    """Cross entropy of numbers that are neither class numbers nor probabilities."""
    facts = flow.facts[name]
    target, scores = facts.spec("target"), facts.spec("input")
    if facts.type.key != "nn.CrossEntropyLoss" or target is None or scores is None:
        return None
    targets = targets_of(flow, name) if target.dtype.is_floating_point else None
    if targets is None or targets.classes is not None:
        return None
    values = target_values(flow, targets) if scores.shape[1:2] != (1,) else None
    if scores.shape[1:2] != (1,) and (values is None or (values.low >= 0 and values.high <= 1.001)):
        return None
    message = (
        f"{name} expects classes or their probabilities but {targets.loader} provides numbers ({target}). "
        "Use a regression loss such as MSELoss."
    )
    fix = quick_fixes.retype(name, "nn.MSELoss")
    return Problem("warning", "wrong-target", message, node=name, port="target", fix=fix)


# -- helpers ----------------------------------------------------------------------------------


def _expected(key: str) -> str:
    """What the target of a loss is, in words."""
    if key in DISTANCE_LOSSES:
        return "numbers as targets"
    if key == "nn.KLDivLoss":
        return "a probability of each class as target"
    return "an answer from 0 to 1 for each score as target"


def _encoding(flow: Dataflow, name: str, targets: Targets) -> tuple[Fix, ...]:
    """A fix that encodes the class numbers, unless another node needs them."""
    readers = flow.graph.readers(targets.end)
    is_alone = all(reader.node == name for reader in readers)
    is_alone = is_alone and flow.graph.types[name].key != "nn.MultiLabelMarginLoss"  # takes lists of class numbers
    return (encode(targets, flow),) if is_alone and flow.graph.source(name, "target") == targets.end else ()


def _as_signs(flow: Dataflow, targets: Targets) -> Fix:
    """Insert Normalize of the targets before the loader, which makes -1 and 1 of 0 and 1."""
    loader = targets.loader
    node = Node("transforms.Normalize", {"mean": 0.5, "std": 0.5, "on": "targets"})
    end = Endpoint(loader, flow.facts[loader].type.inputs[0].name)
    title = "Insert Normalize that maps 0 and 1 to -1 and 1"
    return quick_fixes.insert(end, node, title=title, input_port="samples", output_port="samples")


def _reads(flow: Dataflow, loss: str, encoder: str) -> bool:
    targets = targets_of(flow, loss)
    return targets is not None and targets.encoder == encoder


__all__ = ["class_targets", "encoded_as_numbers", "learn_numbers", "target_problems"]
