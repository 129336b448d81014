from __future__ import annotations

from itertools import pairwise

from studio.document import edits
from studio.document.document_difference import Difference, difference, reuse_equal_objects
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire


def chain(length: int) -> Document:
    names = [f"node_{index}" for index in range(length)]
    return Document(
        nodes={name: Node("nn.ReLU") for name in names},
        wires=tuple(sorted(Wire(Endpoint(a, "output"), Endpoint(b, "input")) for a, b in pairwise(names))),
    )


def test_nothing_changed() -> None:
    document = chain(3)
    assert difference(document, document) == Difference()
    assert not difference(document, document)


def test_each_kind_of_change() -> None:
    old = chain(4)
    new = edits.remove(old, ["node_3"])
    new = edits.add(new, "extra", Node("nn.GELU"))
    new = edits.move(new, {"node_0": (8, 8)})
    new = edits.connect(new, Wire(Endpoint("node_2", "output"), Endpoint("extra", "input")))
    new = edits.set_training(new, epochs=3)
    new = edits.set_description(new, "words")
    assert difference(old, new) == Difference(
        removed=("node_3",),
        added={"extra": new.nodes["extra"]},
        changed={"node_0": new.nodes["node_0"]},
        wires_removed=(Wire(Endpoint("node_2", "output"), Endpoint("node_3", "input")),),
        wires_added=(Wire(Endpoint("node_2", "output"), Endpoint("extra", "input")),),
        training=TrainingSettings(epochs=3),
        description="words",
    )


def test_a_rename_is_recognized() -> None:
    old = chain(3)
    new = edits.rename(old, "node_1", "middle")
    found = difference(old, new)
    assert found.renamed == {"node_1": "middle"}
    assert (found.removed, found.added, found.changed) == ((), {}, {})
    assert len(found.wires_removed) == len(found.wires_added) == 2


def test_names_that_swap_are_changes() -> None:
    old = edits.move(chain(2), {"node_0": (8, 8)})
    new = edits.rename(edits.rename(edits.rename(old, "node_0", "x"), "node_1", "node_0"), "x", "node_1")
    found = difference(old, new)
    assert set(found.changed) == {"node_0", "node_1"}
    assert found.apply(old) == new


def test_one_node_object_under_two_names_renames_once() -> None:
    node = Node("nn.ReLU")
    found = difference(Document({"a": node, "b": node}), Document({"c": node}))
    assert found.renamed == {"a": "c"}
    assert found.removed == ("b",)


def test_wires_that_were_made_again_are_the_same() -> None:
    old = chain(3)
    again = Document(old.nodes, tuple(Wire(wire.source, wire.target) for wire in old.wires))
    assert not difference(old, again)


def test_nodes_are_compared_by_identity_so_that_large_graphs_take_no_time() -> None:
    old = chain(3)
    copied = Document({**old.nodes, "node_1": Node("nn.ReLU")}, old.wires)
    assert copied == old
    assert difference(old, copied).changed == {"node_1": copied.nodes["node_1"]}
    assert not difference(old, reuse_equal_objects(old, copied))
