"""Frames, comments and reroute points: edits, files, clipboard, blocks."""

from __future__ import annotations

import math

import pytest

from studio.document import edits, frames, node_clipboard, wire_routes
from studio.document.blocks import block_edits, block_nodes
from studio.document.blocks.block_grouping import group, unpack
from studio.document.document_errors import EditError, FileError
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Endpoint, Frame, Node, Wire

FRAMED = """{
  "gradwire": 3,
  "nodes": {
    "a": {
      "type": "nn.Linear"
    },
    "b": {
      "type": "nn.ReLU",
      "at": [200, 0]
    },
    "c": {
      "type": "nn.ReLU",
      "at": [400, 0]
    }
  },
  "wires": [
    "a.output -> b.input",
    "b.output -> c.input"
  ],
  "routes": {
    "b.input": [[150, 40]],
    "c.input": [[300, 40], [320, 80.5]]
  },
  "frames": {
    "note": {
      "text": "Try GELU",
      "at": [0, 500]
    },
    "pair": {
      "title": "Pair",
      "color": "blue",
      "at": [-8, -32],
      "size": [400, 120]
    }
  }
}
"""


@pytest.fixture
def document() -> Document:
    return loads(FRAMED)


def end(text: str) -> Endpoint:
    return Endpoint(*text.split("."))


def test_files_have_a_line_per_field_and_per_wire(document: Document) -> None:
    assert dumps(document) == FRAMED
    assert document.frames["pair"] == Frame("Pair", "", "blue", (-8, -32), (400, 120))
    assert document.routes[end("c.input")] == ((300, 40), (320, 80.5))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"blue"', '"plaid"', "frames.pair.color: must be one of 'gray', 'blue'"),
        ("[400, 120]", "[400, 8]", "must be a number ≥ 32, not 8"),
        ('"c.input":', '"a.input":', 'routes["a.input"]: is not an input with a wire'),
        ("[[150, 40]]", "[]", 'routes["b.input"]: has no points'),
        ("[[150, 40]]", "[[150]]", "must have 2 values, not 1"),
        ('"pair":', '"a pair":', "the name"),
    ],
)
def test_damage_is_located(old: str, new: str, message: str) -> None:
    with pytest.raises(FileError) as error:
        loads(FRAMED.replace(old, new))
    assert message in str(error.value)


def test_a_frame_contains_the_nodes_whose_corner_is_in_it(document: Document) -> None:
    assert frames.nodes_in(document, document.frames["pair"]) == ["a", "b"]
    assert list(frames.frames_of(document, ["a", "b"])) == ["pair"]
    assert list(frames.frames_of(document, ["a", "c"])) == []
    assert list(frames.frames_of(document, ["c"])) == []


@pytest.mark.parametrize("fields", [{"color": "plaid"}, {"size": (1, 100)}, {"at": (math.nan, 0)}, {"title": "\ud800"}])
def test_invalid_fields_are_refused(document: Document, fields: dict[str, object]) -> None:
    with pytest.raises(EditError, match="'pair'"):
        frames.change_frame(document, "pair", **fields)


def test_routes_follow_their_wires(document: Document) -> None:
    assert edits.rename(document, "c", "d").routes.keys() == {end("b.input"), end("d.input")}
    assert edits.disconnect(document, [document.wires[0]]).routes.keys() == {end("c.input")}
    assert edits.remove(document, ["b"]).routes == {}
    reconnected = edits.connect(document, Wire(end("a.output"), end("c.input")))
    assert reconnected.routes.keys() == {end("b.input")}
    with pytest.raises(EditError, match="has no wire"):
        wire_routes.set_route(document, end("a.input"), [(0, 0)])
    assert wire_routes.set_route(document, end("b.input"), ()).routes.keys() == {end("c.input")}


def test_copies_have_the_frames_and_routes_of_their_nodes(document: Document) -> None:
    text = node_clipboard.copy(document, ["a", "b"])
    pasted, names = node_clipboard.paste(document, text, (992, 968))
    assert names == ("a_2", "b_2")
    assert pasted.frames["pair_2"] == Frame("Pair", "", "blue", (992, 968), (400, 120))
    assert pasted.routes[end("b_2.input")] == ((1150, 1040),)
    only, names = node_clipboard.paste(document, node_clipboard.copy(document, (), ["note"]), (0, 0))
    assert (names, only.frames["note_2"].text) == ((), "Try GELU")


def test_a_frame_moves_into_the_block_of_its_nodes_and_back(document: Document) -> None:
    grouped, instance = group(document, ["a", "b"], "pair")
    assert list(grouped.frames) == ["note"]
    assert grouped.routes == {}
    assert grouped.blocks["pair"].frames == {"pair": document.frames["pair"]}
    assert grouped.blocks["pair"].routes == {end("b.input"): ((150, 40),)}
    assert loads(dumps(grouped)) == grouped
    unpacked, _ = unpack(grouped, instance)
    shift = unpacked.nodes["a"].at[0] - document.nodes["a"].at[0]
    assert unpacked.frames["pair"].at == (shift - 8, -32)
    assert unpacked.routes == {end("b.input"): ((150 + shift, 40),)}


def test_copies_of_a_repeated_instance_have_a_frame_each(document: Document) -> None:
    grouped, instance = group(document, ["a", "b"], "pair")
    unpacked, _ = unpack(edits.set_param(grouped, instance, block_nodes.REPEAT, 3), instance)
    assert [name for name in unpacked.frames if name != "note"] == ["pair", "pair_2", "pair_3"]
    assert len({frame.at for frame in unpacked.frames.values()}) == 4
    assert unpacked.routes.keys() == {end("b.input"), end("b_2.input"), end("b_3.input")}


def test_edits_inside_a_block_keep_its_frames_and_routes(document: Document) -> None:
    grouped, _ = group(document, ["a", "b"], "pair")
    edited = block_edits.edit_block(grouped, "pair", lambda view: edits.rename(view, "b", "act"))
    assert edited.blocks["pair"].routes == {end("act.input"): ((150, 40),)}
    moved = block_edits.edit_block(grouped, "pair", lambda view: frames.change_frame(view, "pair", at=(0, 0)))
    assert moved.blocks["pair"].frames["pair"].at == (0, 0)
    nested, _ = group(edited, ["a"], "alone", inside="pair")
    assert nested.blocks["pair"].frames.keys() == {"pair"}
    assert nested.blocks["pair"].routes == {}


def test_wires_of_removed_ports_lose_their_routes() -> None:
    document = Document({"a": Node("nn.Linear"), "b": Node("nn.ReLU")}, (Wire(end("a.output"), end("b.input")),))
    grouped, instance = group(document, ["b"], "act")
    port = grouped.wires[0].target.port
    routed = wire_routes.set_route(grouped, Endpoint(instance, port), [(1, 2)])
    renamed = block_edits.edit_block(routed, "act", lambda view: edits.rename(view, port, "x"))
    assert renamed.routes == {Endpoint(instance, "x"): ((1, 2),)}
    assert block_edits.edit_block(routed, "act", lambda view: edits.remove(view, [port])).routes == {}
