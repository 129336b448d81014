"""Laws that hold for every document and every sequence of edits."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.document.document_difference import Difference, difference
from studio.document.document_errors import FileError
from studio.document.edit_history import History
from studio.document.files.json_values import equal_json
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document
from tests.studio.document.strategies import Edit, documents, edit, edit_sequences


def assert_equal(one: Document, other: Document) -> None:
    """Equal in every respect, the order of nodes and the types of numbers included."""
    assert one == other
    assert list(one.nodes) == list(other.nodes)
    assert list(one.frames) == list(other.frames)
    for name, node in one.nodes.items():
        assert equal_json(dict(node.params), dict(other.nodes[name].params))


@given(documents())
def test_load_after_save_is_identity(document: Document) -> None:
    assert_equal(loads(dumps(document)), document)


@given(documents())
def test_text_is_canonical(document: Document) -> None:
    text = dumps(document)
    assert dumps(loads(text)) == text
    assert dumps(loads(text.encode())) == text


@given(documents())
def test_line_ends_and_mark_do_not_matter(document: Document) -> None:
    text = dumps(document)
    assert_equal(loads(text.replace("\n", "\r\n")), document)
    assert_equal(loads(text.encode("utf-8-sig")), document)


@given(documents(), edit())
def test_edits_leave_their_document_alone(document: Document, change: Edit) -> None:
    before = copy.deepcopy(document)
    nodes = dict(document.nodes)
    change(document)
    assert_equal(document, before)
    assert all(document.nodes[name] is node for name, node in nodes.items())


@given(documents(), edit())
def test_edits_share_what_they_do_not_touch(document: Document, change: Edit) -> None:
    new = change(document)
    for name, node in new.nodes.items():
        if (
            name in document.nodes
            and node == document.nodes[name]
            and equal_json(node.params, document.nodes[name].params)
        ):
            assert node is document.nodes[name]
    if new == document and dumps(new) == dumps(document):
        assert new is document


@given(documents(), edit_sequences)
def test_edited_documents_can_be_saved(document: Document, changes: list[Edit]) -> None:
    for change in changes:
        document = change(document)
    assert_equal(loads(dumps(document)), document)
    assert list(document.wires) == sorted(set(document.wires))
    assert document.routes.keys() <= {wire.target for wire in document.wires}


@given(documents(), edit_sequences)
def test_difference_leads_from_old_to_new(document: Document, changes: list[Edit]) -> None:
    old = document
    for change in changes:
        new = change(document)
        assert difference(document, new).apply(document) == new
        assert bool(difference(document, new)) == (new is not document)
        document = new
    assert difference(old, document).apply(old) == document
    assert difference(document, old).apply(document) == old
    assert difference(document, document) == Difference()


@given(documents(), documents())
def test_difference_leads_between_any_documents(old: Document, new: Document) -> None:
    assert difference(old, new).apply(old) == new


@given(documents(), edit_sequences)
def test_undoing_all_leads_back_and_redoing_all_forward(document: Document, changes: list[Edit]) -> None:
    history = History(document)
    for change in changes:
        history.push(change.title, change(history.document), change.merge_key)
    end, states = history.document, history.entries
    while history.can_undo:
        history.undo()
    assert history.document is document
    while history.can_redo:
        history.redo()
    assert history.document is end
    assert history.entries == states


@given(documents(), st.lists(st.one_of(edit(), st.sampled_from(["undo", "redo", "end gesture", "save"])), max_size=30))
def test_history_agrees_with_a_plain_list(document: Document, actions: list[Edit | str]) -> None:
    """The model: a list of documents, a place in it, and which of them was saved."""
    history = History(document)
    states, place, saved, open_key = [document], 0, document, None
    for action in actions:
        if isinstance(action, Edit):
            new = action(states[place])
            history.push(action.title, new, action.merge_key)
            if new is not states[place]:
                merges = action.merge_key is not None and action.merge_key == open_key
                states = [*states[: place + (not merges)], new]
                place, open_key = len(states) - 1, action.merge_key
            continue
        open_key = None
        if action == "undo":
            history.undo()
            place = max(place - 1, 0)
        elif action == "redo":
            history.redo()
            place = min(place + 1, len(states) - 1)
        elif action == "save":
            history.mark_saved()
            saved = states[place]
        else:
            history.end_gesture()
        assert history.document is states[place]
        assert history.is_saved == (states[place] is saved)
    assert [entry.document for entry in history.entries] == states


@given(documents(max_nodes=3), st.data())
def test_damaged_files_raise_file_errors_only(document: Document, data: st.DataObject) -> None:
    text = bytearray(dumps(document).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(start + 8, len(text))))
        text[start:end] = data.draw(_damage)
    error = _error(bytes(text))
    if error is not None:
        assert str(error).startswith("damaged.gradwire")
        assert error.problem
        assert error.remedy.endswith((".", "?"))
        assert str(error).encode().decode() == str(error)


def _error(content: bytes) -> FileError | None:
    try:
        dumps(loads(content, "damaged.gradwire"))
    except FileError as error:
        return error
    return None


_damage = st.one_of(
    st.binary(max_size=4),
    st.sampled_from(
        [b"NaN", b"1e999", b'"', b"\\ud800", b"{", b"]", b"null", b"9" * 30, b"[" * 2000, b'"a": 1,', b"-"]
    ),
)


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_any_bytes_raise_file_errors_only(content: bytes) -> None:
    with pytest.raises(FileError):
        loads(content)
