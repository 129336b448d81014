"""What losses and metrics expect of their inputs and targets, by their declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Convention: TypeAlias = Literal["scores", "probabilities", "logarithms"]


@dataclass(frozen=True, slots=True)
class ScoreInput:
    """The input of a loss with the scores of classes or answers."""

    convention: Convention
    port: str = "input"
    contains: str = ""
    """The activation that the loss applies itself, in words."""


SCORE_INPUTS: Mapping[str, ScoreInput] = {
    "nn.CrossEntropyLoss": ScoreInput("scores", contains="softmax"),
    "nn.BCEWithLogitsLoss": ScoreInput("scores", contains="a sigmoid"),
    "nn.SoftMarginLoss": ScoreInput("scores", contains="a sigmoid"),
    "nn.MultiLabelSoftMarginLoss": ScoreInput("scores", contains="a sigmoid"),
    "nn.MultiMarginLoss": ScoreInput("scores"),
    "nn.MultiLabelMarginLoss": ScoreInput("scores"),
    "nn.BCELoss": ScoreInput("probabilities"),
    "nn.NLLLoss": ScoreInput("logarithms"),
    "nn.KLDivLoss": ScoreInput("logarithms"),
    "nn.CTCLoss": ScoreInput("logarithms", port="log_probs"),
}
"""Losses of classes and answers."""

CLASS_LOSSES = frozenset({"nn.CrossEntropyLoss", "nn.NLLLoss", "nn.MultiMarginLoss"})
"""Losses of scores N×C×… and class numbers N×…"""

ANSWER_LOSSES = frozenset({"nn.BCELoss", "nn.BCEWithLogitsLoss", "nn.MultiLabelSoftMarginLoss"})
"""Losses whose targets are 0 or 1, or between them."""

SIGN_LOSSES = frozenset(
    {"nn.SoftMarginLoss", "nn.HingeEmbeddingLoss", "nn.CosineEmbeddingLoss", "nn.MarginRankingLoss"}
)
"""Losses whose targets are -1 or 1."""

DISTANCE_LOSSES = frozenset({"nn.MSELoss", "nn.L1Loss", "nn.SmoothL1Loss", "nn.HuberLoss"})
"""Losses of the distance between numbers."""

CLASS_METRICS = frozenset(
    {
        "metrics.Accuracy",
        "metrics.TopKAccuracy",
        "metrics.ConfusionMatrix",
        "metrics.Precision",
        "metrics.Recall",
        "metrics.F1",
        "metrics.Perplexity",
    }
)
"""Metrics of scores N×C×… and class numbers N×…; those with `threshold` also of single answers."""

THRESHOLD_METRICS = frozenset({"metrics.BinaryAccuracy", "metrics.Precision", "metrics.Recall", "metrics.F1"})
"""Metrics that compare single scores with a threshold."""

NUMBER_METRICS = frozenset({"metrics.MeanAbsoluteError", "metrics.RootMeanSquaredError", "metrics.R2"})

ORDER_METRICS = frozenset({"metrics.Accuracy", "metrics.TopKAccuracy", "metrics.ConfusionMatrix", "metrics.AUC"})
"""Metrics that depend only on the order of scores, so that activations before them make no difference."""

__all__ = [
    "ANSWER_LOSSES",
    "CLASS_LOSSES",
    "CLASS_METRICS",
    "DISTANCE_LOSSES",
    "NUMBER_METRICS",
    "ORDER_METRICS",
    "SCORE_INPUTS",
    "SIGN_LOSSES",
    "THRESHOLD_METRICS",
    "Convention",
    "ScoreInput",
]
