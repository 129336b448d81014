"""Losses and activations that look like a mistake but are sound, and what messages say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.document.model import Document, Node
from studio.reference.mistakes.networks import linear, network
from studio.reference.mistakes.score_networks import answers, characters, classifier, distribution
from tests.studio.lowering.graphs import codes, only

LOG_SOFTMAX = Node("nn.LogSoftmax", {"dim": 1})
VECTOR = Node("nn.Flatten", {"start_dim": 0})


def squeeze_and_excite() -> Document:
    layers = {"hidden": linear(16), "relu": "nn.ReLU", "gate": linear(16), "sigmoid": "nn.Sigmoid", "scores": linear(2)}
    return network("data.Moons", layers, "nn.CrossEntropyLoss")


SOUND: dict[str, Callable[[], Document]] = {
    "log-softmax, then likelihood": lambda: classifier(LOG_SOFTMAX, loss="nn.NLLLoss"),
    "logarithm of softmax": lambda: classifier("nn.Softmax", "ops.log", loss="nn.NLLLoss"),
    "logarithm of clamped softmax": lambda: classifier(
        "nn.Softmax", Node("ops.clamp", {"min": 1e-7}), "ops.log", loss="nn.NLLLoss"
    ),
    "leaky ReLU on scores": lambda: classifier("nn.LeakyReLU"),
    "layer norm on scores": lambda: classifier("nn.LayerNorm"),
    "temperature": lambda: classifier(Node("ops.mul", {"y": 0.5})),
    "tanh with a margin": lambda: classifier("nn.Tanh", loss="nn.MultiMarginLoss"),
    "scaled tanh": lambda: classifier("nn.Tanh", Node("ops.mul", {"y": 10.0})),
    "sigmoid, then BCE": lambda: answers("nn.Sigmoid", VECTOR, loss="nn.BCELoss"),
    "clamped sigmoid": lambda: answers(
        "nn.Sigmoid", Node("ops.clamp", {"min": 1e-6, "max": 1 - 1e-6}), VECTOR, loss="nn.BCELoss"
    ),
    "logits of BCE": lambda: answers(VECTOR, loss="nn.BCEWithLogitsLoss"),
    "divergence of log-softmax": lambda: distribution(LOG_SOFTMAX),
    "log-softmax over the characters": lambda: characters(
        Node("ops.transpose", {"dim0": 1, "dim1": 2}), LOG_SOFTMAX, loss="nn.NLLLoss"
    ),
    "sigmoid inside a network": squeeze_and_excite,
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_scores_are_not_reported(name: str) -> None:
    assert codes(SOUND[name]()) == []


def test_a_loss_that_repeats_log_softmax_is_harmless() -> None:
    problem = only(classifier("nn.LogSoftmax"))
    assert (problem.severity, problem.message) == (
        "hint",
        "a has no effect, because loss applies log-softmax itself. Remove a.",
    )


def test_the_message_says_what_an_activation_limits() -> None:
    assert only(classifier("nn.Tanh")).message == (
        "a limits the scores to values from -1 to 1, so loss cannot become small. Remove a: loss expects unbounded "
        "scores."
    )


def test_alternatives_are_offered() -> None:
    problem = only(answers(VECTOR, loss="nn.BCELoss"))
    assert problem.fix is not None
    assert [problem.fix.title, *(fix.title for fix in problem.others)] == [
        "Use BCEWithLogitsLoss",
        "Insert Sigmoid after score",
    ]
