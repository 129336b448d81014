"""Paths, locations and edits of nodes inside blocks."""

from __future__ import annotations

import pytest

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import promote
from studio.document.blocks.block_expansion import Expansion
from studio.document.blocks.block_grouping import group
from studio.document.blocks.block_locations import (
    UNSET,
    Renaming,
    Step,
    all_nodes,
    block_at,
    canonical_paths,
    changed_location,
    copy_count,
    first_paths,
    locate,
    nearest,
    prefix_of,
    value_at,
)
from studio.document.document_errors import EditError
from studio.document.edits import rename
from studio.document.located_edits import clear_param_at, set_param_at
from studio.document.model import Document, Endpoint, Node, ParamRef, Wire

INNER = (Step("outer", 1), Step("inner"))


def nested() -> Document:
    """Two layers: `a` in `outer`, which has two copies, and `b` in `inner` inside it."""
    wire = Wire(Endpoint("a", "output"), Endpoint("b", "input"))
    document = Document({"a": Node("nn.Linear"), "b": Node("nn.Linear", {"out_features": 3})}, (wire,))
    document, _ = group(document, ["a", "b"], "outer")
    document, _ = group(document, ["b"], "inner", inside="outer")
    document = promote(document, "inner", ParamRef("b", "out_features"), "width")
    document = promote(document, "outer", ParamRef("inner", "width"), "size")
    document = edits.set_param(document, "outer", block_nodes.REPEAT, 2)
    return edits.add(document, "second", Node("block.outer"))


def test_paths_are_those_of_the_expansion() -> None:
    document = nested()
    expansion = Expansion(document)
    assert block_at(document, INNER) == "inner" and prefix_of(document, INNER) == "outer.1.inner."
    assert copy_count(document, INNER) == 1 and copy_count(document, INNER[:1]) == 2
    for path in expansion.flat.nodes:
        location, name = locate(document, path)
        assert prefix_of(document, location) + name == path
    assert first_paths(document, expansion.flat.nodes) == {"outer.a", "outer.inner.b"}
    assert first_paths(document, ["second.a", "second", "gone"]) == {"outer.a", "second", "gone"}
    assert list(canonical_paths(document, ["outer.inner.b", "outer.2.a", "gone", "second.a"])) == [
        "outer.0.inner.b",
        "second.a",
    ]
    assert nearest(document, "outer.1.gone.x") == ((), "outer")
    listed = [path for path, node in all_nodes(document) if node.type == "nn.Linear"]
    assert listed == ["outer.0.a", "second.a", "outer.0.inner.b", "second.inner.b"]


@pytest.mark.parametrize("path", ["x", "outer.x", "outer.5.a", "a.b", "outer.0", ""])
def test_unknown_paths_are_refused(path: str) -> None:
    with pytest.raises(KeyError):
        locate(nested(), path)
    with pytest.raises(EditError):
        set_param_at(nested(), path, "out_features", 1)


def test_values_come_from_the_outermost_instance_that_sets_them() -> None:
    document = nested()
    assert value_at(document, INNER, "b", "out_features") == 3
    document = edits.set_param(document, "outer", "size", {"each": [8, 16]})
    assert value_at(document, INNER, "b", "out_features") == 16
    assert value_at(document, INNER[:1], "inner", "width") == 16
    assert value_at(document, INNER, "b", "bias") is UNSET


def test_values_are_set_and_cleared_where_they_come_from() -> None:
    document = set_param_at(nested(), "outer.1.inner.b", "out_features", 5)
    assert document.nodes["outer"].params["size"] == 5
    document = edits.set_param(document, "outer", "size", {"each": [8, 16]})
    document = set_param_at(document, "outer.1.inner.b", "out_features", 5)
    assert document.nodes["outer"].params["size"] == {"each": [8, 5]}
    document = set_param_at(document, "outer.1.inner.b", "bias", False)
    assert document.blocks["inner"].nodes["b"].params == {"out_features": 3, "bias": False}
    document = clear_param_at(document, "outer.0.inner.b", "out_features")
    assert "size" not in document.nodes["outer"].params
    document = clear_param_at(document, "outer.0.inner.b", "out_features")
    assert "out_features" not in document.blocks["inner"].nodes["b"].params


def test_locations_and_paths_follow_names_and_end_where_an_instance_is_gone() -> None:
    old = nested()
    renaming = Renaming(old, rename(old, "outer", "encoder"))
    assert renaming.location(INNER) == (Step("encoder", 1), Step("inner"))
    assert renaming.path("outer.1.inner.b") == "encoder.1.inner.b"
    fewer = Renaming(old, edits.set_param(old, "outer", block_nodes.REPEAT, 1))
    assert fewer.location(INNER) == (Step("outer", 0), Step("inner"))
    gone = Renaming(old, edits.remove(old, ["outer"]))
    assert gone.location(INNER) == () and gone.path("outer.1.a") is None


def test_a_change_is_found_where_it_is_to_be_seen() -> None:
    old = nested()
    new = set_param_at(old, "outer.1.inner.b", "bias", False)
    assert changed_location(old, new, INNER) is None
    assert changed_location(old, new, ()) == (Step("outer"), Step("inner"))
    assert changed_location(old, new, (), [(Step("second"), Step("inner"))]) == (Step("second"), Step("inner"))
    moved = edits.move(old, {"outer": (80, 0)})
    assert changed_location(old, moved, INNER) == ()
    value = set_param_at(old, "outer.1.inner.b", "out_features", 9)
    assert changed_location(old, value, INNER) is None  # the value is shown inside, too
    assert changed_location(old, edits.set_description(old, "x"), INNER) is None
