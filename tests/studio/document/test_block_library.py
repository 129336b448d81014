"""Blocks of libraries: files, inserting, comparing and updating."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from msgspec.structs import replace

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_digest import block_digest
from studio.document.blocks.block_edits import edit_block, rename_block
from studio.document.blocks.block_library import UserLibrary, block_document, library_folder, read_block, shipped_blocks
from studio.document.blocks.library_copies import CopyState, copy_state, find_origin, insert, linked, update
from studio.document.document_errors import EditError, FileError
from studio.document.files.project_files import save
from studio.document.files.project_format import dumps, loads
from studio.document.model import Block, BlockOrigin, Document, Endpoint, Node, ParamRef, Wire
from tests.studio.document.strategies import documents


def wire(text: str) -> Wire:
    (a, b), (c, d) = (end.split(".") for end in text.split(" -> "))
    return Wire(Endpoint(a, b), Endpoint(c, d))


def graph(*types: str, **more: Node) -> Block:
    """input → the types in a row → output."""
    names = ["input", *(f"n{index}" for index in range(len(types))), "output"]
    kinds = [block_nodes.INPUT, *types, block_nodes.OUTPUT]
    outputs = [block_nodes.GIVEN, *("output" for _ in types)]
    wires = [wire(f"{a}.{port} -> {b}.input") for a, b, port in zip(names, names[1:], outputs, strict=False)]
    return Block({**{name: Node(kind) for name, kind in zip(names, kinds, strict=True)}, **more}, tuple(sorted(wires)))


INNER = graph("nn.Linear", "nn.ReLU")
OUTER = replace(graph("block.inner", "nn.Dropout"), params={"p": (ParamRef("n1", "p"),)}, description="Outer.")
DOCUMENT = Document(
    {"a": Node("nn.Flatten"), "outer": Node("block.outer", {"p": 0.5}), "b": Node("nn.ReLU")},
    (wire("a.output -> outer.input"), wire("outer.output -> b.input")),
    blocks={"inner": INNER, "outer": OUTER},
)


@pytest.fixture
def library(tmp_path: Path) -> UserLibrary:
    return UserLibrary(tmp_path / "blocks")


def test_shipped_blocks_are_found() -> None:
    assert "conv_bn_relu" in [each.name for each in shipped_blocks()]


def test_the_folder_is_the_users_unless_a_variable_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWIRE_LIBRARY", str(tmp_path))
    assert (library_folder(), UserLibrary().folder) == (tmp_path, tmp_path)
    monkeypatch.delenv("GRADWIRE_LIBRARY")
    assert library_folder().name == "blocks"


def test_a_folder_that_does_not_exist_is_empty(library: UserLibrary) -> None:
    assert (library.blocks(), library.problems()) == ((), ())


def test_a_saved_block_is_inserted_into_another_project(library: UserLibrary) -> None:
    saved = library.save(DOCUMENT, "outer")
    [found] = library.blocks()
    assert found == saved
    assert list(found.definitions) == ["outer", "inner"]
    assert found.document.nodes == {"outer": Node("block.outer")}
    document, instance = insert(Document(), found, at=(8.0, 16.0))
    assert document.nodes == {instance: Node("block.outer", at=(8.0, 16.0))}
    assert document.blocks == {"outer": replace(OUTER, origin=found.origin), "inner": INNER}
    again, second = insert(document, found)
    assert again.blocks == document.blocks
    assert second == "outer_2"


def test_a_saved_block_can_have_another_name(library: UserLibrary) -> None:
    assert library.save(DOCUMENT, "outer", "mine").name == "mine"
    with pytest.raises(EditError, match="already a block 'inner'"):
        library.save(DOCUMENT, "outer", "inner")
    with pytest.raises(EditError, match="identifier"):
        library.save(DOCUMENT, "outer", "../mine")


def test_definitions_with_the_name_of_another_one_get_new_names(library: UserLibrary) -> None:
    entry = library.save(DOCUMENT, "outer")
    document, instance = insert(Document(blocks={"inner": graph("nn.GELU"), "outer": Block()}), entry)
    name = block_nodes.name_of(document.nodes[instance])
    assert name == "outer_2"
    assert list(document.blocks) == ["inner", "outer", "outer_2", "inner_2"]
    assert block_digest(document.blocks, name) == entry.digest


def test_definitions_of_a_library_and_of_the_project_are_shared_if_they_are_equal(library: UserLibrary) -> None:
    inner, outer = library.save(DOCUMENT, "inner"), library.save(DOCUMENT, "outer")
    document, _ = insert(insert(Document(), inner)[0], outer)
    assert list(document.blocks) == ["inner", "outer"]


@given(documents())
def test_the_digest_ignores_names_of_definitions_positions_and_origins(document: Document) -> None:
    assume("same" in document.blocks)
    digest = block_digest(document.blocks, "same")
    assert block_digest(rename_block(document, "same", "renamed").blocks, "renamed") == digest
    block = document.blocks["same"]
    moved = {name: replace(node, at=(1.0, 2.0), collapsed=not node.collapsed) for name, node in block.nodes.items()}
    changed = replace(block, nodes=moved, origin=BlockOrigin("user", "x", "y"))
    assert block_digest({**document.blocks, "same": changed}, "same") == digest
    described = replace(block, description=block.description + "!")
    assert block_digest({**document.blocks, "same": described}, "same") != digest


def test_the_digest_depends_on_inner_definitions() -> None:
    other = {**DOCUMENT.blocks, "inner": graph("nn.Linear", "nn.GELU")}
    assert block_digest(other, "outer") != block_digest(DOCUMENT.blocks, "outer")


def test_a_copy_is_compared_with_its_library(library: UserLibrary) -> None:
    entry = library.save(DOCUMENT, "outer")
    document = linked(DOCUMENT, "outer", entry)
    assert copy_state(DOCUMENT, "outer", [entry]) is None
    assert copy_state(document, "outer", [entry]) is CopyState.EQUAL
    assert copy_state(document, "outer", []) is CopyState.MISSING
    edited = edit_block(document, "outer", lambda view: edits.set_param(view, "n1", "p", 0.1))
    assert copy_state(edited, "outer", [entry]) is CopyState.MODIFIED
    inner = edit_block(document, "inner", lambda view: edits.set_param(view, "n0", "bias", False))
    assert copy_state(inner, "outer", [entry]) is CopyState.MODIFIED
    newer = library.save(edit_block(DOCUMENT, "outer", lambda view: edits.set_param(view, "n1", "p", 0.9)), "outer")
    assert copy_state(document, "outer", [newer]) is CopyState.OUTDATED
    assert copy_state(edited, "outer", [newer]) is CopyState.DIVERGED
    assert find_origin(document.blocks["outer"], [newer]) is newer
    assert loads(dumps(document)) == document


def test_an_update_keeps_wires_and_parameters_that_exist_and_names_the_others(library: UserLibrary) -> None:
    document = linked(DOCUMENT, "outer", library.save(DOCUMENT, "outer"))
    changed = edit_block(DOCUMENT, "outer", lambda view: edits.rename(view, "output", "result"))
    changed = edit_block(changed, "outer", lambda view: edits.remove(view, ["n1"]))
    newer = library.save(edit_block(changed, "inner", lambda v: edits.retype(v, "n1", "nn.GELU", {})), "outer")
    updated = update(document, "outer", newer)
    assert updated.changes == (
        "adds output result", "removes output output", "removes parameter p", "removes node n1", "changes wires",
    )  # fmt: skip
    assert updated.losses == ("wire outer.output -> b.input", "outer.p = 0.5")
    assert updated.document.wires == (wire("a.output -> outer.input"),)
    assert updated.document.nodes["outer"] == Node("block.outer")
    assert list(updated.document.blocks) == ["inner", "outer"]
    assert copy_state(updated.document, "outer", [newer]) is CopyState.EQUAL


def test_an_update_leaves_inner_definitions_that_are_used_elsewhere(library: UserLibrary) -> None:
    used = replace(DOCUMENT, nodes={**DOCUMENT.nodes, "more": Node("block.inner")})
    newer = library.save(edit_block(used, "inner", lambda v: edits.retype(v, "n1", "nn.GELU", {})), "outer")
    updated = update(used, "outer", newer)
    assert list(updated.document.blocks) == ["inner", "outer", "inner_2"]
    assert updated.document.blocks["inner"] == INNER
    assert updated.losses == ()
    assert copy_state(updated.document, "outer", [newer]) is CopyState.EQUAL


def test_an_update_under_another_name_does_not_meet_the_library_s_name(library: UserLibrary) -> None:
    entry = library.save(DOCUMENT, "outer")
    renamed = rename_block(linked(DOCUMENT, "outer", entry), "outer", "mine")
    renamed = replace(renamed, blocks={**renamed.blocks, "outer": graph("nn.Tanh")})
    newer = library.save(edit_block(DOCUMENT, "inner", lambda v: edits.retype(v, "n1", "nn.GELU", {})), "outer")
    updated = update(renamed, "mine", newer).document
    assert updated.blocks["outer"] == graph("nn.Tanh")
    assert copy_state(updated, "mine", [newer]) is CopyState.EQUAL
    assert updated.nodes == renamed.nodes


def test_unreadable_files_are_named_and_skipped(library: UserLibrary) -> None:
    library.save(DOCUMENT, "outer")
    save(DOCUMENT, library.path("other"))
    save(Document(blocks={"loop": graph("block.loop")}), library.path("loop"))
    save(Document(blocks={"part": graph("block.gone")}), library.path("part"))
    library.path("damaged").write_bytes(b"{")
    library.path("binary").write_bytes(b"\xff\xfe")
    library.path("folder").mkdir()
    (library.folder / "notes.txt").write_text("no block")
    assert [each.name for each in library.blocks()] == ["outer"]
    messages = [str(each) for each in library.problems()]
    for name, text in {
        "other": "has no block 'other'", "loop": "contains itself", "part": "uses the block 'gone'",
        "damaged": "line 1", "binary": "UTF-16", "folder": "folder",
    }.items():  # fmt: skip
        assert any(f"{name}.gradwire" in message and text in message for message in messages), (name, messages)
    assert len(messages) == 6


def test_changed_files_are_read_again(library: UserLibrary) -> None:
    first = library.save(DOCUMENT, "outer")
    assert library.find("outer") == first
    assert library.find("outer") is library.find("outer")
    library.save(edit_block(DOCUMENT, "outer", lambda view: edits.set_param(view, "n1", "p", 0.25)), "outer")
    os.utime(library.path("outer"), ns=(1, 1))
    found = library.find("outer")
    assert found is not None
    assert found.digest != first.digest


def test_blocks_are_renamed_removed_and_restored(library: UserLibrary) -> None:
    digest = library.save(DOCUMENT, "outer").digest
    library.save(DOCUMENT, "inner")
    assert library.rename("outer", "mine").digest == digest
    with pytest.raises(FileError, match="exists already"):
        library.rename("mine", "inner")
    content = library.content("mine")
    library.restore("mine", None)
    assert [each.name for each in library.blocks()] == ["inner"]
    assert library.content("mine") is None
    library.restore("mine", content)
    assert library.find("mine") is not None


def test_a_file_is_imported_under_the_name_of_its_outermost_block(library: UserLibrary, tmp_path: Path) -> None:
    path = tmp_path / "from a friend.gradwire"
    save(DOCUMENT, path)
    assert library.import_file(path).name == "outer"
    assert read_block(library.path("outer"), "user").definitions == {"outer": OUTER, "inner": INNER}
    save(replace(DOCUMENT, blocks={**DOCUMENT.blocks, "third": INNER}), path)
    with pytest.raises(FileError, match="Name the file after one of its blocks: inner, outer, third"):
        library.import_file(path)


def test_the_project_of_a_block_has_no_origin() -> None:
    document = replace(
        DOCUMENT, blocks={**DOCUMENT.blocks, "outer": replace(OUTER, origin=BlockOrigin("user", "x", ""))}
    )
    assert block_document(document, "outer", "outer").blocks["outer"] == OUTER
