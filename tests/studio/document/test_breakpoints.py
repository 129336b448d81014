"""Conditions of breakpoints, and their edits."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import edit_block
from studio.document.breakpoints.breakpoint_edits import change_breakpoint, remove_breakpoints, set_breakpoint
from studio.document.breakpoints.condition import needs_statistics, paths_in
from studio.document.breakpoints.condition_parser import parse_condition
from studio.document.breakpoints.condition_tokens import ConditionError
from studio.document.document_errors import EditError, FileError
from studio.document.files.project_format import dumps, loads
from studio.document.model import Block, Document, Node
from studio.training.breakpoints.condition_values import ConditionValues, NotMeasured


@pytest.mark.parametrize(
    ("text", "problem", "position"),
    [
        ("", "a condition is needed, such as loss is NaN", 0),
        ("loss", "expected a condition, such as loss > 2, but this is a number", 0),
        ("loss >", "a value is missing", 6),
        ("los > 2", "'los' is no quantity of a step. Did you mean loss? Statistics have a function: norm(los)", 0),
        ("loss > 2 and conv1.output.stdd > 1", "'stdd' is no figure of conv1.output.", 13),
        ("norms(fc1) > 2", "there is no function 'norms'. Did you mean norm?", 0),
        ("loss > 2)", "')' is not expected here", 8),
        ("loss && 3", "'&' is no part of a condition", 5),
        ("(loss > 2) > 3", "expected a number, but this is a condition", 0),
        ("loss is big", "expected NaN, infinite or finite after 'is'", 8),
        ("max(loss) > 2", "max() needs 2 values, not 1", 8),
        ("NaN in", "NaN in needs a node, an output or a parameter, such as fc1 or fc1.weight", 6),
        ("loss > median(loss, 0)", "median() needs a number of steps from 1 to 1000", 20),
        ("__import__('os').system('x') > 1", '"\'" is no part of a condition', 11),
        ("not " * 60 + "loss > 1", "the condition is nested too deeply", 204),
    ],
)
def test_a_mistake_is_named_with_its_position(text: str, problem: str, position: int) -> None:
    with pytest.raises(ConditionError) as found:
        parse_condition(text)
    assert found.value.problem.startswith(problem)
    assert found.value.position == position
    assert str(found.value).endswith(f"(character {position + 1})")


@given(st.text(alphabet="lossNaN ().,<>=+-*/0123anywheredior_'\"[]{}\\", max_size=40))
def test_any_text_is_a_condition_or_a_mistake(text: str) -> None:
    try:
        parse_condition(text)
    except ConditionError as error:
        assert 0 <= error.position <= len(text)


STATISTICS = SimpleNamespace(
    outputs={"relu1.output": {"std": 12.0, "mean": 1.0, "dead": 0.75, "norm": 3.0}, "block.0.fc.output": {"mean": 2.0}},
    parameters={"fc1.weight": {"norm": 3.0, "gradient": 0.3}, "fc1.bias": {"norm": 4.0, "gradient": 0.4}},
)


def holds(text: str, statistics: Any = STATISTICS, **values: Any) -> bool:
    quantities = {"loss": 2.5, "step": 7.0, "epoch": 1.0, "learning_rate": 0.1} | values.pop("quantities", {})
    return ConditionValues(quantities, (1.0, 2.0, 30.0), statistics, **values).holds(parse_condition(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss > 2", True),
        ("loss >= 2.5 and step == 7", True),
        ("not loss > 2 or step != 7", False),
        ("loss > 1.2 * median(loss, 3)", True),
        ("loss > median(loss, 2)", False),
        ("relu1.output.std > 10 and loss > 2", True),
        ("dead(relu1) > 0.5", True),
        ("grad_norm(fc1) / norm(fc1) > 0.099", True),
        ("grad_norm(fc1) / norm(fc1) > 0.11", False),
        ("grad_norm == 0.5", True),
        ("fc1.weight.norm == 3", True),
        ("norm(relu1) == 3", True),
        ("mean(block) == 2", True),
        ("max(loss, 9) - abs(-2) * 3 == 3", True),
        ("loss / 0 is infinite", True),
        ("0 / 0 is NaN", True),
        ("loss is not finite", False),
        ("-loss < -2", True),
    ],
)
def test_conditions_are_evaluated(text: str, expected: bool) -> None:
    assert holds(text) is expected


def test_nan_is_above_no_limit() -> None:
    assert not holds("loss > 2", quantities={"loss": math.nan})
    assert holds("loss is NaN", quantities={"loss": math.nan})
    assert holds("NaN anywhere", nan=True)
    assert holds("NaN in block", nan=True, nan_node="block.0.fc")
    assert not holds("NaN in blo", nan=True, nan_node="block.0.fc")


@pytest.mark.parametrize("text", ["norm(relu1) > 1", "grad_norm > 1", "NaN anywhere", "loss > median(loss, 9)"])
def test_values_that_are_not_measured_decide_nothing(text: str) -> None:
    with pytest.raises(NotMeasured):
        holds(text, statistics=None)


def test_conditions_say_what_they_need() -> None:
    assert needs_statistics(parse_condition("loss > 2 or grad_norm(fc1) > 1"))
    assert not needs_statistics(parse_condition("loss is NaN and step > 3"))
    assert paths_in(parse_condition("grad_norm(fc1) > norm(fc1) or NaN in a.0.b")) == ["fc1", "a.0.b"]


def network() -> Document:
    document = edits.add_all(Document(), {"conv1": Node("nn.ReLU"), "loss": Node("nn.ReLU")})
    document = set_breakpoint(document, "  conv1.output.std   > 10 and loss > 2")
    return set_breakpoint(document, "NaN in conv1.fc", enabled=False)


def test_breakpoints_follow_nodes() -> None:
    document = network()
    assert document.breakpoints == {"conv1.output.std > 10 and loss > 2": True, "NaN in conv1.fc": False}
    renamed = edits.rename(edits.rename(document, "conv1", "first"), "loss", "other")
    assert list(renamed.breakpoints) == ["first.output.std > 10 and loss > 2", "NaN in first.fc"]
    assert edits.remove(document, ["conv1"]).breakpoints == {}
    assert set_breakpoint(document, "NaN in conv1.fc", enabled=False) is document
    assert remove_breakpoints(document, ["unknown"]) is document


def test_edits_of_breakpoints() -> None:
    document = change_breakpoint(network(), "NaN in conv1.fc", "NaN anywhere")
    assert list(document.breakpoints.items())[1] == ("NaN anywhere", False)
    assert remove_breakpoints(document, ["NaN anywhere"]).breakpoints == {"conv1.output.std > 10 and loss > 2": True}
    with pytest.raises(EditError, match=r"loss >: a value is missing \(character 7\)"):
        set_breakpoint(document, "loss >")
    for number in range(98):
        document = set_breakpoint(document, f"step == {number}")
    with pytest.raises(EditError, match="at most 100 breakpoints"):
        set_breakpoint(document, "step == 100")


def test_files_keep_breakpoints() -> None:
    document = network()
    assert loads(dumps(document)) == document


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"loss >": true}', "is no condition: a value is missing"),
        ('{"loss is NaN": 1}', "must be true or false, not 1"),
        ("[]", "must be an object of true or false by condition"),
    ],
)
def test_damaged_breakpoints_are_named(raw: str, message: str) -> None:
    text = dumps(Document()).replace("\n}", f',\n  "breakpoints": {raw}\n}}')
    with pytest.raises(FileError, match=message):
        loads(text, "a.gradwire")


def test_a_rename_in_a_block_reaches_the_conditions_of_all_its_instances() -> None:
    inner = {"input": Node(block_nodes.INPUT), "fc": Node("nn.Linear"), "output": Node(block_nodes.OUTPUT)}
    nodes = {"a": Node("block.layer"), "b": Node("block.layer"), "fc": Node("nn.Linear")}
    conditions = ("grad_norm(a.fc.weight) > 1", "NaN in b.2.fc", "norm(fc.output) > 2", "mean(a.output) > 0")
    document = Document(nodes, blocks={"layer": Block(inner)}, breakpoints=dict.fromkeys(conditions, True))
    document = edit_block(document, "layer", lambda graph: edits.rename(graph, "fc", "dense"))
    assert list(document.breakpoints) == [
        "grad_norm(a.dense.weight) > 1", "NaN in b.2.dense", "norm(fc.output) > 2", "mean(a.output) > 0"
    ]  # fmt: skip
