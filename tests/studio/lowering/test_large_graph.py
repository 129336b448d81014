"""Graphs of 2,000 nodes are checked while they are edited: an edit must cost what it changes, not what there is."""

from __future__ import annotations

from typing import Any

import pytest

from engine.dtypes import float32
from engine.shape import Spec
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import check as check_module
from studio.lowering.analysis.node_evaluation import NodeEvaluator
from studio.lowering.check import Checker
from studio.nodes import catalogue
from tests.call_count import calls
from tests.studio.lowering.graphs import digits, wire

SIZE = 2000


def deep(size: int = SIZE) -> Document:
    """A chain of linear layers of different widths and activations."""
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten"}
    for index in range((size - 8) // 2):
        layers[f"linear{index}"] = Node("nn.Linear", {"out_features": 16 + index % 500})
        layers[f"relu{index}"] = "nn.ReLU"
    return digits({**layers, "logits": Node("nn.Linear", {"out_features": 10})})


@pytest.fixture(scope="module")
def document() -> Document:
    return deep()


@pytest.fixture
def checker(document: Document) -> Checker:
    made = Checker()
    report = made.check(document, catalogue())
    assert report.problems == ()
    assert len(report.nodes) == len(document.nodes)
    return made


def evaluated(checker: Checker, document: Document) -> int:
    """How many nodes a check has to evaluate."""
    before = checker.evaluator.evaluations
    checker.check(document, catalogue())
    return checker.evaluator.evaluations - before


def test_equal_layers_are_evaluated_once(checker: Checker) -> None:
    # 500 widths, each with one or two kinds of input, and their activations
    assert checker.evaluator.evaluations < 1200


def test_edits_evaluate_only_changed_nodes(checker: Checker, document: Document) -> None:
    assert evaluated(checker, document) == 0
    wider = edits.set_param(document, "linear700", "out_features", 1234)
    assert evaluated(checker, wider) == 3  # the layer, its activation, and the layer behind
    assert evaluated(checker, edits.move(wider, {"linear3": (8.0, 8.0)})) == 0
    assert evaluated(checker, edits.set_flag(wider, ["relu9"], frozen=True)) == 0
    assert evaluated(checker, document) == 0  # undone


def test_adding_a_node_and_a_wire_is_fast(checker: Checker, document: Document) -> None:
    more = edits.add(document, "extra", Node("nn.Tanh"))
    assert evaluated(checker, more) == 0
    more = edits.connect(more, wire("relu5.output -> extra.input"))
    assert evaluated(checker, more) == 1
    assert evaluated(checker, edits.disconnect(more, [wire("relu5.output -> extra.input")])) == 0


def test_a_check_after_an_edit_is_a_small_part_of_the_first(checker: Checker, document: Document) -> None:
    edited = edits.set_param(document, "linear700", "out_features", 1001)
    after_edit = calls(lambda: checker.check(edited, catalogue()))
    assert after_edit < calls(lambda: Checker().check(document, catalogue())) / 5
    assert after_edit < 150 * SIZE


def test_memory_is_bounded() -> None:
    evaluator = NodeEvaluator(cache_size=10)
    relu = catalogue()["nn.ReLU"]
    for index in range(50):
        evaluator.evaluate(relu, {"index": index}, {})
    assert len(evaluator) == 10


def test_equal_numbers_of_different_types_are_not_confused() -> None:
    evaluator = NodeEvaluator()
    linear = catalogue()["nn.Linear"]
    arguments: dict[str, Any] = {"in_features": 2, "out_features": 3}
    inputs = {"input": Spec((2, 2), float32)}
    assert evaluator.evaluate(linear, {**arguments, "bias": True}, inputs).failure == ""
    evaluator.evaluate(linear, {**arguments, "bias": 1}, inputs)
    assert evaluator.evaluations == 2


def test_deep_graph_has_no_problems() -> None:
    assert check_module(deep(50), catalogue()).problems == ()


def test_work_grows_with_the_number_of_unconnected_nodes() -> None:
    def check_loose(size: int) -> None:
        loose = Document(nodes={f"n{index}": Node("nn.Linear") for index in range(size)})
        assert len(Checker().check(loose, catalogue()).problems) > size

    assert calls(lambda: check_loose(SIZE)) < 2.2 * calls(lambda: check_loose(SIZE // 2))
