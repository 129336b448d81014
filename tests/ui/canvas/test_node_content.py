from __future__ import annotations

import pytest

from studio.document.model import Node
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.nodes.node_content import node_content


@pytest.mark.parametrize(
    ("name", "key", "shown"),
    [
        ("linear", "nn.Linear", ""),
        ("linear_12", "nn.Linear", ""),
        ("hidden", "nn.Linear", "Linear"),
        ("cross_entropy", "nn.CrossEntropyLoss", ""),
        ("batch_norm2d_3", "nn.BatchNorm2d", ""),
        ("relu", "nn.ReLU", ""),
    ],
)
def test_title_is_shown_unless_the_name_contains_it(name: str, key: str, shown: str) -> None:
    assert node_content(name, Node(key), catalogue()[key]).kind == shown


def test_problems_become_errors_and_warnings() -> None:
    problems = [Problem("error", "a", "Wrong."), Problem("warning", "b", "Odd."), Problem("error", "c", "Bad.")]
    shown = node_content("linear", Node("nn.Linear"), catalogue()["nn.Linear"], problems=problems)
    assert (shown.error, shown.warning) == ("Wrong.\nBad.", "Odd.")


def test_ports_have_labels_if_a_side_has_several() -> None:
    loader = node_content("batches", Node("data.Batches"), catalogue()["data.Batches"])
    assert loader.input_labels == ()
    assert loader.output_labels == ("input", "target")


def test_live_value_replaces_the_summary() -> None:
    kind = catalogue()["nn.CrossEntropyLoss"]
    assert node_content("loss", Node(kind.key), kind, summary="mean", live="0.31").line == "0.31"
    assert node_content("loss", Node(kind.key), kind, summary="mean").line == "mean"
