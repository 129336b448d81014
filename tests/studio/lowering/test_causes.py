"""Problems at the node that causes them, wherever in the graph they show."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.registry import LOSSES
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.lowering.program import lower
from studio.nodes.catalogue import catalogue
from tests.studio.lowering.graphs import changed, codes, digits, fixed, only, report, wire

FLATTEN = {"flatten": "nn.Flatten"}
CONV = {"conv": Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 3}), "relu": "nn.ReLU", **FLATTEN}
LOGITS = {"logits": Node("nn.Linear", {"out_features": 10})}


def rewired(document: Document, *changes: str) -> Document:
    """Other wires at some inputs."""
    new = [wire(change) for change in changes]
    kept = [one for one in document.wires if one.target not in {other.target for other in new}]
    return replace(document, wires=tuple(sorted([*kept, *new])))


def encoded(on: str, size: int) -> Document:
    """The digits through one-hot encoding instead of the division by 16."""
    return changed(digits({**CONV, **LOGITS}), "scale", type="transforms.OneHot", params={"on": on, "size": size})


def joined() -> Document:
    return digits(
        {**FLATTEN, **LOGITS},
        last="cat",
        other=Node("nn.Linear", {"out_features": 10}),
        cat="ops.cat",
        wires=["flatten.output -> other.input", "logits.output -> cat.a", "other.output -> cat.b"],
    )


def column() -> Document:
    """N×1 targets for a network that gives N."""
    made = digits(
        {**FLATTEN, "value": Node("nn.Linear", {"out_features": 1}), "flat": Node("nn.Flatten", {"start_dim": 0})},
        cross_entropy="nn.MSELoss",
        table=Node("data.Regression", {"features": 4}),
    )
    kept = {name: node for name, node in made.nodes.items() if name not in ("digits", "scale")}
    wires = tuple(one for one in made.wires if one.source.node not in ("digits", "scale"))
    return rewired(Document(kept, wires), "table.samples -> batches.samples")


def test_encoded_inputs_are_reported_at_the_encoder() -> None:
    problem = only(encoded("inputs", 10))
    assert (problem.code, problem.node) == ("wrong-encoding", "scale")
    assert problem.message == (
        "scale encodes every element of the inputs (1×8×8 uint8) as a vector, so conv gets N×1×8×8×10. "
        "Set on of scale to targets, or remove scale."
    )
    assert codes(fixed(encoded("inputs", 10), problem)) == ["wrong-dtype"]


@pytest.mark.parametrize("size", [5, 12])
def test_wrong_class_count_is_reported_at_the_encoder(size: int) -> None:
    found = digits({**CONV, **LOGITS}, one_hot=Node("transforms.OneHot", {"on": "targets", "size": size}))
    document = rewired(found, "scale.samples -> one_hot.samples", "one_hot.samples -> batches.samples")
    problem = only(document)
    assert problem.message == f"one_hot encodes {size} classes but the data has 10. Set size of one_hot to 10."
    assert report(fixed(document, problem)).problems == ()


def test_joined_batches_are_reported_at_the_concatenation() -> None:
    document = changed(joined(), "cat", params={"dim": 0})
    problem = only(document)
    assert (problem.severity, problem.code, problem.node) == ("error", "joined-batches", "cat")
    assert "CrossEntropyLoss" not in problem.message
    assert report(fixed(document, problem)).errors == ()


def test_missing_last_dimension() -> None:
    problem = only(column())
    assert problem.message == (
        "cross_entropy expects input and target of one shape but gets N from flat and targets of N×1 from "
        "batches, which would broadcast to N×N. Insert Flatten(start_dim=0) before cross_entropy.target."
    )
    mended = fixed(column(), problem)
    assert report(mended).problems == ()
    lower(check(mended, catalogue())).build()


def test_a_missing_flatten_is_one_problem_with_one_fix() -> None:
    convolution = {"conv": Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 3}), "relu": "nn.ReLU"}
    wires = ["logits.output -> accuracy.input", "batches.target -> accuracy.target"]
    document = digits({**convolution, **LOGITS}, accuracy="metrics.Accuracy", wires=wires)
    problem = only(document)
    assert problem.fix is not None and problem.fix.title == "Insert Flatten before logits"
    assert report(fixed(document, problem)).problems == ()


def test_error_is_kept_if_an_equal_problem_is_a_warning() -> None:
    """The unconnected loss has the problem first, where it is a warning; at the other loss it prevents the run."""
    document = digits(
        {**LOGITS},
        aside="nn.CrossEntropyLoss",
        wires=["logits.output -> aside.input", "batches.target -> aside.target"],
    )
    [error] = report(document).errors
    assert error.affected == "cross_entropy"
    assert (error.code, error.node) == ("shape-mismatch", "logits")


def test_wrong_targets_depend_on_the_declared_kind_of_a_loss() -> None:
    def problem(loss: str, outputs: int) -> Problem:
        return only(
            changed(
                digits({**FLATTEN, "logits": Node("nn.Linear", {"out_features": outputs})}), "cross_entropy", type=loss
            )
        )

    assert "expects numbers as targets but batches provides the numbers of" in problem("nn.MSELoss", 10).message
    assert "expects an answer from 0 to 1 for each score" in problem("nn.BCEWithLogitsLoss", 10).message
    undeclared = {
        entry.key for entry in LOSSES if entry.category in ("Regression", "Classification") and not entry.learns
    }
    assert undeclared == {"nn.MultiLabelMarginLoss"}  # its targets are lists of classes
