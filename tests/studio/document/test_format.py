"""The text of a project file, and one message for each way in which it can be wrong."""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

import pytest

from studio.document.document_errors import FileError
from studio.document.files.project_format import dumps, loads
from studio.document.files.strict_json import MAX_FILE_BYTES
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire

EXAMPLE = Document(
    nodes={
        "digits": Node("data.Digits"),
        "hidden": Node("nn.Linear", {"out_features": 128, "bias": False}, at=(240, 8.5)),
        "größe": Node("gone.Unknown", {"odd": [1.0, {"é": None}]}, at=(480, 0), muted=True, note='two\nlines "quoted"'),
    },
    wires=(
        Wire(Endpoint("digits", "output"), Endpoint("hidden", "input")),
        Wire(Endpoint("hidden", "output"), Endpoint("größe", "anything")),
    ),
    training=TrainingSettings(epochs=3),
    description="A first network",
)

EXAMPLE_TEXT = """\
{
  "gradwire": 3,
  "description": "A first network",
  "training": {
    "epochs": 3
  },
  "nodes": {
    "digits": {
      "type": "data.Digits"
    },
    "hidden": {
      "type": "nn.Linear",
      "params": {
        "bias": false,
        "out_features": 128
      },
      "at": [240, 8.5]
    },
    "größe": {
      "type": "gone.Unknown",
      "params": {
        "odd": [1.0, {"é": null}]
      },
      "at": [480, 0],
      "muted": true,
      "note": "two\\nlines \\"quoted\\""
    }
  },
  "wires": [
    "digits.output -> hidden.input",
    "hidden.output -> größe.anything"
  ]
}
"""


def test_the_layout() -> None:
    assert dumps(EXAMPLE) == EXAMPLE_TEXT
    assert loads(EXAMPLE_TEXT) == EXAMPLE


def test_an_empty_project() -> None:
    assert dumps(Document()) == '{\n  "gradwire": 3,\n  "nodes": {},\n  "wires": []\n}\n'
    assert loads(dumps(Document())) == Document()


def test_wires_are_sorted_whatever_the_order_in_the_file() -> None:
    content = json.loads(EXAMPLE_TEXT)
    content["wires"].reverse()
    assert loads(json.dumps(content)) == EXAMPLE


def test_cycles_are_loaded() -> None:
    node = {"type": "nn.ReLU"}
    document = loads(file(nodes={"a": node, "b": node}, wires=["a.output -> b.input", "b.output -> a.input"]))
    assert len(document.wires) == 2


@pytest.mark.parametrize("value", [1.0, 1e300, 5e-324, -0.0, 2**63, -(2**63), "\u2028", "\x00", [], {}, [[]], None])
def test_odd_values_survive(value: Any) -> None:
    document = Document({"a": Node("x", {"p": value})})
    back = loads(dumps(document)).nodes["a"].params["p"]
    assert repr(back) == repr(value)


def test_errors_travel_between_processes() -> None:
    error = FileError("a.gradwire", "nodes", "is wrong", "Correct it.")
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "a.gradwire, nodes: is wrong. Correct it."


def file(**content: Any) -> str:
    return json.dumps({"gradwire": 3, "nodes": {}, "wires": [], **content})


def with_node(**fields: Any) -> str:
    return file(nodes={"a": {"type": "nn.ReLU", **fields}})


def with_param(text: str) -> str:
    return with_node(params={"p": "HERE"}).replace('"HERE"', text)


TWO = {"a": {"type": "nn.ReLU"}, "b": {"type": "nn.ReLU"}}

BAD: dict[str, tuple[str | bytes, str, str]] = {
    # what it is: (text, location, problem)
    "empty": ("", "", "is empty"),
    "blank": (" \n ", "", "is empty"),
    "not JSON": ("import torch\n", "line 1, column 1", "is not JSON (expecting value)"),
    "a comma too many": ('{"gradwire": 3,\n}', "line 2, column 1", "is not JSON (expecting property name"),
    "two values": (file() + "{}", f"line 1, column {len(file()) + 1}", "is not JSON (extra data)"),
    "truncated": (EXAMPLE_TEXT[:100], "line 7, column 3", "is the end of the text, but the JSON is incomplete"),
    "truncated in a text": (
        '{"gradwire": 3, "descr',
        "line 1, column 17",
        "is the end of the text, but the JSON is incomplete",
    ),
    "a merge conflict": (
        EXAMPLE_TEXT.replace('      "at"', '<<<<<<< HEAD\n      "at"'),
        "line 17",
        "contains merge conflict markers",
    ),
    "a list": ("[1, 2]", "", "is not a Gradwire project: expected an object, got [1, 2]"),
    "foreign": ('{"name": "package", "version": "1.0"}', "", "is not a Gradwire project"),
    "newer": (file(gradwire=4), "", "was written by a newer Gradwire (format 4; this one reads up to 3)"),
    "version 0": (file(gradwire=0), "gradwire", "must be a format version from 1 to 3, not 0"),
    "version true": (file(gradwire=True), "gradwire", "must be a format version from 1 to 3, not true"),
    "version as text": (file(gradwire="2"), "gradwire", 'must be a format version from 1 to 3, not "2"'),
    "no nodes": ('{"gradwire": 3, "wires": []}', "", 'has no field "nodes"'),
    "no wires": ('{"gradwire": 3, "nodes": {}}', "", 'has no field "wires"'),
    "an unknown field": (file(color="red"), "color", "is not a known field"),
    "an unknown field of a node": (with_node(color="red"), "nodes.a.color", "is not a known field"),
    "an unknown field of training": (file(training={"batch": 1}), "training.batch", "is not a known field"),
    "a field twice": ('{"gradwire": 3, "gradwire": 3}', "gradwire", "occurs twice"),
    "a node twice": (
        '{"gradwire": 3, "nodes": {"a": {"type": "x"}, "b": {"type": "x"}, "a": {"type": "y"}}, "wires": []}',
        "nodes.a",
        "occurs twice",
    ),
    "a parameter twice": (with_param('1, "p": 2'), "nodes.a.params.p", "occurs twice"),
    "a key of an unknown field twice": (file(x=0).replace("0", '{"y": 0, "y": 0}'), "x.y", "occurs twice"),
    "nodes as a list": (file(nodes=[]), "nodes", "must be an object of nodes by name, not []"),
    "a node as a number": (file(nodes={"a": 3}), "nodes.a", "must be an object, not 3"),
    "a node without type": (file(nodes={"a": {}}), "nodes.a", 'has no field "type"'),
    "an empty type": (with_node(type=""), "nodes.a.type", "must not be empty"),
    "a keyword as a name": (file(nodes={"class": {}}), "nodes.class", 'the name "class" is a Python keyword'),
    "a name with a space": (file(nodes={"a b": {}}), 'nodes["a b"]', 'the name "a b" is not a Python identifier'),
    "an empty name": (file(nodes={"": {}}), 'nodes[""]', 'the name "" is empty'),
    "a place of three": (with_node(at=[1, 2, 3]), "nodes.a.at", "must have 2 values, not 3"),
    "a place of text": (with_node(at=[1, "2"]), "nodes.a.at[1]", 'must be a number, not "2"'),
    "a far place": (with_node(at=[1, 1e8]), "nodes.a.at[1]", "must be a number ≤ 10,000,000, not 100000000.0"),
    "a flag as a number": (with_node(muted=1), "nodes.a.muted", "must be true or false, not 1"),
    "parameters as a list": (with_node(params=[]), "nodes.a.params", "must be an object, not []"),
    "NaN": (with_param("NaN"), "nodes.a.params.p", "must be a finite number of at most 64 bits, not NaN"),
    "Infinity": (
        with_param("[0, -Infinity]"),
        "nodes.a.params.p[1]",
        "must be a finite number of at most 64 bits, not -Infinity",
    ),
    "1e999": (
        with_param('{"x y": 1e999}'),
        'nodes.a.params.p["x y"]',
        "must be a finite number of at most 64 bits, not 1e999",
    ),
    "a long number": (
        with_param("9" * 10_000),
        "nodes.a.params.p",
        f"must be a finite number of at most 64 bits, not {'9' * 30}…",
    ),
    "65 bits": (with_param(str(2**64)), "nodes.a.params.p", "not 18446744073709551616"),
    "NaN as a place": ('{"gradwire": 3, "nodes": {"a": {"at": [NaN, 0]}}}', "nodes.a.at[0]", "not NaN"),
    "NaN as the version": ('{"gradwire": NaN}', "gradwire", "must be a finite number of at most 64 bits, not NaN"),
    "deep nesting": ("[" * 10_000 + "]" * 10_000, "", "nested more than 40 levels deep"),
    "deep objects": ('{"a":' * 10_000 + "1" + "}" * 10_000, "", "nested more than 40 levels deep"),
    "deep parameters": (with_param("[" * 50 + "]" * 50), "", "nested more than 40 levels deep"),
    "a parameter too deep": (with_param("[" * 33 + "]" * 33), "nodes.a.params.p", "nested more than 32 levels deep"),
    "a parameter too large": (
        with_param(f'"{"x" * 100_000}"'),
        "nodes.a.params.p",
        "contains more than 100,000 values",
    ),
    "half a surrogate pair": (
        with_node(note="\ud800"),
        "nodes.a.note",
        "half a surrogate pair (U+D800) at character 1",
    ),
    "half a pair in a key": (file(**{"\ud800": 1}), "", "half a surrogate pair"),
    "epochs of zero": (
        file(training={"epochs": 0}),
        "training.epochs",
        "must be a whole number ≥ 1 and ≤ 2,147,483,647, not 0",
    ),
    "half an epoch": (
        file(training={"epochs": 0.5}),
        "training.epochs",
        "must be a whole number ≥ 1 and ≤ 2,147,483,647, not 0.5",
    ),
    "an unknown device": (
        file(training={"device": "tpu"}),
        "training.device",
        'must be auto, cpu or cuda, not "tpu"',
    ),
    "a description as a list": (file(description=[]), "description", "must be text, not []"),
    "wires as an object": (file(wires={}), "wires", "must be a list of wires, not {}"),
    "a wire as a list": (file(wires=[["a", "b"]]), "wires[0]", 'must be a wire such as "hidden.output -> relu.input"'),
    "a wire without a port": (file(nodes=TWO, wires=["a -> b.input"]), "wires[0]", 'not "a -> b.input"'),
    "a wire with a port too many": (file(nodes=TWO, wires=["a.b.c -> b.input"]), "wires[0]", "must be a wire"),
    "a wire with an odd port": (file(nodes=TWO, wires=["a.out put -> b.input"]), "wires[0]", "must be a wire"),
    "a wire to nowhere": (
        file(nodes=TWO, wires=["a.output -> b.input", "b.output -> ghost.input"]),
        "wires[1]",
        'the file has no node "ghost", which the wire "b.output -> ghost.input" connects',
    ),
    "a wire from nowhere": (file(nodes=TWO, wires=["ghost.output -> a.input"]), "wires[0]", 'no node "ghost"'),
    "a wire twice": (
        file(nodes=TWO, wires=["a.output -> b.input"] * 2),
        "wires[1]",
        'the wire "a.output -> b.input" occurs twice',
    ),
    "two wires into one input": (
        file(nodes=TWO, wires=["a.output -> b.input", "b.output -> b.input"]),
        "wires[1]",
        'the input "b.input" has two wires, from "a.output" and from "b.output"',
    ),
    "Latin-1": ('{\n  "größe": 1}'.encode("latin-1"), "line 2, column 6", "contains byte 0xF6, which is not UTF-8"),
    "UTF-16": ("{}".encode("utf-16"), "", "is UTF-16, not UTF-8"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0", "line 1, column 1", "contains byte 0x89, which is not UTF-8"),
    "huge bytes": (b" " * (MAX_FILE_BYTES + 1), "", "has more than 33,554,432 bytes"),
    "huge text": (" " * (MAX_FILE_BYTES + 1), "", "has more than 33,554,432 characters"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str) -> None:
    text, location, problem = BAD[name]
    with pytest.raises(FileError) as caught:
        loads(text, "net.gradwire")
    error = caught.value
    assert (error.path, error.location) == ("net.gradwire", location)
    assert problem in error.problem
    assert error.remedy.endswith(".")
    assert len(str(error)) < 500
    assert "`" not in str(error)
    assert "\n" not in str(error)


def test_deep_nesting_is_refused_whatever_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(20_000)
        with pytest.raises(FileError, match="nested more than 40 levels deep"):
            loads("[" * 10_000 + "]" * 10_000)
    finally:
        sys.setrecursionlimit(before)


def test_a_description_may_hold_anything() -> None:
    document = Document(description="NaN <<<<<<< \\ud800 \u2028 {[\n")
    assert loads(dumps(document)) == document
