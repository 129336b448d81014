"""Settings of normalization with which a layer normalizes with wrong statistics, or hardly at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem

LONGEST_STEP = 0.9
"""Smallest momentum that is a mistake: running averages of hardly more than the last batch. Usual is 0.1; other
libraries call 1 - 0.1 the momentum."""
_INITIAL = 0.5
"""Share of the initial mean and variance in the running averages after a training."""
LARGEST_EPS = 0.1
"""Smallest eps that is a mistake: the variance of normalized inputs is about 1."""
_AVERAGING = ("nn.BatchNorm", "nn.InstanceNorm")


def normalization_setting_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.type.group != "Normalization" or name in flow.graph.muted or name not in flow.graph.needed:
            continue
        if facts.type.key.startswith(_AVERAGING) and facts.arguments.values.get("track_running_stats"):
            yield from _momentum(flow, name, facts)
        yield from _eps(name, facts)


def _momentum(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    momentum: Any = facts.arguments.values.get("momentum")
    if not isinstance(momentum, (int, float)) or isinstance(momentum, bool):
        return
    steps = flow.length().total(per_step=True) if 0 < momentum < LONGEST_STEP else None
    if momentum >= LONGEST_STEP:
        effect = f"so its running averages are {'' if momentum >= 1 else 'almost '}those of the last batch alone"
    elif momentum <= 0:
        effect = "so its running averages stay 0 and 1, whatever the data is"
    elif steps is not None and (kept := (1 - momentum) ** steps) > _INITIAL:
        effect = (
            f"so after the {steps:,} steps of the training its running averages are {kept:.0%} their initial values"
        )
    else:
        return
    message = (
        f"{name} has a momentum of {momentum:g}, {effect}. Validation normalizes with them, and its results are wrong. "
        "Clear momentum: its default is 0.1."
    )
    evidence = {"momentum": momentum}
    fix = quick_fixes.clear(name, "momentum")
    yield Problem("warning", "running-averages", message, node=name, fix=fix, evidence=evidence)


def _eps(name: str, facts: NodeFacts) -> Iterator[Problem]:
    eps: Any = facts.arguments.values.get("eps")
    if not isinstance(eps, (int, float)) or isinstance(eps, bool) or 0 < eps < LARGEST_EPS:
        return
    effect = "which is added to the variance, so it makes small values smaller instead of normalizing them"
    if eps <= 0:
        effect = "so values that are all equal become NaN"
    message = f"{name} has an eps of {eps:g}, {effect}. Clear eps."
    fix = quick_fixes.clear(name, "eps")
    yield Problem("warning", "normalization-epsilon", message, node=name, fix=fix, evidence={"eps": eps})


__all__ = ["normalization_setting_problems"]
