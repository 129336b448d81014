from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from studio.document import edits, frames, node_clipboard
from studio.document.blocks import block_nodes
from studio.document.document_errors import EditError
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Endpoint, Node, Wire
from tests.studio.document.strategies import documents


def wire(source: str, target: str) -> Wire:
    return Wire(Endpoint(source, "output"), Endpoint(target, "input"))


@pytest.fixture
def document() -> Document:
    """a → b → c, and b2 beside them"""
    nodes = {name: Node(f"nn.{name.upper()}", at=(100.0 * index, 50)) for index, name in enumerate("abc")}
    return Document({**nodes, "b_2": Node("nn.B2")}, (wire("a", "b"), wire("b", "c")))


def test_nodes_with_their_wires_under_fresh_names(document: Document) -> None:
    new, names = node_clipboard.paste(document, node_clipboard.copy(document, ["c", "b"]), (0, 0))
    assert names == ("b_3", "c_2")
    assert list(new.nodes) == ["a", "b", "c", "b_2", "b_3", "c_2"]
    assert new.wires == (wire("a", "b"), wire("b", "c"), wire("b_3", "c_2"))
    assert new.nodes["a"] is document.nodes["a"]


def test_places_are_relative(document: Document) -> None:
    new, _ = node_clipboard.paste(document, node_clipboard.copy(document, ["b", "c"]), (-8, 16))
    assert new.nodes["b_3"].at == (-8, 16)
    assert new.nodes["c_2"].at == (92, 16)


def test_with_the_wires_into_them(document: Document) -> None:
    text = node_clipboard.copy(document, ["b"])
    new, _ = node_clipboard.paste(document, text, (0, 0), with_inputs=True)
    assert wire("a", "b_3") in new.wires
    without, _ = node_clipboard.paste(document, text, (0, 0))
    assert without.wires == document.wires
    elsewhere, _ = node_clipboard.paste(Document(), text, (0, 0), with_inputs=True)
    assert elsewhere.wires == ()


def test_into_an_empty_document_names_stay(document: Document) -> None:
    new, names = node_clipboard.paste(Document(), node_clipboard.copy(document, ["b_2", "a"]), (0, 0))
    assert names == ("a", "b_2")
    assert new.nodes["a"].type == "nn.A"


def test_a_whole_project_can_be_pasted(document: Document) -> None:
    new, names = node_clipboard.paste(Document(), dumps(document), (0, 0))
    assert names == tuple(document.nodes)
    assert new.wires == document.wires
    assert new.training == Document().training


def test_nodes_of_an_earlier_format() -> None:
    text = '{"gradwire": 1, "nodes": {"a": {"type": "nn.ReLU", "position": [8, 8]}}, "wires": []}'
    new, _ = node_clipboard.paste(Document(), text, (0, 0))
    assert new.nodes["a"] == Node("nn.ReLU")


def test_unknown_types_and_all_fields_survive() -> None:
    node = Node("gone.Unknown", {"x": [1.5]}, (0, 0), muted=True, frozen=True, collapsed=True, note="é")
    document = Document({"a": node})
    assert node_clipboard.paste(document, node_clipboard.copy(document, ["a"]), (0, 0))[0].nodes["a_2"] == node


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("https://example.org", "line 1, column 1 is not JSON"),
        ('{"name": "x"}', "is not a Gradwire project"),
        ("[1]", "expected an object, got [1]"),
        ("[" * 10_000, "nested"),
        ('{"gradwire": 9}', "newer Gradwire"),
        ('{"gradwire": 2, "nodes": {"a": {}}, "wires": []}', 'nodes.a has no field "type"'),
        ('{"gradwire": 2, "nodes": {"a": {"type": "x"}}, "wires": [], "inputs": 3}', "inputs must be a list of wires"),
        ('{"gradwire": 2, "nodes": {"a": {"type": "x"}}, "wires": [], "inputs": ["a"]}', "inputs[0] must be a wire"),
    ],
)
def test_foreign_text_is_refused(document: Document, text: str, reason: str) -> None:
    with pytest.raises(EditError) as caught:
        node_clipboard.paste(document, text, (0, 0))
    assert str(caught.value).startswith("The clipboard contains no Gradwire nodes: ")
    assert str(caught.value).endswith(". Copy nodes first.")
    assert reason in str(caught.value)


def test_a_project_without_nodes_is_refused(document: Document) -> None:
    with pytest.raises(EditError, match="The project on the clipboard has no nodes"):
        node_clipboard.paste(document, dumps(Document()), (0, 0))


def test_inputs_that_make_no_sense_are_left_out(document: Document) -> None:
    content = json.loads(node_clipboard.copy(document, ["a", "b"]))
    content["inputs"] = ["c.output -> b.input", "c.output -> ghost.input", "ghost.output -> a.input"]
    new, _ = node_clipboard.paste(document, json.dumps(content), (0, 0), with_inputs=True)
    assert len(new.wires) == 3


def test_nothing_to_copy(document: Document) -> None:
    with pytest.raises(EditError, match="Nothing is selected"):
        node_clipboard.copy(document, [])
    with pytest.raises(EditError, match="The project has no node 'ghost'"):
        node_clipboard.copy(document, ["a", "ghost"])


def test_too_far_away(document: Document) -> None:
    with pytest.raises(EditError, match="cannot be at"):
        node_clipboard.paste(document, node_clipboard.copy(document, ["a"]), (1e9, 0))


def without_sharing(document: Document) -> Document:
    """With separate weights only: what pasting does to shared ones is tested with them."""
    return replace(document, nodes={name: replace(node, shares="") for name, node in document.nodes.items()})


@given(documents(), documents(), st.data(), st.booleans())
def test_pasting_adds_copies_and_leaves_the_rest(
    source: Document, target: Document, data: st.DataObject, with_inputs: bool
) -> None:
    assume(source.nodes)
    source, target = without_sharing(source), without_sharing(target)
    # Positions with exact sums.
    source = edits.move(source, {name: (8.0 * index, -8.0 * index) for index, name in enumerate(source.nodes)})
    chosen = data.draw(st.sets(st.sampled_from(list(source.nodes)), min_size=1))
    new, names = node_clipboard.paste(target, node_clipboard.copy(source, chosen), (0, 0), with_inputs)
    assert len(names) == len(chosen)
    added = frames.remove_frames(edits.remove(new, names), new.frames.keys() - target.frames.keys())
    assert replace(added, blocks=target.blocks) == target
    assert all(new.blocks[name] is block for name, block in target.blocks.items())
    for old, copied in zip((name for name in source.nodes if name in chosen), names, strict=True):
        pasted, moved = new.nodes[copied], edits.move(source, {old: new.nodes[copied].at}).nodes[old]
        assert replace(pasted, type=moved.type) == moved
        assert pasted.type == moved.type or block_nodes.name_of(moved) in target.blocks
        if (used := block_nodes.name_of(moved)) in source.blocks:
            assert block_nodes.name_of(pasted) in new.blocks, f"the definition of {used} comes along"
    assert loads(dumps(new)) == new


def test_thousands_of_nodes_do_not_take_quadratic_time() -> None:
    document = Document({"node": Node("nn.ReLU"), **{f"node_{index}": Node("nn.ReLU") for index in range(2, 5001)}})
    new, names = node_clipboard.paste(document, node_clipboard.copy(document, document.nodes), (0, 0))
    assert names[0] == "node_5001"
    assert len(new.nodes) == 10_000
