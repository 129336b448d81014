"""Mistakes with scores and the number of classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studio.document.blocks.block_grouping import group
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.networks import linear, network
from studio.reference.mistakes.projects import digits
from studio.reference.mistakes.score_networks import (
    LEARNED,
    LOG_SOFTMAX,
    SCALED,
    VECTOR,
    answers,
    characters,
    classifier,
    distribution,
)


def _softmax_before_cross_entropy(_: Path) -> Document:
    return digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10}), "softmax": "nn.Softmax"},
        adam=Node("optim.Adam", {"lr": 0.01}),
    )


def _softmax_in_a_block(_: Path) -> Document:
    grouped, _name = group(classifier("nn.Softmax", "nn.Identity"), ["logits", "a"], "Head")
    return grouped


def _muted_layers_behind_relu(_: Path) -> Document:
    return classifier("nn.ReLU", Node("nn.Dropout", muted=True), "nn.Identity")


def _labels_from_one(folder: Path) -> Document:
    random = np.random.default_rng(0)
    labels = random.integers(1, 4, 240)
    inputs = random.normal(size=(240, 4)) + np.eye(4)[labels] * 4
    np.savez(folder / "points.npz", x=inputs.astype(np.float32), y=labels)
    source = Node("data.NPY", {"path": "points.npz"})
    return network(source, {"scores": linear(3)}, "nn.CrossEntropyLoss")


def _digits_with(scores: int) -> Document:
    layers = {"flatten": "nn.Flatten", "logits": linear(scores)}
    return network("data.Digits", layers, "nn.CrossEntropyLoss", transforms=SCALED)


def _moons_with(scores: int) -> Document:
    return network("data.Moons", {"scores": linear(scores)}, "nn.CrossEntropyLoss")


def _formula(expression: str) -> Node:
    return Node("studio.Formula", {"expression": expression})


_ACTIVATIONS = (
    Mistake("softmax_before_cross_entropy", "squashed-scores", "softmax", _softmax_before_cross_entropy, goal=LEARNED),
    Mistake("softmax_of_a_block_before_cross_entropy", "squashed-scores", "head.a", _softmax_in_a_block),
    Mistake("log_softmax_before_cross_entropy", "squashed-scores", "a", lambda _: classifier("nn.LogSoftmax")),
    Mistake(
        "softmax_before_log_softmax",
        "squashed-scores",
        "a",
        lambda _: classifier("nn.Softmax", LOG_SOFTMAX, loss="nn.NLLLoss"),
        goal=LEARNED,
    ),
    Mistake(
        "softmax_before_multi_margin_loss",
        "squashed-scores",
        "a",
        lambda _: classifier("nn.Softmax", loss="nn.MultiMarginLoss"),
    ),
    Mistake(
        "sigmoid_before_bce_with_logits",
        "squashed-scores",
        "a",
        lambda _: answers("nn.Sigmoid", VECTOR, loss="nn.BCEWithLogitsLoss"),
    ),
    Mistake(
        "sigmoid_that_a_metric_reads_before_bce_with_logits",
        "squashed-scores",
        "b",
        lambda _: answers(
            VECTOR,
            "nn.Sigmoid",
            loss="nn.BCEWithLogitsLoss",
            accuracy=Node("metrics.BinaryAccuracy", {"threshold": 0.5}),
        ),
    ),
    Mistake(
        "sigmoid_twice",
        "squashed-scores",
        "a",
        lambda _: answers("nn.Sigmoid", VECTOR, "nn.Sigmoid", loss="nn.BCELoss"),
    ),
    Mistake("relu_before_cross_entropy", "relu-on-scores", "a", _muted_layers_behind_relu, goal=LEARNED),
    Mistake(
        "relu_before_sigmoid",
        "relu-on-scores",
        "a",
        lambda _: answers("nn.ReLU", VECTOR, "nn.Sigmoid", loss="nn.BCELoss"),
    ),
    Mistake("tanh_before_cross_entropy", "bounded-scores", "a", lambda _: classifier("nn.Tanh"), goal=LEARNED),
    Mistake(
        "tanh_before_log_softmax",
        "bounded-scores",
        "a",
        lambda _: classifier("nn.Tanh", LOG_SOFTMAX, loss="nn.NLLLoss"),
    ),
    Mistake("softmax_in_a_formula", "squashed-scores", "a", lambda _: classifier(_formula("softmax(x / 2, dim=1)"))),
    Mistake(
        "sigmoid_in_a_formula",
        "squashed-scores",
        "b",
        lambda _: answers(
            VECTOR,
            _formula("1 / (1 + exp(-x))"),
            loss="nn.BCEWithLogitsLoss",
            accuracy=Node("metrics.BinaryAccuracy", {"threshold": 0.5}),
        ),
    ),
    Mistake(
        "sigmoid_that_a_metric_reads_behind_a_reshape",
        "squashed-scores",
        "a",
        lambda _: answers(
            "nn.Sigmoid",
            VECTOR,
            loss="nn.BCEWithLogitsLoss",
            accuracy=Node("metrics.BinaryAccuracy", {"threshold": 0.5}),
        ),
    ),
    Mistake(
        "log_softmax_in_a_formula", "squashed-scores", "a", lambda _: classifier(_formula("log(softmax(x, dim=1))"))
    ),
    Mistake(
        "limited_softmax_before_cross_entropy",
        "squashed-scores",
        "a",
        lambda _: classifier("nn.Softmax", Node("ops.clamp", {"min": 1e-7, "max": 0.9999999})),
    ),
    Mistake("relu_in_a_formula", "relu-on-scores", "a", lambda _: classifier(_formula("maximum(x, 0)"))),
    Mistake("dropout_before_cross_entropy", "dropout-on-scores", "a", lambda _: classifier("nn.Dropout")),
)

_PROBABILITIES = (
    Mistake(
        "scores_as_probabilities",
        "no-probabilities",
        "loss",
        lambda _: answers(VECTOR, loss="nn.BCELoss"),
        goal=Goal("val_loss", 0.35, epochs=6, is_highest=True),
    ),
    Mistake(
        "scores_as_probabilities_that_a_metric_reads",
        "no-probabilities",
        "loss",
        lambda _: answers(VECTOR, loss="nn.BCELoss", accuracy=Node("metrics.BinaryAccuracy", {"threshold": 0.5})),
    ),
    Mistake(
        "scores_as_probabilities_that_a_metric_compares_with_zero",
        "no-probabilities",
        "loss",
        lambda _: answers(VECTOR, loss="nn.BCELoss", accuracy="metrics.BinaryAccuracy"),
    ),
    Mistake("tanh_as_probabilities", "no-probabilities", "a", lambda _: answers("nn.Tanh", VECTOR, loss="nn.BCELoss")),
    Mistake(
        "scores_as_log_probabilities",
        "no-log-probabilities",
        "loss",
        lambda _: classifier("nn.Identity", loss="nn.NLLLoss"),
        goal=LEARNED,
    ),
    Mistake(
        "probabilities_as_log_probabilities",
        "no-log-probabilities",
        "a",
        lambda _: classifier("nn.Softmax", loss="nn.NLLLoss"),
        goal=LEARNED,
    ),
    Mistake("kl_divergence_of_probabilities", "no-log-probabilities", "a", lambda _: distribution("nn.Softmax")),
    Mistake("kl_divergence_of_scores", "no-log-probabilities", "loss", lambda _: distribution()),
    Mistake(
        "kl_divergence_from_probabilities_as_logarithms",
        "no-log-probabilities",
        "loss",
        lambda _: distribution(
            LOG_SOFTMAX,
            targets={"float": Node("Tensor.to", {"dtype": "float32"}), "smooth": Node("nn.Softmax", {"dim": 1})},
            log_target=True,
        ),
    ),
    Mistake(
        "softmax_over_a_single_score",
        "softmax-over-one",
        "a",
        lambda _: answers("nn.Softmax", VECTOR, loss="nn.BCELoss"),
        goal=Goal("val_loss", 0.35, epochs=6, is_highest=True),
    ),
    Mistake(
        "softmax_over_the_batch",
        "softmax-over-batch",
        "a",
        lambda _: classifier(Node("nn.LogSoftmax", {"dim": 0}), loss="nn.NLLLoss"),
        goal=LEARNED,
    ),
    Mistake(
        "softmax_over_the_batch_in_a_formula",
        "softmax-over-batch",
        "a",
        lambda _: classifier(_formula("log_softmax(x, dim=0)"), loss="nn.NLLLoss"),
    ),
    Mistake(
        "softmax_over_time",
        "softmax-over-positions",
        "a",
        lambda _: characters(LOG_SOFTMAX, Node("ops.transpose", {"dim0": 1, "dim1": 2}), loss="nn.NLLLoss"),
    ),
)

_CLASSES = (
    Mistake("more_scores_than_classes", "too-many-classes", "logits", lambda _: _digits_with(12)),
    Mistake("fewer_scores_than_classes", "too-few-classes", "logits", lambda _: _digits_with(9)),
    Mistake("one_score_for_two_classes", "too-few-classes", "scores", lambda _: _moons_with(1)),
    Mistake("labels_that_begin_at_one", "labels-from-one", "data", _labels_from_one),
)


SCORES = (*_ACTIVATIONS, *_PROBABILITIES, *_CLASSES)

__all__ = ["SCORES"]
