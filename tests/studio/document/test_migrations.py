"""Files of earlier formats, and that every version has a step and an example."""

from __future__ import annotations

import json

import pytest

from studio.document.document_errors import FileError
from studio.document.files.migrations import MIGRATIONS, SEQUENCE_TYPES, VERSION, migrate
from studio.document.files.project_format import loads
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire
from studio.nodes.catalogue import catalogue

VERSION_1 = """
{
  "gradwire": 1,
  "training": {"epochs": 5},
  "nodes": {
    "a": {"type": "nn.Linear", "params": {"out_features": 3}, "position": [8, 16]},
    "b": {"type": "nn.ReLU"}
  },
  "wires": [["a", "output", "b", "input"]]
}
"""


def test_there_is_a_step_from_every_earlier_version() -> None:
    assert list(MIGRATIONS) == list(range(1, VERSION))


def test_version_1() -> None:
    assert loads(VERSION_1) == Document(
        nodes={"a": Node("nn.Linear", {"out_features": 3}, at=(8, 16)), "b": Node("nn.ReLU")},
        wires=(Wire(Endpoint("a", "output"), Endpoint("b", "input")),),
        training=TrainingSettings(epochs=5),
    )


def test_sequence_layers_of_earlier_versions_keep_the_batch_second() -> None:
    nodes = {
        "default": {"type": "nn.LSTM", "params": {"hidden_size": 4}},
        "bare": {"type": "nn.GRU"},
        "first": {"type": "nn.RNN", "params": {"batch_first": True}},
        "cell": {"type": "nn.LSTMCell", "params": {"hidden_size": 4}},
    }
    migrated = loads(json.dumps({"gradwire": 2, "nodes": nodes, "wires": []})).nodes
    params = {name: node.params.get("batch_first") for name, node in migrated.items()}
    assert params == {"default": False, "bare": False, "first": True, "cell": None}
    assert loads(json.dumps({"gradwire": 3, "nodes": nodes, "wires": []})).nodes["bare"].params == {}


def test_all_types_that_process_sequences_are_migrated() -> None:
    assert {each.key for each in catalogue() if each.param("batch_first")} == SEQUENCE_TYPES


def test_migrating_leaves_the_input_alone() -> None:
    file = {"gradwire": 1, "nodes": {"a": {"position": [0, 0]}}, "wires": [["a", "b", "c", "d"]]}
    assert migrate(file)["gradwire"] == VERSION
    assert file == {"gradwire": 1, "nodes": {"a": {"position": [0, 0]}}, "wires": [["a", "b", "c", "d"]]}


def test_the_present_version_is_passed_on() -> None:
    assert migrate({"gradwire": VERSION, "x": 1}) == {"gradwire": VERSION, "x": 1}


@pytest.mark.parametrize(
    ("damage", "location", "problem"),
    [
        (('["a", "output", "b", "input"]', '["a", "output", "b"]'), "wires[0]", "must be a wire such as"),
        (('["a", "output", "b", "input"]', '["a", "output", 3, "input"]'), "wires[0]", "must be a wire such as"),
        (('[["a", "output", "b", "input"]]', "3"), "wires", "must be a list of wires, not 3"),
        (('"b": {"type": "nn.ReLU"}', '"b": 3'), "nodes.b", "must be an object, not 3"),
        (('"position": [8, 16]', '"position": [8, 16], "at": [0, 0]'), "nodes.a.position", "is not a known field"),
        (('"position": [8, 16]', '"position": "left"'), "nodes.a.at", 'must be a list, not "left"'),
        (('"b", "input"', '"ghost", "input"'), "wires[0]", 'the file has no node "ghost"'),
        (('{"type": "nn.ReLU"}', '{"type": ["nn.ReLU"]}'), "nodes.b.type", "must be"),
        (('"nodes"', '"knots"'), "nodes", "must be an object of nodes by name, not null"),
    ],
)
def test_damaged_files_of_version_1(damage: tuple[str, str], location: str, problem: str) -> None:
    with pytest.raises(FileError) as caught:
        loads(VERSION_1.replace(*damage))
    assert caught.value.location == location or "knots" in caught.value.location
    assert problem in caught.value.problem or "knots" in caught.value.location
