"""The JSON Schema describes what is written, and refuses what the reader refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from studio.document.files.project_format import dumps, schema
from studio.document.model import Document, Frame, Node, TrainingSettings
from tests.studio.document.strategies import documents

jsonschema = pytest.importorskip("jsonschema")
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(json.dumps(schema())) == schema()


@given(documents())
def test_what_is_written_is_valid(document: Document) -> None:
    VALIDATOR.validate(json.loads(dumps(document)))


def test_every_field_is_described() -> None:
    parts = schema()["$defs"]
    assert tuple(parts["Node"]["properties"]) == Node.__struct_fields__
    assert tuple(parts["TrainingSettings"]["properties"]) == TrainingSettings.__struct_fields__
    assert tuple(parts["Frame"]["properties"]) == Frame.__struct_fields__


@pytest.mark.parametrize(
    "change",
    [
        {"gradwire": 4},
        {"nodes": []},
        {"nodes": {"a b": {"type": "x"}}},
        {"nodes": {"a": {}}},
        {"nodes": {"a": {"type": ""}}},
        {"nodes": {"a": {"type": "x", "at": [1]}}},
        {"nodes": {"a": {"type": "x", "muted": 1}}},
        {"nodes": {"a": {"type": "x", "colour": "red"}}},
        {"wires": ["a.output b.input"]},
        {"wires": [["a", "output", "b", "input"]]},
        {"wires": ["a.output -> b.input"] * 2},
        {"frames": {"a": {"size": [8, 100]}}},
        {"frames": {"a": {"color": "plaid"}}},
        {"frames": {"a b": {}}},
        {"routes": {"a.input": []}},
        {"routes": {"a": [[0, 0]]}},
        {"routes": {"a.input": [[0]]}},
        {"training": {"epochs": 0}},
        {"training": {"device": "tpu"}},
        {"colour": "red"},
    ],
)
def test_what_is_refused(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({"gradwire": 3, "nodes": {}, "wires": [], **change})
