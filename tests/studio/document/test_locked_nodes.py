"""Edits of locked nodes are refused; all other edits pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from studio.document import edits
from studio.document.blocks.block_edits import edit_graph
from studio.document.document_errors import EditError
from studio.document.files.project_templates import template
from studio.document.locked_nodes import check_locked
from studio.document.model import Document, Endpoint, Node, Wire

LOCKED = ("digits", "scale", "batches", "hidden")
Edit = Callable[[Document], Document]


def wire(text: str) -> Wire:
    source, target = (Endpoint(*end.split(".")) for end in text.split(" -> "))
    return Wire(source, target)


REFUSED: dict[str, Edit] = {
    "parameter": lambda d: edits.set_param(d, "hidden", "out_features", 8),
    "reset": lambda d: edits.clear_param(d, "hidden", "out_features"),
    "mute": lambda d: edits.set_flag(d, ["hidden"], muted=True),
    "freeze": lambda d: edits.set_flag(d, ["hidden"], frozen=True),
    "type": lambda d: edits.retype(d, "hidden", "nn.ReLU", {}),
    "remove": lambda d: edits.remove(d, ["relu", "hidden"]),
    "rename": lambda d: edits.rename(d, "hidden", "encoder"),
    "wire between locked nodes": lambda d: edits.disconnect(d, [wire("digits.samples -> scale.samples")]),
    "everything": lambda _: Document(),
}
ALLOWED: dict[str, Edit] = {
    "move": lambda d: edits.move(d, {"hidden": (8.0, 8.0)}),
    "note": lambda d: edits.set_note(d, "hidden", "64 inputs"),
    "collapse": lambda d: edits.set_flag(d, ["hidden"], collapsed=True),
    "other parameter": lambda d: edits.set_param(d, "logits", "out_features", 8),
    "other node": lambda d: edits.remove(d, ["relu"]),
    "wire to another node": lambda d: edits.disconnect(d, [wire("hidden.output -> relu.input")]),
    "new node": lambda d: edits.add(d, "more", Node("nn.ReLU")),
    "training": lambda d: edits.set_training(d, epochs=2),
}


@pytest.fixture
def document() -> Document:
    return template("digits-mlp").document


@pytest.mark.parametrize("name", REFUSED)
def test_edits_of_locked_nodes_are_refused(document: Document, name: str) -> None:
    new = REFUSED[name](document)
    check_locked(document, new, ())
    with pytest.raises(EditError, match=r"locked in this lesson.* Change "):
        check_locked(document, new, LOCKED)


@pytest.mark.parametrize("name", ALLOWED)
def test_other_edits_pass(document: Document, name: str) -> None:
    new = ALLOWED[name](document)
    assert new != document
    check_locked(document, new, LOCKED)


def test_nodes_inside_blocks_are_locked_by_their_path() -> None:
    document = template("digits-resnet18").document
    instance = next(name for name, node in document.nodes.items() if node.type.startswith("block."))
    block = document.nodes[instance].type.removeprefix("block.")
    layer = next(
        name for name, node in document.blocks[block].nodes.items() if not node.type.startswith(("port.", "block."))
    )
    new = edit_graph(document, block=block, edit=lambda graph: edits.set_flag(graph, [layer], muted=True))
    check_locked(document, new, ["digits"])
    for locked in (f"{instance}.{layer}", f"{instance}.0.{layer}", instance):
        with pytest.raises(EditError, match="locked"):
            check_locked(document, new, [locked])


def test_a_locked_node_that_is_already_gone_refuses_nothing(document: Document) -> None:
    check_locked(document, replace(document, description="x"), ["unknown", "unknown.inner"])
