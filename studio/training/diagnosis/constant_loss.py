"""The loss of the best constant output, which a network that has learned nothing of its inputs reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.losses.targets import target_values, targets_of
from studio.nodes.types import Role

MIN_SAMPLES = 100
_NUMBERS, _CLASSES, _ANSWERS = "nn.MSELoss", "nn.CrossEntropyLoss", "nn.BCEWithLogitsLoss"


def constant_loss(flow: Dataflow) -> float | None:
    """The loss of a constant for the only loss of a graph, from samples of its targets; None if it is not known.

    Of squared errors it is the variance of the targets, of cross entropy the entropy of the classes.
    """
    losses = [name for name in flow.graph.with_role(Role.LOSS) if name in flow.graph.needed and name in flow.facts]
    if len(losses) != 1 or flow.facts[losses[0]].arguments.explicit:
        return None
    key, targets = flow.graph.types[losses[0]].key, targets_of(flow, losses[0])
    if targets is None or targets.encoder is not None or key not in (_NUMBERS, _CLASSES, _ANSWERS):
        return None
    found = target_values(flow, targets)
    if found is None or len(found.values) < MIN_SAMPLES:
        return None
    if key == _NUMBERS:
        return float(np.var(found.values)) if targets.classes is None else None
    return _entropy(found.values)


def _entropy(values: NDArray[np.float64]) -> float | None:
    """Entropy of numbers of classes; None if they are other numbers."""
    if not np.array_equal(values, np.round(values)):
        return None
    _, counts = np.unique(values, return_counts=True)
    shares = counts / len(values)
    return float(-(shares * np.log(shares)).sum())


__all__ = ["constant_loss"]
