"""Targets, losses and metrics that look like a mistake but are sound, and what messages say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import check
from studio.nodes import catalogue
from studio.reference.mistakes.networks import Nodes, linear, network
from studio.reference.mistakes.score_networks import SCALED, VECTOR, answers, classifier, regression
from studio.reference.mistakes.targets import counts, normal_distribution
from tests.studio.lowering.graphs import changed, codes, digits, mlp, only, wire

ONE_HOT = {"one_hot": Node("transforms.OneHot", {"size": 10, "on": "targets"})}
FLOAT: Nodes = {"float": Node("transforms.ToFloat", {"on": "targets"})}
SIGNS = {"signs": Node("transforms.Normalize", {"mean": 0.5, "std": 0.5, "on": "targets"})}


def encoded(loss: str, *last: str | Node) -> Document:
    layers = {"flatten": "nn.Flatten", "logits": linear(10), **dict(zip("abc", last, strict=False))}
    return network("data.Digits", layers, loss, transforms={**SCALED, **ONE_HOT})


def least_squares() -> Document:
    """Two classes as the numbers 0 and 1, and a threshold between them."""
    metrics: Nodes = {"accuracy": Node("metrics.BinaryAccuracy", {"threshold": 0.5})}
    layers = {"score": linear(1), "vector": VECTOR}
    return network("data.Moons", layers, "nn.MSELoss", transforms=FLOAT, metrics=metrics)


def scaled_regression() -> Document:
    """Numbers from 0 to 1 and a sigmoid."""
    scaled = {"scaled": Node("transforms.MinMaxScale", {"low": -40.0, "high": 40.0, "on": "targets"})}
    layers = {"output": linear(1), "sigmoid": "nn.Sigmoid"}
    return network("data.Regression", layers, "nn.MSELoss", transforms=scaled)


def autoencoder() -> Document:
    """Images from 0 to 1 that a sigmoid rebuilds."""
    layers = {"flatten": "nn.Flatten", "code": linear(8), "relu": "nn.ReLU", "pixels": linear(64), "out": "nn.Sigmoid"}
    base = network("data.Digits", layers, "nn.MSELoss", transforms=SCALED)
    return edits.connect(base, wire("flatten.output -> loss.target"))


def summed(optimizer: Node) -> Document:
    loss = Node("nn.MSELoss", {"reduction": "sum"})
    return network("data.Regression", {"output": linear(1)}, loss, optimizer=optimizer)


def auxiliary_head() -> Document:
    """Two heads with a loss each, and a metric of each."""
    base = mlp()
    nodes = {"early": linear(10), "early_loss": "nn.CrossEntropyLoss", "total": "studio.LossSum"}
    nodes |= {"first": "metrics.Accuracy", "second": "metrics.Accuracy"}
    base = edits.add_all(base, {name: Node(node) if isinstance(node, str) else node for name, node in nodes.items()})
    wires = ["hidden.output -> early.input", "early.output -> early_loss.input", "batches.target -> early_loss.target"]
    wires += ["cross_entropy.loss -> total.a", "early_loss.loss -> total.b", "total.loss -> adam.loss"]
    wires += ["early.output -> first.input", "batches.target -> first.target"]
    wires += ["logits.output -> second.input", "batches.target -> second.target"]
    for text in wires:
        base = edits.connect(base, wire(text))
    return base


def ensemble() -> Document:
    """The mean of two trained heads is judged."""
    base = auxiliary_head()
    base = edits.remove(base, ["first", "second"])
    base = edits.add_all(base, {"both": Node("ops.add"), "accuracy": Node("metrics.Accuracy")})
    wires = ["early.output -> both.x", "logits.output -> both.y", "both.output -> accuracy.input"]
    for text in (*wires, "batches.target -> accuracy.target"):
        base = edits.connect(base, wire(text))
    return base


SOUND: dict[str, Callable[[], Document]] = {
    "cross entropy of one-hot vectors": lambda: encoded("nn.CrossEntropyLoss"),
    "squared error of probabilities": lambda: encoded("nn.MSELoss", "nn.Softmax"),
    "BCE of one-hot vectors": lambda: encoded("nn.BCEWithLogitsLoss"),
    "least squares": least_squares,
    "sigmoid on targets from 0 to 1": scaled_regression,
    "autoencoder of scaled images": autoencoder,
    "soft margin of signs": lambda: network(
        "data.Moons", {"score": linear(1), "vector": VECTOR}, "nn.SoftMarginLoss", transforms=SIGNS
    ),
    "a sum and Adam": lambda: summed(Node("optim.Adam")),
    "a sum at a low rate": lambda: summed(Node("optim.SGD", {"lr": 1e-4})),
    "logits against 0": lambda: answers(VECTOR, loss="nn.BCEWithLogitsLoss", accuracy="metrics.BinaryAccuracy"),
    "probabilities against 0.3": lambda: answers(
        "nn.Sigmoid", VECTOR, loss="nn.BCELoss", recall=Node("metrics.Recall", {"num_classes": 1, "threshold": 0.3})
    ),
    "a positive variance": lambda: normal_distribution("nn.Softplus"),
    "the exponential as variance": lambda: normal_distribution("ops.exp"),
    "logarithms of rates": counts,
    "positive rates": lambda: counts("nn.Softplus", log_input=False),
    "class weights": lambda: classifier(loss=Node("nn.CrossEntropyLoss", {"weight": [1.0] * 9 + [2.0]})),
    "weight of positive answers": lambda: answers(VECTOR, loss=Node("nn.BCEWithLogitsLoss", {"pos_weight": [3.0]})),
    "error of numbers": lambda: regression(error="metrics.RootMeanSquaredError"),
    "a metric of probabilities of the trained scores": lambda: digits(
        {"flatten": "nn.Flatten", "logits": linear(10)},
        softmax="nn.Softmax",
        accuracy="metrics.Accuracy",
        wires=[
            "logits.output -> softmax.input",
            "softmax.output -> accuracy.input",
            "batches.target -> accuracy.target",
        ],
    ),
    "two heads with a loss each": auxiliary_head,
    "mean of two heads": ensemble,
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_targets_and_metrics_are_not_reported(name: str) -> None:
    found = codes(SOUND[name]())
    assert [code for code in found if code != "no-activation"] == []


def test_a_broadcast_is_described_with_its_shapes() -> None:
    layers = {"output": linear(1)}
    document = network("data.Regression", layers, "nn.L1Loss", targets={"vector": VECTOR})
    assert "gets N×1 from output and targets of N, which would broadcast to N×N." in only(document).message


def test_evidence_has_what_was_measured() -> None:
    problem = only(regression("nn.ReLU"))
    assert problem.evidence["lowest"] < -3
    assert problem.evidence["low"] == 0
    assert 0.3 < problem.evidence["share_outside"] < 0.6


def test_a_frozen_teacher_may_be_judged() -> None:
    document = edits.add_all(mlp(), {"teacher": linear(10), "accuracy": Node("metrics.Accuracy")})
    for text in ("flatten.output -> teacher.input", "teacher.output -> accuracy.input"):
        document = edits.connect(document, wire(text))
    document = edits.connect(document, wire("batches.target -> accuracy.target"))
    assert codes(document) == ["judged-head"]
    assert "judged-head" not in codes(changed(document, "teacher", frozen=True))


def test_numbers_read_as_classes_can_be_learned_as_numbers(tmp_path: Path) -> None:
    rows = "".join(f"{row % 7},{row % 5},{row}\n" for row in range(60))
    (tmp_path / "prices.csv").write_text(f"u,v,price\n{rows}")
    source = Node("data.CSV", {"path": "prices.csv", "target": "price", "task": "classes"})
    document = network(source, {"output": linear(1)}, "nn.MSELoss")
    [problem] = check(document, catalogue(), tmp_path).problems
    assert (problem.code, problem.node) == ("wrong-target", "loss")
    assert problem.fix is not None
    assert problem.fix.title.startswith("Set task to number")
    for fix in (problem.fix, *problem.others):
        assert check(fix.edit(document), catalogue(), tmp_path).problems == (), fix.title
