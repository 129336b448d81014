"""Mistakes with metrics."""

from __future__ import annotations

from pathlib import Path

from studio.document.edits import add_all, connect
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Mistake
from studio.reference.mistakes.networks import Nodes, linear, network
from studio.reference.mistakes.projects import wire
from studio.reference.mistakes.score_networks import (
    SCALED,
    VECTOR,
    answers,
    regression,
)


def _other_head(_: Path) -> Document:
    """Two heads of a network: a loss trains one, and a metric judges the other."""
    layers = {"flatten": "nn.Flatten", "hidden": linear(32), "relu": "nn.ReLU", "logits": linear(10)}
    found = network("data.Digits", layers, "nn.CrossEntropyLoss", transforms=SCALED)
    found = add_all(found, {"other": linear(10), "accuracy": Node("metrics.Accuracy")})
    for text in ("relu.output -> other.input", "other.output -> accuracy.input", "batches.target -> accuracy.target"):
        found = connect(found, wire(text))
    return found


def _error_of_scores(_: Path) -> Document:
    metrics: Nodes = {"error": "metrics.MeanAbsoluteError"}
    layers = {"flatten": "nn.Flatten", "logits": linear(10)}
    return network("data.Digits", layers, "nn.CrossEntropyLoss", transforms=SCALED, metrics=metrics)


_PENGUINS = network(
    "data.Penguins", {"logits": linear(3)}, "nn.CrossEntropyLoss", metrics={"top": "metrics.TopKAccuracy"}
)
METRICS = (
    Mistake(
        "logits_against_one_half",
        "metric-threshold",
        "accuracy",
        lambda _: answers(
            VECTOR, loss="nn.BCEWithLogitsLoss", accuracy=Node("metrics.BinaryAccuracy", {"threshold": 0.5})
        ),
    ),
    Mistake(
        "probabilities_against_zero",
        "metric-threshold",
        "f1",
        lambda _: answers("nn.Sigmoid", VECTOR, loss="nn.BCELoss", f1=Node("metrics.F1", {"num_classes": 1})),
    ),
    Mistake(
        "accuracy_of_a_single_score",
        "wrong-metric",
        "accuracy",
        lambda _: answers(VECTOR, loss="nn.BCEWithLogitsLoss", accuracy="metrics.Accuracy"),
    ),
    Mistake("error_of_scores", "wrong-metric", "error", _error_of_scores),
    Mistake("accuracy_of_numbers", "wrong-metric", "accuracy", lambda _: regression(accuracy="metrics.Accuracy")),
    Mistake("answers_of_numbers", "wrong-metric", "accuracy", lambda _: regression(accuracy="metrics.BinaryAccuracy")),
    Mistake("top_five_of_three_classes", "wrong-metric", "top", lambda _: _PENGUINS),
    Mistake("another_head_is_judged", "judged-head", "accuracy", _other_head),
)

__all__ = ["METRICS"]
