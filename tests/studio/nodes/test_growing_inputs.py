"""Nodes that combine any number of tensors have one free input."""

from __future__ import annotations

from typing import Any

import pytest

from engine import fit
from studio.document import edits
from studio.document.files import project_format
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering import check, lower, refusal
from studio.lowering.analysis.block_types import known_type
from studio.nodes import catalogue
from tests.studio.lowering.graphs import digits

SOURCES = ("first", "second", "third", "fourth")


def shown(document: Document, name: str = "it") -> list[str]:
    kind = known_type(document, catalogue(), name)
    assert kind is not None
    return [port.name + ("" if not port.optional else "?") for port in kind.inputs]


def joined(key: str, *ports: str, params: dict[str, Any] | None = None) -> Document:
    """Linear layers that feed the ports of one node."""
    nodes: dict[str, Any] = {}
    wires: list[str] = []
    for name, port in zip(SOURCES, ports, strict=False):
        nodes[name] = Node("nn.Linear", {"out_features": 10})
        wires += [f"flat.output -> {name}.input", f"{name}.output -> it.{port}"]
    nodes |= {"it": Node(key, params or {}), "scores": Node("nn.Linear", {"out_features": 10})}
    wires.append("it.output -> scores.input")
    return digits({"flat": "nn.Flatten"}, last="scores", **nodes, wires=wires)


def source(document: Document) -> str:
    report = check(document, catalogue())
    assert [problem.message for problem in report.errors] == []
    program = lower(report)
    [step] = [event for event in fit.fit(program.build(), steps=1) if isinstance(event, fit.Step)]
    assert step.finite
    return next(line.strip() for line in program.source.splitlines() if line.strip().startswith("it ="))


@pytest.mark.parametrize(
    ("ports", "inputs"),
    [
        ((), ["a", "b"]),
        (("a",), ["a", "b"]),
        (("a", "b"), ["a", "b", "c?"]),
        (("a", "b", "c"), ["a", "b", "c", "d?"]),
        (("a", "c"), ["a", "b?", "c"]),
        (("b", "d"), ["a?", "b", "d"]),
        (("c",), ["a", "b?", "c"]),
    ],
)
def test_one_free_input_is_shown(ports: tuple[str, ...], inputs: list[str]) -> None:
    assert shown(joined("ops.cat", *ports, params={"dim": 1})) == inputs


def test_files_with_four_inputs_keep_their_wires() -> None:
    document = joined("ops.cat", "a", "b", "c", "d", params={"dim": 1})
    assert project_format.loads(project_format.dumps(document)) == document
    assert source(document) == "it = engine.cat([first, second, third, fourth], dim=1)"


def test_a_gap_does_not_reach_the_code() -> None:
    document = joined("ops.cat", "a", "b", "c", params={"dim": 1})
    document = edits.disconnect(document, [next(wire for wire in document.wires if wire.target.port == "b")])
    document = edits.remove(document, ["second"])
    assert source(document) == "it = engine.cat([first, third], dim=1)"


def test_an_associative_function_is_folded() -> None:
    assert source(joined("ops.add", "x", "y")) == "it = engine.add(first, second)"
    assert source(joined("ops.add", "x", "y", "z", "x4")) == (
        "it = engine.add(engine.add(engine.add(first, second), third), fourth)"
    )
    assert source(joined("ops.maximum", "y", "z")) == "it = engine.maximum(first, second)"


def test_a_number_is_the_second_operand() -> None:
    assert source(joined("ops.mul", "x", params={"y": 0.5})) == "it = engine.mul(first, 0.5)"
    assert source(joined("ops.mul", "x", "y", params={"y": 0.5})) == "it = engine.mul(first, second)"
    assert source(joined("ops.pow", "x", params={"exponent": 2})) == "it = engine.pow(first, 2)"


def test_a_missing_operand_is_an_error_until_a_number_is_set() -> None:
    document = joined("ops.add", "x")
    checker_message = "it.y is not connected. Connect an output to it, or set y to a number."
    assert [problem.message for problem in check(document, catalogue()).errors] == [checker_message]
    assert check(edits.set_param(document, "it", "y", 1), catalogue()).errors == ()


def test_the_free_input_accepts_a_wire_and_later_ones_do_not() -> None:
    document = joined("ops.cat", "a", "b", params={"dim": 1})
    for port, reason in (("c", None), ("d", "it has no input d; it has a, b, c.")):
        assert refusal(document, catalogue(), Wire(Endpoint("flat", "output"), Endpoint("it", port))) == reason
