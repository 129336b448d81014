"""Each kind of condition: met, not met, and what it says then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document, Node
from studio.lessons.conditions import Condition
from studio.lessons.evaluation.evaluate import evaluate
from studio.lessons.lesson import Choice, Curve, Number
from studio.lessons.predictions import compare, course_of, is_answer
from studio.lessons.situation import MeasuredRun, Situation, value_reader
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue

MLP = template("digits-mlp").document
STOPPED = MeasuredRun(MLP, 90, {"train_loss": (2.0, 0.5)}, is_complete=False)
RUN = MeasuredRun(MLP, 90, {"train_loss": (2.0, 0.5), "val_accuracy": (0.7, 0.95, 0.9), "val_loss": (1.0, 0.4, 0.6)})
BROKEN = MeasuredRun(MLP, 90, RUN.figures, graph_breaks=2)
RESUMED = MeasuredRun(MLP, 90, RUN.figures, is_resumed=True, graph_breaks=0)
NUMBERS = Document({"table": Node("nn.ConstantTensor", {"size": [2, 2], "values": [1, 2, 3, 4]})})


def situation(document: Document = MLP, *runs: MeasuredRun, selection: str = "") -> Situation:
    report = check(document, catalogue())
    return Situation(document, report, runs, frozenset({selection}), value_reader(report, runs))


def without(*names: str) -> Document:
    return edits.remove(MLP, names)


CASES: list[tuple[dict[str, Any], Callable[[], Situation], str]] = [
    ({"check": "node", "node": "@nn.ReLU", "after": "hidden", "before": "logits"}, situation, ""),
    ({"check": "node", "node": "@nn.ReLU"}, lambda: situation(without("relu")), "There is none. Add a ReLU node."),
    ({"check": "node", "node": "@nn.ReLU", "before": "hidden"}, situation, "Add a ReLU node before hidden."),
    ({"check": "node", "node": "@nn.Linear", "at_least": 3}, situation, "There are only 2."),
    ({"check": "node", "node": "@nn.Linear", "at_most": 1}, situation, "There are 2. Remove 1 of them."),
    ({"check": "node", "node": "@nn.Dropout", "at_most": 0}, situation, "dropout is there. Remove dropout."),
    ({"check": "node", "node": "dropout", "before": "hidden"}, situation, "dropout does not lie there."),
    ({"check": "parameter", "node": "dropout", "param": "p", "equals": 0.5}, situation, ""),
    ({"check": "parameter", "node": "@nn.Dropout", "param": "p", "at_most": 0.2}, situation, "p of dropout is 0.5."),
    ({"check": "parameter", "node": "hidden", "param": "in_features", "equals": 64}, situation, ""),
    ({"check": "parameter", "node": "batches", "param": "shuffle", "equals": 1}, situation, "is on"),
    ({"check": "parameter", "node": "@nn.GELU", "param": "p", "equals": 1}, situation, "There is no GELU node."),
    ({"check": "flag", "node": "hidden", "flag": "frozen", "equals": False}, situation, ""),
    ({"check": "flag", "node": "hidden", "flag": "frozen"}, situation, "hidden is not frozen. Freeze hidden."),
    ({"check": "wire", "source": "hidden.output", "target": "@nn.ReLU.input"}, situation, ""),
    ({"check": "wire", "source": "hidden.output", "target": "logits.input"}, situation, "connected to dropout.output"),
    ({"check": "wire", "source": "hidden.output", "target": "relu.input", "exists": False}, situation, "Remove it."),
    ({"check": "shape", "output": "hidden.output", "shape": ["N", 256], "dtype": "float32"}, situation, ""),
    ({"check": "shape", "output": "hidden.output", "shape": ["*", 10]}, situation, "hidden.output is N×256 float32."),
    ({"check": "shape", "output": "hidden.output", "dtype": "int64"}, situation, "N×256 float32"),
    ({"check": "shape", "output": "@nn.GELU.output", "shape": []}, situation, "There is no such node."),
    ({"check": "no problems", "severity": "hint"}, situation, ""),
    ({"check": "no problems"}, lambda: situation(without("relu")), "dropout"),
    ({"check": "no problems"}, lambda: situation(NUMBERS), "no data source"),
    ({"check": "no problems", "at_nodes": True}, lambda: situation(NUMBERS), ""),
    ({"check": "problem", "code": "no-optimizer"}, lambda: situation(without("adam")), ""),
    ({"check": "problem", "code": "no-optimizer"}, situation, "It does not report that."),
    ({"check": "parameters", "at_least": 100, "at_most": 20_000}, situation, ""),
    ({"check": "parameters", "at_most": 5_000}, situation, "It has 19,210. Make layers smaller"),
    ({"check": "figure", "figure": "val_accuracy", "which": "best", "at_least": 0.95}, lambda: situation(MLP, RUN), ""),
    ({"check": "figure", "figure": "val_loss", "which": "best", "at_most": 0.4}, lambda: situation(MLP, RUN), ""),
    ({"check": "figure", "figure": "val_accuracy", "at_least": 0.95}, lambda: situation(MLP, RUN), "It is 0.9."),
    ({"check": "figure", "figure": "val_f1", "at_least": 0.5}, lambda: situation(MLP, RUN), "has no figure val_f1"),
    ({"check": "figure", "figure": "val_loss", "at_most": 9}, situation, "No run has finished yet. Press Run."),
    (
        {"check": "figure", "figure": "val_loss", "at_most": 9},
        lambda: situation(without("relu"), RUN),
        "Press Run again.",
    ),
    ({"check": "run"}, lambda: situation(MLP, RUN), ""),
    ({"check": "run"}, situation, "No run has finished yet."),
    ({"check": "run"}, lambda: situation(MLP, STOPPED), "Press Run, and wait until it is done."),
    ({"check": "run", "epochs": 1}, lambda: situation(MLP, STOPPED), "no finished run"),
    ({"check": "run", "params": {"adam.lr": 0.005}, "settings": {"epochs": 30}}, lambda: situation(MLP, RUN), ""),
    ({"check": "run", "params": {"adam.lr": 0.1}}, lambda: situation(MLP, RUN), "no finished run with these values"),
    ({"check": "run", "epochs": 3}, lambda: situation(MLP, RUN), "no finished run"),
    ({"check": "run", "epochs": 2, "at_least": 2}, lambda: situation(MLP, RUN), "There is only 1."),
    ({"check": "run", "resumed": True}, lambda: situation(MLP, RESUMED, RUN), ""),
    (
        {"check": "run", "resumed": True},
        lambda: situation(MLP, RUN),
        "No run was resumed. Select a run in the Runs panel",
    ),
    ({"check": "run", "resumed": True, "epochs": 3}, lambda: situation(MLP, RESUMED), "No run with these values was"),
    ({"check": "run", "least_graph_breaks": 1}, lambda: situation(MLP, BROKEN, RESUMED), ""),
    ({"check": "run", "least_graph_breaks": 3}, lambda: situation(MLP, BROKEN), "no finished run with these values"),
    (
        {"check": "run", "least_graph_breaks": 1, "only_last": True},
        lambda: situation(MLP, BROKEN, RESUMED),
        "The last run had no graph break.",
    ),
    ({"check": "run", "most_graph_breaks": 0, "only_last": True}, lambda: situation(MLP, BROKEN, RESUMED), ""),
    (
        {"check": "run", "most_graph_breaks": 0, "only_last": True},
        lambda: situation(MLP, RESUMED, BROKEN),
        "The last run had 2 graph breaks in each step.",
    ),
    (
        {"check": "run", "most_graph_breaks": 0, "only_last": True},
        lambda: situation(MLP, RUN),
        "The last run did not compile its steps.",
    ),
    (
        {"check": "run", "most_graph_breaks": 0, "only_last": True},
        lambda: situation(without("relu"), RESUMED),
        "Press Run again.",
    ),
    ({"check": "value", "output": "table.output", "statistic": "mean", "equals": 2.5}, lambda: situation(NUMBERS), ""),
    (
        {"check": "value", "output": "table.output", "statistic": "max", "at_most": 3},
        lambda: situation(NUMBERS),
        "It is 4.",
    ),
    ({"check": "value", "output": "table.output", "equals": 2.5}, lambda: situation(NUMBERS), "has no such value"),
    ({"check": "setting", "setting": "epochs", "equals": 30}, situation, ""),
    ({"check": "setting", "setting": "accumulate", "at_least": 2}, situation, "It is 1. Set it to at least 2"),
    ({"check": "selected", "node": "hidden"}, lambda: situation(selection="hidden"), ""),
    ({"check": "selected", "node": "hidden"}, situation, "Click hidden."),
]


@pytest.mark.parametrize(("condition", "make", "expected"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_a_condition_is_met_or_says_what_to_do(
    condition: dict[str, Any], make: Callable[[], Situation], expected: str
) -> None:
    found = evaluate(msgspec.convert(condition, Condition), make())
    assert found.is_met is (expected == ""), found
    assert expected in found.text and found.goal


def test_texts_of_the_author_replace_the_derived_ones() -> None:
    condition = {"check": "parameters", "at_most": 1, "goal": "It is small", "feedback": "It is too large."}
    found = evaluate(msgspec.convert(condition, Condition), situation())
    assert (found.goal, found.text) == ("It is small", "It is too large.")


@pytest.mark.parametrize(
    ("values", "course"),
    [
        ((2.0, 1.0, 0.5), "falls"),
        ((0.5, 0.7, 0.9), "rises"),
        ((1.0, 1.01, 0.99), "stays flat"),
        ((2.0, 0.5, 0.6, 1.2), "falls, then rises"),
        ((1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0), "oscillates"),
        ((1.0, 5.0, float("nan")), "diverges"),
        ((1.0, 50.0, 9000.0), "diverges"),
        ((1.0,), None),
    ],
)
def test_courses_of_curves(values: tuple[float, ...], course: str | None) -> None:
    assert course_of(values) == course


def test_predictions_are_compared_with_measurements() -> None:
    now = situation(MLP, RUN)
    choice = Choice("Which?", ("one", "two"), right=1)
    assert compare(choice, 1, now).agrees and compare(choice, 0, now).agrees is False
    assert compare(Choice("Which?", ("one", "two")), 0, now).agrees is None
    number = Number("How much?", figure="val_accuracy", tolerance=0.02)
    assert compare(number, 0.91, now).agrees and compare(number, 0.99, now).agrees is False
    assert compare(number, 0.9, situation()).agrees is None, "nothing was measured"
    curve = Curve("How?")
    assert compare(curve, "falls", now).agrees and compare(curve, "rises", now).agrees is False
    assert compare(curve, [1.0, 0.5, 0.0], now).agrees and compare(curve, [0.0, 1.0], now).agrees is False


@pytest.mark.parametrize(
    ("prediction", "answer", "is_valid"),
    [
        (Choice("?", ("a", "b")), 1, True),
        (Choice("?", ("a", "b")), 2, False),
        (Choice("?", ("a", "b")), True, False),
        (Number("?"), 3.5, True),
        (Number("?"), "3", False),
        (Number("?"), float("nan"), False),
        (Curve("?"), "falls", True),
        (Curve("?"), "flies", False),
        (Curve("?"), [0, 0.5, 1], True),
        (Curve("?"), [0, 2], False),
    ],
)
def test_answers_are_validated(prediction: Choice | Number | Curve, answer: Any, is_valid: bool) -> None:
    assert is_answer(prediction, answer) is is_valid
