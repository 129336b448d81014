"""Networks with scores, which mistakes of losses and metrics are planted in."""

from __future__ import annotations

from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal
from studio.reference.mistakes.networks import Nodes, linear, network

LEARNED = Goal("val_loss", 0.6, epochs=12, is_highest=True)
SCALED: Nodes = {"scale": Node("transforms.Normalize", {"std": 16.0})}
FLOAT: Nodes = {"float": Node("transforms.ToFloat", {"on": "targets"})}
LOG_SOFTMAX = Node("nn.LogSoftmax", {"dim": 1})
VECTOR = Node("nn.Flatten", {"start_dim": 0})
"""Single scores N×1 as N."""


def classifier(*last: str | Node, loss: str | Node = "nn.CrossEntropyLoss") -> Document:
    """A linear classifier of the digits, with more layers a, b, … behind its scores."""
    layers = {"flatten": "nn.Flatten", "logits": linear(10), **dict(zip("abc", last, strict=False))}
    return network("data.Digits", layers, loss, transforms=SCALED)


def answers(*last: str | Node, loss: str | Node, **metrics: str | Node) -> Document:
    """A network with one score for each of two half circles, and more layers a, b, … behind it."""
    layers = {"hidden": linear(16), "relu": "nn.ReLU", "score": linear(1), **dict(zip("abc", last, strict=False))}
    return network("data.Moons", layers, loss, transforms=FLOAT, metrics=metrics)


def distribution(*last: str | Node, targets: Nodes | None = None, **params: bool) -> Document:
    """A classifier that learns a distribution with KL divergence."""
    encoded: Nodes = {"one_hot": Node("functional.one_hot", {"num_classes": 10}), **(targets or {})}
    layers = {"flatten": "nn.Flatten", "logits": linear(10), **dict(zip("abc", last, strict=False))}
    loss = Node("nn.KLDivLoss", {"reduction": "batchmean", **params})
    return network("data.Digits", layers, loss, transforms=SCALED, targets=encoded)


def characters(*last: str | Node, loss: str) -> Document:
    """A network that predicts the next characters of a text."""
    layers = {"embedding": Node("nn.Embedding", {"num_embeddings": 62, "embedding_dim": 8}), "logits": linear(62)}
    return network("data.Shakespeare", {**layers, **dict(zip("abc", last, strict=False))}, loss)


def regression(
    *last: str | Node, loss: str | Node = "nn.MSELoss", rate: float = 0.01, **metrics: str | Node
) -> Document:
    """A linear network that learns a number, with more layers a, b, … behind it."""
    layers = {"output": linear(1), **dict(zip("abc", last, strict=False))}
    optimizer = Node("optim.SGD", {"lr": rate})
    return network("data.Regression", layers, loss, metrics=metrics, optimizer=optimizer)


__all__ = [
    "FLOAT",
    "LEARNED",
    "LOG_SOFTMAX",
    "SCALED",
    "VECTOR",
    "answers",
    "characters",
    "classifier",
    "distribution",
    "regression",
]
