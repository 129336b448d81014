from __future__ import annotations

import pytest

from engine import fit
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import lower
from studio.lowering.check import check
from studio.lowering.checks.structure_checks import RESERVED
from studio.nodes import catalogue
from studio.nodes.types import Role
from tests.studio.lowering.graphs import (
    changed,
    coded,
    codes,
    digits,
    document,
    fixed,
    mlp,
    only,
    report,
    wire,
    without,
)


def test_valid_graph_has_no_problems() -> None:
    assert report(mlp()).problems == ()


def test_empty_canvas_names_the_next_step() -> None:
    problem = only(Document())
    assert (problem.severity, problem.code, problem.node) == ("error", "empty", None)
    assert "template" in problem.message


def test_an_unknown_type_is_named_and_its_wires_kept() -> None:
    broken = changed(mlp(), "relu", type="nn.Relu")
    problem = coded(broken, "unknown-type")
    assert problem.message == (
        "relu has the type nn.Relu, which this version of Gradwire does not have. Did you mean nn.ReLU?"
    )
    assert report(fixed(broken, problem)).problems == ()
    assert codes(broken) == ["unknown-type"]


def test_a_missing_wire_names_the_port_and_is_fixed_by_its_only_candidate() -> None:
    broken = without(mlp(), "hidden.output -> relu.input")
    problem = coded(broken, "missing-wire")
    assert (problem.node, problem.port) == ("relu", "input")
    assert problem.message == "relu.input is not connected. Connect hidden.output to it."
    assert fixed(broken, problem) == mlp()


def test_missing_target_is_connected_to_the_loader() -> None:
    broken = without(mlp(), "batches.target -> cross_entropy.target")
    assert fixed(broken, only(broken)) == mlp()


def test_unconnected_node_is_a_warning() -> None:
    problem = only(
        digits({"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}, spare="nn.ReLU")
    )
    assert (problem.severity, problem.code, problem.node) == ("warning", "not-wired", "spare")


def test_errors_at_unused_nodes_are_warnings() -> None:
    spare = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        spare="nn.Linear",
        wires=["flatten.output -> spare.input"],
    )
    assert report(spare).errors == ()
    assert sorted(codes(spare)) == ["missing-parameter", "unused"]


def test_unused_branch_is_reported_at_its_end() -> None:
    branch = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        one="nn.ReLU",
        two="nn.Tanh",
        wires=["flatten.output -> one.input", "one.output -> two.input"],
    )
    assert (
        only(branch).message
        == "two has an unconnected output, so it is not part of the run. Connect its output, or remove it."
    )


def test_cycle_lists_its_nodes() -> None:
    looped = document(
        {"a": "ops.add", "b": "nn.ReLU", "c": "nn.Tanh", "behind": "nn.ReLU"},
        ["a.output -> b.input", "b.output -> c.input", "c.output -> a.x", "c.output -> behind.input"],
    )
    problem = coded(looped, "cycle")
    assert "b → c → a → b is a cycle" in problem.message or "a → b → c → a is a cycle" in problem.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ghost.output -> relu.input", "The project has no node ghost."),
        ("hidden.ghost -> relu.input", "hidden has no output ghost; it has output."),
        ("hidden.output -> relu.ghost", "relu has no input ghost; it has input."),
        ("digits.samples -> relu.input", "digits.samples provides samples but relu.input expects a tensor."),
        ("flatten.output -> logits.input", "logits.input already gets relu.output."),
    ],
)
def test_invalid_wire_can_be_removed(text: str, reason: str) -> None:
    sound = mlp()
    stray = Document(nodes=sound.nodes, wires=(*sound.wires, wire(text)))
    problem = coded(stray, "stray-wire")
    assert problem.wire == wire(text)
    assert reason in problem.message
    assert fixed(stray, problem) == sound


@pytest.mark.parametrize("name", ["forward", "training", "_hidden", "not a name", "class", "ﬁ", "x" * 5000, "self", ""])
def test_invalid_names_have_a_rename_fix(name: str) -> None:
    broken = digits({"flatten": "nn.Flatten", name: Node("nn.Linear", {"out_features": 10})} if "." not in name else {})
    problem = next(each for each in report(broken).errors if each.code in ("bad-name", "reserved-name"))
    assert problem.node == name
    assert not report(fixed(broken, problem)).errors


def test_task_attributes_are_reserved() -> None:
    class Bare(fit.Task):
        def data(self) -> None: ...  # type: ignore[override]
        def configure(self) -> None: ...
        def losses(self, batch: object) -> None: ...  # type: ignore[override]

    assert {*vars(Bare()), *dir(Bare())} - {"__module__"} <= {
        *RESERVED[Role.LOSS],
        *dir(object),
        "__weakref__",
        "__dict__",
    }


@pytest.mark.parametrize("name", ["mro", "forward", "register_buffer"])
def test_module_attributes_are_reserved_for_layers(name: str) -> None:
    renamed = edits.rename(mlp(), "hidden", name)
    assert only(renamed).code == "reserved-name"
    made = type(lower(check(mlp(), catalogue())).build())
    assert {*dir(made), *dir(type(made))} <= {*RESERVED[Role.LOSS], *mlp().nodes, "__weakref__", "__dict__"}


def test_a_muted_source_of_samples_is_named() -> None:
    muted = changed(mlp(), "digits", muted=True)
    problem = coded(muted, "muted-source")
    assert problem.message.startswith("scale.samples gets no value because digits is muted.")
    assert report(fixed(muted, problem)).problems == ()


def test_a_second_loss_is_added_to_the_first() -> None:
    wires = ["logits.output -> margin.input", "batches.target -> margin.target"]
    document = mlp()
    for name, weight in (("margin", "nn.MultiMarginLoss"), ("other", "nn.MultiMarginLoss")):
        document = edits.add(document, name, Node(weight))
        for text in wires:
            document = edits.connect(document, wire(text.replace("margin", name)))
        problem = next(each for each in report(document).problems if each.node == name)
        assert problem.code == "unused" and problem.fix is not None
        assert problem.fix.title == f"Add {name} to the loss of adam"
        document = fixed(document, problem)
    assert codes(document) == []
    assert {str(each) for each in document.wires if "total_loss" in str(each)} == {
        "cross_entropy.loss -> total_loss.a",
        "margin.loss -> total_loss.b",
        "other.loss -> total_loss.c",
        "total_loss.loss -> adam.loss",
    }
