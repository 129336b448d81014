"""Gradients that vanish or explode on their way from the output to the input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

from engine import fit
from studio.document import edits
from studio.document.model import Endpoint, Node
from studio.document.training_settings import TRAINING_SETTINGS
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.diagnosis.run_facts import RECURRENT, RunFacts
from studio.training.diagnosis.training_curves import TrainingCurves, gradient_norm, relative_gradients, weight_norm

BLOCKED = 1e-4
"""Relative gradient of the first weight below which it is the cause of any curve that is level: constant outputs have
learned the mean of the targets."""
_LEVEL, _HIGH_LEVEL = 0.03, 0.15
"""Share of the loss that a level curve gains in its later half, and share of the first loss that it has at least."""
_BLOCKED_STEPS = 80
VANISHED = 1e-2
"""Relative gradient of the first weight to the largest one below which a flat curve is explained by it. Networks that
learn stay above 0.01: those with ReLU, normalization or skip connections near 0.1."""
EXPLODED = 10.0
"""Norm of the first gradient, relative to that of the weights, from which a loss that jumps is explained by it. Usual
are 0.05 to 1."""
_VANISHED_EARLY, _USUAL_STEPS = 1e-3, 100
"""The same in fewer steps, in which sound networks can be flat, too."""
_DEEP = 4
"""Weights that a gradient passes before one calls a network deep; recurrent layers count as deep."""
_RECURRENT_STEPS = 60
_FORGOTTEN = 1e-9
"""Share of a gradient that is left after all steps of a sequence, below which it is nothing."""
_CONSTANT = 0.25
"""Ratio of the spread of outputs to the usual error below which they are the same for all samples."""
_RECURRENT_PARAMS = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")
CLIP_NORM = 1.0
_NORMS = {"nn.Linear": "nn.LayerNorm", "nn.Conv2d": "nn.BatchNorm2d", "nn.Conv1d": "nn.BatchNorm1d"}
"""Normalization after a layer."""
_SQUASHING = ("nn.Sigmoid", "nn.Tanh", "nn.Softsign", "nn.LogSigmoid", "nn.Hardsigmoid", "nn.Hardtanh")


def find_vanishing_gradients(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """In a flat curve: the first layer, whose gradient is a small fraction of that near the output."""
    return _vanishing(curves, facts, VANISHED if curves.steps >= _USUAL_STEPS else _VANISHED_EARLY)


def find_blocked_gradients(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """In a curve that fell at first and is level: as in a flat one, if the gradient is a tiny fraction."""
    return _vanishing(curves, facts, BLOCKED) if _is_level(curves, _BLOCKED_STEPS) else None


def find_forgetting(curves: TrainingCurves, facts: RunFacts, *, is_flat: bool) -> Problem | None:
    """In a flat or level curve: a simple recurrence over many steps, the first of them without a gradient.

    At each step back, a gradient is multiplied by about the spectral radius of the recurrent weights: of a random
    matrix, its norm divided by the square root of its size.
    """
    if not curves.observations or not (is_flat or _is_level(curves, _RECURRENT_STEPS)):
        return None
    last = curves.observations[-1]
    if not is_flat and _output_spread(last) > _CONSTANT * math.sqrt(max(curves.recent(), 0.0)):
        return None  # it has learned more than the mean of its targets
    for node, recurrence in facts.recurrences.items():
        figures = last.parameters.get(f"{node}.weight_hh_l0", {})
        factor = figures.get("norm", 0.0) / math.sqrt(recurrence.hidden_size)
        if not 0 < factor < 1 or recurrence.steps * math.log10(factor) > math.log10(_FORGOTTEN):
            continue
        message = (
            f"The gradient vanishes in {node}: each step back multiplies it by about {factor:.2g}, so over "
            f"{recurrence.steps:,} steps nothing is left of it, and the loss stays at {curves.recent():.3g}. Use GRU, "
            "or shorter sequences."
        )
        evidence = {"factor": factor, "steps": recurrence.steps, "loss": curves.recent(), "step": curves.steps}
        fix = None if "." in node else quick_fixes.retype(node, "nn.GRU", keep=_RECURRENT_PARAMS)
        return Problem("warning", "vanishing-gradients", message, node=node, fix=fix, evidence=evidence)
    return None


def _output_spread(observed: fit.Observed) -> float:
    """Standard deviation of the outputs of the last layer."""
    figures = list(observed.layers.values())
    return figures[-1].get("std", math.inf) if figures else math.inf


def _is_level(curves: TrainingCurves, steps: int) -> bool:
    """Whether the later half of a curve gained almost nothing, and its loss is high."""
    if curves.steps < steps or not curves.is_late(1 / 2):
        return False
    quarter = curves.steps // 4
    before, now = (curves.window(start, start + quarter) for start in (2 * quarter, curves.steps - quarter))
    gained = before.mean - now.mean
    if gained > max(_LEVEL * before.mean, 2 * math.hypot(before.error, now.error)):
        return False
    return now.mean >= _HIGH_LEVEL * curves.first


def _vanishing(curves: TrainingCurves, facts: RunFacts, most: float) -> Problem | None:
    ratios = [_first_to_largest(relative_gradients(each)) for each in curves.observations]
    found = [ratio for ratio in ratios if ratio is not None]
    if not found or median(found) > most:
        return None
    gradients = relative_gradients(curves.observations[-1])
    first = next(iter(gradients), "")
    node = facts.node_of(first)
    if node is None or len(gradients) < 3:
        return None
    ratio = median(found)
    squashing = [name for name, kind in facts.types.items() if kind.key in _SQUASHING]
    message = (
        f"The gradient vanishes: at {node}, relative to the weights, it is {_times(ratio)} that of the layer with the "
        f"largest one, and the loss stays at {curves.recent():.3g}. {_remedy(squashing)}"
    )
    evidence = {
        "gradient_ratio": ratio,
        "gradient": curves.observations[-1].parameters[first]["gradient"],
        "loss": curves.recent(),
        "step": curves.steps,
    }
    return Problem(
        "warning", "vanishing-gradients", message, node=node, fix=_replace(squashing, facts), evidence=evidence
    )


def is_exploding(curves: TrainingCurves, facts: RunFacts) -> bool:
    """Whether the gradients of a deep network were huge before the weights changed, so that no rate explains them."""
    if not curves.observations or curves.observations[0].step != 1:
        return False
    first = curves.observations[0]
    is_deep = len(relative_gradients(first)) >= _DEEP or facts.is_recurrent
    return is_deep and gradient_norm(first) >= EXPLODED * weight_norm(first)


def exploding_gradients(curves: TrainingCurves, facts: RunFacts, what: str) -> Problem | None:
    """The problem of gradients that explode; None if they are clipped.

    Args:
        what: what the loss did
    """
    training = facts.document.training
    if training.clip_norm is not None or training.clip_value is not None:
        return None
    observed = curves.observations[0]
    node = _source_of_explosion(observed, facts)
    title = TRAINING_SETTINGS["clip_norm"].title
    norm = gradient_norm(observed)
    where = "" if node is None else f", mostly at {node}"
    message = (
        f"The gradients explode: their norm was {norm:.3g} in step {observed.step}{where}, and {what}. "
        f'Set "{title}" (clip_norm) to {CLIP_NORM:g} in the training settings.'
    )
    evidence = {"gradient_norm": norm, "first_loss": curves.first, "step": observed.step}
    return Problem("warning", "exploding-gradients", message, node=node, fix=_clip(), evidence=evidence)


def _source_of_explosion(observed: fit.Observed, facts: RunFacts) -> str | None:
    """A recurrent layer, which multiplies gradients at each time step; or else the weight with the largest gradient."""
    gradients = relative_gradients(observed)
    nodes = {path: node for path in gradients if (node := facts.node_of(path)) is not None}
    recurrent = {path: node for path, node in nodes.items() if facts.types[node].key in RECURRENT}
    chosen = recurrent or nodes
    path = max(chosen, key=lambda each: gradients[each], default=None)
    return None if path is None else chosen[path]


def _clip() -> Fix:
    return Fix(
        f"Set clip_norm to {CLIP_NORM:g}",
        lambda document: edits.set_training(document, clip_norm=CLIP_NORM),
        (f"training.clip_norm={CLIP_NORM:g}",),
    )


def _first_to_largest(gradients: Mapping[str, float]) -> float | None:
    values = list(gradients.values())
    largest = max(values, default=0.0)
    return values[0] / largest if largest > 0 else None


def _remedy(squashing: list[str]) -> str:
    if squashing:
        names = squashing[0] if len(squashing) == 1 else f"{squashing[0]} and {len(squashing) - 1} more"
        return f"Replace {names} by ReLU, and add normalization before it."
    return "Add normalization or skip connections between the layers."


def _replace(squashing: list[str], facts: RunFacts) -> Fix | None:
    """Use ReLU for the activations that squash, with normalization before each that follows a layer directly."""
    steps = [quick_fixes.retype(name, "nn.ReLU") for name in squashing]
    if not squashing:
        squashing = [name for name, kind in facts.types.items() if kind.category == "activation"]
    norms = {name: _NORMS[key] for name in squashing if (key := _source_type(name, facts)) in _NORMS}
    if any("." in name for name in squashing) or not norms:
        return quick_fixes.all_of(steps, "Use ReLU") if steps else None
    inserted = [quick_fixes.insert(Endpoint(name, "input"), Node(norm), title="") for name, norm in norms.items()]
    title = "Use ReLU and normalization" if steps else "Insert normalization before the activations"
    return quick_fixes.all_of([*steps, *inserted], title)


def _source_type(name: str, facts: RunFacts) -> str:
    """The type of the node whose output an activation reads."""
    source = next((each.source.node for each in facts.document.wires if each.target.node == name), "")
    return facts.types[source].key if source in facts.types else ""


def _times(ratio: float) -> str:
    return f"{ratio:.1e} times"


__all__ = [
    "CLIP_NORM",
    "exploding_gradients",
    "find_blocked_gradients",
    "find_forgetting",
    "find_vanishing_gradients",
    "is_exploding",
]
