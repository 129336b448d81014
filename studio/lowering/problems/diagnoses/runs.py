"""What only a run shows."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

RUNS = (
    Diagnosis(
        "diverged",
        "Training diverges",
        "The loss grows without bound, usually because the learning rate is too high.",
    ),
    Diagnosis(
        "validation-not-finite",
        "Validation loss is NaN",
        "A validation loss that is NaN cannot choose the best weights or stop training early.",
    ),
    Diagnosis(
        "slow-data",
        "Waiting for data",
        "Training spends a large part of each step waiting for data.",
    ),
    Diagnosis(
        "not-learning",
        "Cannot overfit one batch",
        "A correctly wired network can overfit a single batch.",
    ),
)

__all__ = ["RUNS"]
