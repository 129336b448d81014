"""Parameters of losses with which nothing, or not all of the classes, can be learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard, cast

import numpy as np

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.targets import target_values, targets_of
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

LARGEST_SMOOTHING = 0.5
SMALLEST_DELTA = 1e-3
"""Largest delta of a Huber loss that is a mistake: gradients are no larger than it."""
_MARGINS = ("nn.TripletMarginLoss", "nn.MultiMarginLoss", "nn.HingeEmbeddingLoss")
_MAX_LISTED = 4


def loss_setting_problems(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_role(Role.LOSS):
        facts = flow.facts.get(name)
        if facts is None or facts.outcome.failure or name not in flow.graph.needed:
            continue
        yield from _limits(name, facts)
        yield from _without_weight(name, facts)
        yield from _ignored_class(flow, name, facts)


def _limits(name: str, facts: NodeFacts) -> Iterator[Problem]:
    values = facts.arguments.values
    smoothing, delta, margin = (values.get(param) for param in ("label_smoothing", "delta", "margin"))
    if _is_number(smoothing) and smoothing >= LARGEST_SMOOTHING:
        effect = f"so {smoothing:.0%} of each target is spread over all classes and hardly depends on its class"
        yield _problem(name, "label_smoothing", smoothing, effect, 0.1)
    if facts.type.key == "nn.HuberLoss" and _is_number(delta) and delta <= SMALLEST_DELTA:
        yield _problem(name, "delta", delta, "and gradients are never larger, so steps are tiny", 1.0)
    if facts.type.key in _MARGINS and _is_number(margin) and margin <= 0:
        yield _problem(name, "margin", margin, "so equal outputs for all samples have no loss", 1.0)


def _problem(name: str, param: str, value: float, effect: str, usual: float) -> Problem:
    fix = quick_fixes.assign(name, param, usual)
    message = f"{name} has a {param} of {value:g}, {effect}. {fix.title}."
    return Problem("warning", "loss-setting", message, node=name, fix=fix, evidence={param: value, "usual": usual})


def _without_weight(name: str, facts: NodeFacts) -> Iterator[Problem]:
    """Class weights of 0."""
    weights: Any = facts.arguments.values.get("weight")
    if not isinstance(weights, tuple):
        return
    given = cast("tuple[Any, ...]", weights)
    classes = [index for index, weight in enumerate(given) if weight == 0]
    if not classes:
        return
    listed = ", ".join(map(str, classes[:_MAX_LISTED])) + (" and others" if len(classes) > _MAX_LISTED else "")
    noun = "class" if len(classes) == 1 else "classes"
    message = f"{name} has a weight of 0 for {noun} {listed}, so it learns nothing of them. Set other weights."
    kept = [1.0 if weight == 0 else float(weight) for weight in given]
    fix = quick_fixes.clear(name, "weight") if len(set(kept)) == 1 else quick_fixes.assign(name, "weight", [*kept])
    yield Problem("warning", "loss-setting", message, node=name, fix=fix, evidence={"classes": [*classes]})


def _ignored_class(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """A class that is ignored, although samples have it. In images and texts that is background or padding."""
    ignored, target = facts.arguments.values.get("ignore_index"), facts.spec("target")
    if not isinstance(ignored, int) or ignored < 0 or target is None or target.ndim != 1:
        return
    targets = targets_of(flow, name)
    if targets is None or not targets.are_class_numbers or ignored >= (targets.classes or 0):
        return
    values = target_values(flow, targets)
    if values is None or not np.any(values.values == ignored):
        return
    message = f"{name} ignores the samples of class {ignored}, so it learns nothing of them. Clear ignore_index."
    fix = quick_fixes.clear(name, "ignore_index")
    yield Problem("warning", "loss-setting", message, node=name, fix=fix, evidence={"class": ignored})


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


__all__ = ["loss_setting_problems"]
