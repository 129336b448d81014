"""Gradients that vanish or explode on their way from the output to the input."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from studio.document import edits
from studio.document.model import Document
from studio.document.training_settings import TRAINING_SETTINGS
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.diagnosis.run_facts import RunFacts
from studio.training.diagnosis.training_curves import TrainingCurves, gradient_norm, relative_gradients, weight_norm

VANISHED = 1e-2
"""Relative gradient of the first weight to the largest one below which a flat curve is explained by it. Networks that
learn stay above 0.01: those with ReLU, normalization or skip connections near 0.1."""
EXPLODED = 10.0
"""Norm of the first gradient, relative to that of the weights, from which a loss that jumps is explained by it. Usual
are 0.05 to 1."""
_DEEP = 4
"""Weights that a gradient passes before one calls a network deep; recurrent layers count as deep."""
_RECURRENT = ("nn.RNN", "nn.LSTM", "nn.GRU", "nn.RNNCell", "nn.LSTMCell", "nn.GRUCell")
CLIP_NORM = 1.0
_SQUASHING = ("nn.Sigmoid", "nn.Tanh", "nn.Softsign", "nn.LogSigmoid", "nn.Hardsigmoid", "nn.Hardtanh")


def find_vanishing_gradients(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """In a flat curve: the first layer, whose gradient is a small fraction of that near the output."""
    ratios = [_first_to_largest(relative_gradients(each)) for each in curves.observations]
    found = [ratio for ratio in ratios if ratio is not None]
    if not found or median(found) > VANISHED:
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
    return Problem("warning", "vanishing-gradients", message, node=node, fix=_replace(squashing), evidence=evidence)


def is_exploding(curves: TrainingCurves, facts: RunFacts) -> bool:
    """Whether the gradients of a deep network were huge before the weights changed, so that no rate explains them."""
    if not curves.observations or curves.observations[0].step != 1:
        return False
    first = curves.observations[0]
    is_deep = len(relative_gradients(first)) >= _DEEP or any(each.key in _RECURRENT for each in facts.types.values())
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
    gradients = relative_gradients(observed)
    path = max(gradients, key=lambda each: gradients[each], default=None)
    node = None if path is None else facts.node_of(path)
    title = TRAINING_SETTINGS["clip_norm"].title
    norm = gradient_norm(observed)
    where = "" if node is None else f", the largest at {node}"
    message = (
        f"The gradients explode: their norm was {norm:.3g} in step {observed.step}{where}, and {what}. "
        f'Set "{title}" (clip_norm) to {CLIP_NORM:g} in the training settings.'
    )
    evidence = {"gradient_norm": norm, "first_loss": curves.first, "step": observed.step}
    return Problem("warning", "exploding-gradients", message, node=node, fix=_clip(), evidence=evidence)


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
        return f"Replace {names} by ReLU, or add normalization between the layers."
    return "Add normalization or skip connections between the layers."


def _replace(squashing: list[str]) -> Fix | None:
    """Use ReLU for the activations that squash."""
    if not squashing:
        return None
    steps = [quick_fixes.retype(name, "nn.ReLU") for name in squashing]

    def edit(document: Document) -> Document:
        for step in steps:
            document = step.edit(document)
        return document

    return Fix("Use ReLU", edit)


def _times(ratio: float) -> str:
    return f"{ratio:.1e} times"


__all__ = ["CLIP_NORM", "exploding_gradients", "find_vanishing_gradients", "is_exploding"]
