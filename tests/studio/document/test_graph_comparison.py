"""Comparison of projects by content: renames, wires, definitions, positions."""

from __future__ import annotations

from hypothesis import given

from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.graph_comparison import Value, compare
from studio.document.model import Block, Document, Endpoint, Node, Wire
from tests.studio.document.strategies import documents


def wire(source: str, target: str, port: str = "input") -> Wire:
    return Wire(Endpoint(source, "output"), Endpoint(target, port))


def network() -> Document:
    nodes = {"a": Node("nn.Linear", {"out_features": 8}), "b": Node("nn.ReLU"), "c": Node("nn.ReLU")}
    return Document(nodes, (wire("a", "b"), wire("b", "c")))


@given(documents())
def test_a_project_equals_itself_whatever_its_positions(document: Document) -> None:
    moved = edits.move(document, dict.fromkeys(document.nodes, (8.0, 16.0)))
    assert not compare(document, moved)


@given(documents(), documents())
def test_every_node_is_accounted_for(old: Document, new: Document) -> None:
    changes = compare(old, new).within("")
    before = {change.old for change in changes if change.old is not None}
    after = {change.new for change in changes if change.new is not None}
    assert before >= old.nodes.keys() - new.nodes.keys()
    assert after >= new.nodes.keys() - old.nodes.keys()
    assert [change for change in changes if change.kind == "added" and change.new in old.nodes] == []


def test_changed_added_and_removed_nodes() -> None:
    old = network()
    new = edits.add(edits.remove(edits.set_param(old, "a", "out_features", 9), ["c"]), "d", Node("nn.Tanh"))
    new = edits.connect(new, wire("b", "d"))
    found = {change.node: change for change in compare(old, new).changes}
    assert {name: change.kind for name, change in found.items()} == {"a": "changed", "c": "removed", "d": "added"}
    assert found["a"].values == (Value("out_features", 8, 9),)
    assert found["c"].wires_removed == (wire("b", "c"),)
    assert found["d"].wires_added == (wire("b", "d"),)
    assert str(found["a"]) == "a: changed\n  out_features: 8 → 9"


def test_a_renamed_node_keeps_its_wires() -> None:
    old = network()
    [change] = compare(old, edits.rename(old, "c", "last")).changes
    assert (change.kind, change.old, change.new, change.wires_added) == ("renamed", "c", "last", ())
    [change] = compare(old, edits.rename(old, "b", "middle")).changes
    assert (change.old, change.new) == ("b", "middle")


def test_a_rewired_node() -> None:
    old = network()
    new = edits.connect(edits.disconnect(old, [wire("b", "c")]), wire("a", "c"))
    [change] = compare(old, new).changes
    assert (change.node, change.kind) == ("c", "rewired")
    assert (change.wires_removed, change.wires_added) == ((wire("b", "c"),), (wire("a", "c"),))


def test_instances_are_marked_if_their_definition_differs() -> None:
    inner = Block({"fc": Node("nn.Linear", {"out_features": 4})})
    outer = Block({"part": Node("block.inner")})
    old = Document({"one": Node("block.outer"), "two": Node("nn.ReLU")}, blocks={"inner": inner, "outer": outer})
    new = edit_block(old, "inner", lambda graph: edits.set_param(graph, "fc", "out_features", 5))
    found = [(change.path, change.kind) for change in compare(old, new).changes]
    assert found == [("one", "block changed"), ("inner/fc", "changed"), ("outer/part", "block changed")]


def test_settings_and_definitions() -> None:
    old = Document(blocks={"gone": Block({"a": Node("nn.ReLU")})})
    new = edits.set_training(Document(blocks={"more": Block({"a": Node("nn.ReLU")})}), epochs=3)
    comparison = compare(old, new)
    assert (comparison.blocks_removed, comparison.blocks_added) == (("gone",), ("more",))
    assert [str(value) for value in comparison.training] == ["epochs: 10 → 3"]
