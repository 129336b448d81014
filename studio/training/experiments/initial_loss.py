"""Does the first loss match that of a network that knows nothing?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.experiments.experiment import Bars, Experiment, Outcome, Outcomes, Step
from studio.training.experiments.loss_inputs import NUMBER_LOSSES, loss_calls
from studio.training.experiments.project_copy import ProjectCopy

_BATCHES = 4
_MAX_RATIO = 5.0
_MAX_RATIO_OF_NUMBERS = 50.0
"""Largest first loss as a multiple of chance. Errors of regression are squared, and their targets have any scale."""


def _run(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    calls = loss_calls(copy, _BATCHES)
    if not calls:
        yield Outcome("inconclusive", "No loss of the project is a separate node.")
        return
    losses, chances = dict[str, float](), dict[str, float]()
    bars: list[tuple[str, float]] = []
    for node in dict.fromkeys(call.node for call in calls):
        losses[node] = fmean(call.value for call in calls if call.node == node)
        bars.append((node, losses[node]))
        if known := [call.chance for call in calls if call.node == node and call.chance]:
            chances[node] = fmean(known)
            bars.append((f"chance ({node})", chances[node]))
    picture = Bars("First loss", tuple(name for name, _ in bars), tuple(value for _, value in bars))
    evidence = {"first loss": losses, "chance": chances}
    for node, loss in losses.items():
        message = _mistake(node, loss, chances.get(node), next(call.type for call in calls if call.node == node))
        if message:
            fix = _without_factor(copy.graph, node)
            problem = Problem("warning", "high-first-loss", message, node=node, fix=fix, evidence=evidence)
            step = "Normalize the inputs and the targets, and look at the activations of the first layers."
            yield Outcome("problem", message, step, evidence, picture, (problem,))
            return
    if not chances:
        listed = ", ".join(f"{loss:.3g} ({node})" for node, loss in losses.items())
        yield Outcome("inconclusive", f"The first loss is {listed}. Chance is not known for it.", "", evidence, picture)
        return
    texts = [f"{node} begins at {losses[node]:.3g}; constant predictions give {chances[node]:.3g}" for node in chances]
    yield Outcome("passed", f"{'. '.join(texts)}.", evidence=evidence, picture=picture)


def _without_factor(graph: NodeGraph, loss: str) -> Fix | None:
    """Remove a node that multiplies the predictions by a constant before the loss."""
    end = graph.source(loss, "input")
    if end is None or graph.types[end.node].key != "ops.mul" or set(graph.sources(end.node)) != {"x"}:
        return None
    return quick_fixes.bypass(end.node, "x")


def _mistake(node: str, loss: float, chance: float | None, kind: str) -> str | None:
    if not math.isfinite(loss):
        found = "NaN" if math.isnan(loss) else "infinite"
        return f"The first loss of {node} is {found}. Look for infinite inputs and for logarithms or divisions of 0."
    limit = _MAX_RATIO_OF_NUMBERS if kind in NUMBER_LOSSES else _MAX_RATIO
    if chance is not None and loss > limit * abs(chance):
        return (
            f"The first loss of {node} is {loss:.3g}, but constant predictions give {chance:.3g}, so the initial "
            "outputs are too large. Normalize the inputs and the targets."
        )
    return None


INITIAL_LOSS = Experiment("initial-loss", "First loss", "Is the first loss that of a network that knows nothing?", _run)

__all__ = ["INITIAL_LOSS"]
