"""Mistakes with the targets and the size of losses."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from studio.document.edits import add_all, connect
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.networks import Nodes, linear, network
from studio.reference.mistakes.projects import wire
from studio.reference.mistakes.score_networks import (
    LOG_SOFTMAX,
    SCALED,
    VECTOR,
    classifier,
    regression,
)
from studio.reference.mistakes.sequences import LAST, series

_LSTM = Node("nn.LSTM", {"hidden_size": 1})


def _autoencoder(_: Path) -> Document:
    """An autoencoder of standardized images that ends with a sigmoid."""
    scaled: Nodes = {"scale": Node("transforms.Normalize", {"mean": 5.0, "std": 6.0})}
    layers = {"flatten": "nn.Flatten", "code": linear(16), "relu": "nn.ReLU", "pixels": linear(64), "a": "nn.Sigmoid"}
    image = {"image": Node("nn.Unflatten", {"dim": 1, "unflattened_size": [1, 8, 8]})}
    found = network("data.Digits", {**layers, **image}, "nn.MSELoss", transforms=scaled)
    return connect(found, wire("batches.input -> loss.target"))


def _zero_weight(_: Path) -> Document:
    """A network that learns classes and to rebuild its inputs, with a weight of 0 for the second."""
    layers = {"flatten": "nn.Flatten", "hidden": linear(32), "relu": "nn.ReLU", "logits": linear(10)}
    found = network("data.Digits", layers, "nn.CrossEntropyLoss", transforms=SCALED)
    total = Node("studio.LossSum", {"weight_b": 0})
    found = add_all(found, {"pixels": linear(64), "rebuilding": Node("nn.MSELoss"), "total": total})
    wires = (
        "relu.output -> pixels.input",
        "pixels.output -> rebuilding.input",
        "flatten.output -> rebuilding.target",
        "loss.loss -> total.a",
        "rebuilding.loss -> total.b",
        "total.loss -> adam.loss",
    )
    for text in wires:
        found = connect(found, wire(text))
    return found


def _numbers_of_classes(loss: str) -> Document:
    """A network with one output that learns the numbers of the digits' classes."""
    layers = {"flatten": "nn.Flatten", "output": linear(1), "a": VECTOR}
    return network("data.Digits", layers, loss, transforms=SCALED)


def _encoded(loss: str | Node, *last: str | Node, **metrics: str | Node) -> Document:
    """A classifier of the digits with one-hot targets."""
    transforms: Nodes = {**SCALED, "one_hot": Node("transforms.OneHot", {"size": 10, "on": "targets"})}
    layers = {"flatten": "nn.Flatten", "logits": linear(10), **dict(zip("abc", last, strict=False))}
    return network("data.Digits", layers, loss, transforms=transforms, metrics=metrics)


def normal_distribution(*last: str) -> Document:
    """A network that learns the mean and the variance of a number, with more layers a, b, … before the variance."""
    layers = {"hidden": linear(8), "relu": "nn.ReLU", "mean": linear(1)}
    found = network("data.Regression", layers, "nn.GaussianNLLLoss")
    more = {"variance": linear(1), **{name: Node(key) for name, key in zip("abc", last, strict=False)}}
    found = add_all(found, more)
    names = ["relu", *more]
    for before, after in pairwise(names):
        port = "x" if more[after].type.startswith("ops.") else "input"
        found = connect(found, wire(f"{before}.output -> {after}.{port}"))
    return connect(found, wire(f"{names[-1]}.output -> loss.var"))


def counts(*last: str, **params: bool) -> Document:
    """A network that learns counts, with more layers a, b, … behind it."""
    layers: Nodes = {"flatten": "nn.Flatten", "output": linear(1), **dict(zip("abc", last, strict=False))}
    loss = Node("nn.PoissonNLLLoss", {**params})
    return network("data.Digits", {**layers, "vector": VECTOR}, loss, transforms=SCALED)


TARGETS = (
    Mistake(
        "squared_error_of_class_numbers",
        "wrong-target",
        "loss",
        lambda _: _numbers_of_classes("nn.MSELoss"),
        goal=Goal("val_loss", 0.6, epochs=12, is_highest=True),
    ),
    Mistake("absolute_error_of_class_numbers", "wrong-target", "loss", lambda _: _numbers_of_classes("nn.L1Loss")),
    Mistake("squared_error_of_scores", "wrong-target", "loss", lambda _: classifier("nn.Softmax", loss="nn.MSELoss")),
    Mistake("bce_of_ten_classes", "wrong-target", "loss", lambda _: classifier(loss="nn.BCEWithLogitsLoss")),
    Mistake(
        "kl_divergence_of_class_numbers",
        "wrong-target",
        "loss",
        lambda _: classifier(LOG_SOFTMAX, loss=Node("nn.KLDivLoss", {"reduction": "batchmean"})),
    ),
    Mistake("cross_entropy_of_numbers", "wrong-target", "loss", lambda _: regression(loss="nn.CrossEntropyLoss")),
    Mistake("one_hot_as_class_numbers", "wrong-encoding", "one_hot", lambda _: _encoded("nn.NLLLoss", LOG_SOFTMAX)),
    Mistake(
        "one_hot_at_an_accuracy",
        "wrong-encoding",
        "accuracy",
        lambda _: _encoded("nn.BCEWithLogitsLoss", accuracy="metrics.Accuracy"),
    ),
    Mistake(
        "zero_and_one_as_signs",
        "target-convention",
        "loss",
        lambda _: network("data.Moons", {"score": linear(1), "a": VECTOR}, "nn.SoftMarginLoss"),
        goal=Goal("val_loss", 0.5, epochs=12, is_highest=True),
    ),
    Mistake(
        "relu_on_negative_targets",
        "output-range",
        "a",
        lambda _: regression("nn.ReLU"),
        goal=Goal("val_loss", 0.5, epochs=10, is_highest=True),
    ),
    Mistake("tanh_on_large_targets", "output-range", "a", lambda _: regression("nn.Tanh", loss="nn.HuberLoss")),
    Mistake("sigmoid_on_standardized_images", "output-range", "a", _autoencoder),
    Mistake(
        "lstm_as_regression_output",
        "output-range",
        "lstm",
        lambda _: series({"lstm": _LSTM, "last": LAST}),
        goal=Goal("val_loss", 2.0, epochs=8, is_highest=True),
    ),
    Mistake(
        "tanh_behind_an_lstm",
        "output-range",
        "tanh",
        lambda _: series({"lstm": _LSTM, "last": LAST, "tanh": "nn.Tanh"}),
    ),
    Mistake(
        "column_against_vector",
        "shape-mismatch",
        "loss",
        lambda _: network("data.Regression", {"output": linear(1)}, "nn.PoissonNLLLoss", targets={"vector": VECTOR}),
    ),
    Mistake("scores_as_variances", "negative-variance", "loss", lambda _: normal_distribution()),
    Mistake("scores_as_rates", "rates-of-counts", "loss", lambda _: counts(log_input=False)),
    Mistake("rates_as_logarithms", "rates-of-counts", "loss", lambda _: counts("nn.Softplus")),
    Mistake("softmax_of_a_single_number", "softmax-over-one", "a", lambda _: regression("nn.Softmax")),
    Mistake(
        "targets_smoothed_away",
        "loss-setting",
        "loss",
        lambda _: classifier(loss=Node("nn.CrossEntropyLoss", {"label_smoothing": 1.0})),
        goal=Goal("val_loss", 1.2, epochs=6, is_highest=True),
    ),
    Mistake(
        "class_that_the_loss_ignores",
        "loss-setting",
        "loss",
        lambda _: classifier(loss=Node("nn.CrossEntropyLoss", {"ignore_index": 3})),
    ),
    Mistake("loss_with_weight_zero", "zero-weight", "total", _zero_weight),
    Mistake(
        "weights_of_two_classes",
        "class-weights",
        "loss",
        lambda _: classifier(loss=Node("nn.CrossEntropyLoss", {"weight": [1.0, 2.0]})),
    ),
)

__all__ = ["TARGETS", "counts", "normal_distribution"]
