from __future__ import annotations

import pytest

from studio.document import edits
from studio.document.edit_history import History
from studio.document.model import Document, Node


def states(count: int) -> list[Document]:
    """Documents with 0, 1, 2, … nodes."""
    documents = [Document()]
    for index in range(count - 1):
        documents.append(edits.add(documents[-1], f"n{index}", Node("nn.ReLU")))
    return documents


def test_undo_and_redo_with_titles() -> None:
    empty, one, two = states(3)
    history = History(empty)
    assert (history.can_undo, history.can_redo) == (False, False)
    assert (history.undo_title, history.redo_title) == ("", "")
    history.push("Add one", one)
    history.push("Add two", two)
    assert history.undo_title == "Add two"
    assert history.undo() is one
    assert (history.undo_title, history.redo_title) == ("Add one", "Add two")
    assert history.undo() is empty
    assert history.undo() is empty
    assert history.redo() is one
    assert history.redo() is two
    assert history.redo() is two
    assert [entry.title for entry in history.entries] == ["Open", "Add one", "Add two"]


def test_a_push_after_undo_cuts_what_could_be_redone() -> None:
    empty, one, two = states(3)
    history = History(empty)
    history.push("Add one", one)
    history.undo()
    history.push("Add two", two)
    assert not history.can_redo
    assert [entry.document for entry in history.entries] == [empty, two]


def test_pushing_the_same_document_does_nothing() -> None:
    empty, one = states(2)
    history = History(empty)
    history.push("Add one", one)
    history.undo()
    history.push("Nothing", empty)
    assert history.can_redo


def test_one_gesture_is_one_entry() -> None:
    empty, *documents = states(6)
    history = History(empty)
    for document in documents[:3]:
        history.push("Move", document, "drag")
    history.end_gesture()
    for document in documents[3:]:
        history.push("Move", document, "drag")
    assert [entry.document for entry in history.entries] == [empty, documents[2], documents[4]]
    assert history.undo() is documents[2]


@pytest.mark.parametrize("end", ["end gesture", "undo and redo", "save", "another key", "no key"])
def test_what_ends_a_gesture(end: str) -> None:
    empty, one, two, three = states(4)
    history = History(empty)
    history.push("Move", one, "drag")
    match end:
        case "end gesture":
            history.end_gesture()
        case "undo and redo":
            history.undo()
            history.redo()
        case "save":
            history.mark_saved()
        case "another key":
            history.push("Type", two, "typing")
        case _:
            history.push("Add", two)
    before = len(history.entries)
    history.push("Move", three, "drag")
    assert len(history.entries) == before + 1


def test_the_saved_state_survives_undo_and_redo() -> None:
    empty, one, two = states(3)
    history = History(empty)
    assert history.is_saved
    history.push("Add one", one)
    history.mark_saved()
    history.push("Add two", two)
    assert not history.is_saved
    history.undo()
    assert history.is_saved
    history.undo()
    assert not history.is_saved
    history.push("Add two", two)
    history.undo()
    assert not history.is_saved


def test_a_document_that_was_saved_while_editing_went_on() -> None:
    empty, one, two = states(3)
    history = History(empty)
    history.push("Add one", one)
    history.push("Add two", two)
    history.mark_saved(one)
    assert not history.is_saved
    history.undo()
    assert history.is_saved


def test_recovered_work_is_unsaved_until_it_is_saved() -> None:
    history = History(Document())
    history.mark_unsaved()
    assert not history.is_saved
    history.mark_saved()
    assert history.is_saved


def test_go_to_any_state() -> None:
    documents = states(4)
    history = History(documents[0])
    for document in documents[1:]:
        history.push("Add", document)
    assert history.go_to(1) is documents[1]
    assert history.position == 1
    with pytest.raises(IndexError, match="has states 0 to 3, not 4"):
        history.go_to(4)


def test_the_oldest_states_are_forgotten() -> None:
    documents = states(10)
    history = History(documents[0], limit=3)
    for document in documents[1:]:
        history.push("Add", document)
    assert [entry.document for entry in history.entries] == documents[-3:]
    assert history.document is documents[-1]
    with pytest.raises(ValueError, match="at least 2 states"):
        History(documents[0], limit=1)
