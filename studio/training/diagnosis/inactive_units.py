"""Units that do not pass gradients on: dead ReLUs, saturated sigmoids and tanhs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from engine import fit
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.training.diagnosis.run_facts import RunFacts
from studio.training.diagnosis.training_curves import TrainingCurves

DEAD = 0.8
"""Share of units of a layer that were 0 for all observed samples. Networks that learn stay below 0.5, also right after
their initialization, when deep layers depend little on their input (8 linear layers with the default one: 0.45)."""
_MIN_UNITS = 8
_MIN_STEPS = 50
_MIN_OBSERVED_STEP = 10
SATURATED = 0.8
"""Share of outputs on the flat parts in a flat curve."""
CONSTANT = 1e-5
"""Spread of the outputs of an activation below which they are one value."""
_RECTIFIERS = {"nn.ReLU": "nn.LeakyReLU", "nn.ReLU6": "nn.LeakyReLU"}


def find_dead_units(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """The first layer whose ReLUs are almost all dead."""
    if not curves.observations or curves.steps < _MIN_STEPS:
        return None
    last = curves.observations[-1]
    if len(curves.observations) < 2 or last.step < _MIN_OBSERVED_STEP:
        return None
    for path, figures in last.layers.items():
        share, units = figures.get("dead", 0.0), round(figures.get("units", 0.0))
        node = facts.node_of(path)
        if share >= DEAD and units >= _MIN_UNITS and node is not None:
            return _dead(node, share, units, last, curves, facts)
    return None


def _dead(node: str, share: float, units: int, last: fit.Observed, curves: TrainingCurves, facts: RunFacts) -> Problem:
    leaky = _RECTIFIERS.get(facts.types[node].key)
    at_first = next((each.layers[node].get("dead", 0.0) for each in curves.observations if node in each.layers), 0.0)
    begin = "from the first step on" if at_first >= DEAD else f"by step {last.step:,}"
    message = (
        f"{round(share * units):,} of {units:,} units of {node} ({share:.0%}) are dead: they were 0 for all observed "
        f"samples {begin}, so they get no gradient. Use LeakyReLU instead."
    )
    evidence = {"dead_share": share, "units": units, "dead_share_at_first": at_first, "step": last.step}
    fix = None if leaky is None else quick_fixes.retype(node, leaky)
    return Problem("warning", "dead-relu", message, node=node, fix=fix, evidence=evidence)


def find_saturation(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """In a flat curve: the first hidden layer of sigmoids or tanhs whose outputs are at their limits."""
    if not curves.observations:
        return None
    last = curves.observations[-1]
    for path in _hidden(last):
        node, figures = facts.node_of(path), last.layers[path]
        is_constant = (
            path in facts.types and facts.types[path].category == "activation" and figures.get("std", 1.0) < CONSTANT
        )
        share = 1.0 if is_constant else figures.get("saturated", 0.0)
        if share >= SATURATED and node is not None:
            message = (
                f"{share:.0%} of the outputs of {node} are saturated, where the gradient is almost 0, and the loss "
                f"stays at {curves.recent():.3g}. Add normalization before {node}, or use ReLU."
            )
            evidence = {"saturated_share": share, "loss": curves.recent(), "step": curves.steps}
            fix = None if facts.has_source(node) else quick_fixes.retype(node, "nn.ReLU")
            return Problem("warning", "saturated-units", message, node=node, fix=fix, evidence=evidence)
    return None


def _hidden(observed: fit.Observed) -> Iterator[str]:
    """Layers before the last one with parameters, in the order in which they run."""
    paths = list(observed.layers)
    owners = {path.rpartition(".")[0] for path in observed.parameters}
    last = max((number for number, path in enumerate(paths) if path in owners), default=0)
    yield from paths[:last]


def is_dying(curves: TrainingCurves) -> bool:
    """Whether the share of dead units rose during training, as a rate that is too high causes."""
    shares = [max((each.get("dead", 0.0) for each in one.layers.values()), default=0.0) for one in curves.observations]
    return any(later > earlier + 0.2 for earlier, later in pairwise(shares))


__all__ = ["DEAD", "find_dead_units", "find_saturation", "is_dying"]
