"""The project store: edits, selection, background checks and problems of runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.code_trust import TRUST, TrustStore, source_digest
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.ui.project.project_store import ProjectStore

LINEAR = Node("nn.Linear")


def check_nothing(document: Document, base: Path | None) -> Report:
    return Report(problems=tuple(Problem("error", "x", name, node=name) for name in document.nodes))


@pytest.fixture
def store(qtbot: QtBot) -> Iterator[ProjectStore]:
    store = ProjectStore(Document(), catalogue(), check_nothing)
    yield store
    store.close()


def add(store: ProjectStore, name: str) -> None:
    store.edit(f"Add {name}", lambda document: edits.add(document, name, LINEAR))


def test_an_edit_is_emitted_with_both_documents(qtbot: QtBot, store: ProjectStore) -> None:
    before = store.document
    with qtbot.waitSignal(store.document_changed) as signal:
        add(store, "hidden")
    assert signal.args == [before, store.document]
    assert not store.is_saved


def test_undo_and_redo_restore_the_same_objects(store: ProjectStore) -> None:
    empty = store.document
    add(store, "hidden")
    full = store.document
    store.undo()
    assert store.document is empty
    store.redo()
    assert store.document is full


def test_corrected_code_is_trusted_as_the_code_before(
    store: ProjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TRUST, "store", TrustStore(tmp_path))
    code, untrusted = (f"def own(x):\n    return x / x.{name}().item()\n" for name in ("amax", "amin"))
    TRUST.store.add([source_digest(code)])
    for source in (code, untrusted):
        node = Node("studio.Python", {"source": source})
        store.edit("Add", lambda _, node=node: edits.add(Document(), "own", node))
        [problem] = [each for each in check(store.document, catalogue()).problems if each.fix is not None]
        assert problem.fix is not None
        store.apply_fix(problem.fix)
        corrected = store.document.nodes["own"].params["source"]
        assert isinstance(corrected, str) and ".item()" not in corrected
        assert TRUST.store.has(source_digest(corrected)) is (source is code)


def test_refused_edit_changes_nothing_and_emits_the_reason(qtbot: QtBot, store: ProjectStore) -> None:
    before = store.document
    with qtbot.waitSignal(store.refused) as signal:
        assert not store.edit("Remove", lambda document: edits.remove(document, ["ghost"]))
    assert "ghost" in signal.args[0]
    assert store.document is before


def test_merged_edits_are_one_undo_step_until_the_gesture_ends(store: ProjectStore) -> None:
    add(store, "hidden")
    for value in (1, 12, 128):
        store.edit("Set", lambda d, v=value: edits.set_param(d, "hidden", "out_features", v), merge="typing")
    store.end_gesture()
    store.edit("Set", lambda d: edits.set_param(d, "hidden", "out_features", 7), merge="typing")
    store.undo()
    assert store.document.nodes["hidden"].params == {"out_features": 128}
    store.undo()
    assert store.document.nodes["hidden"].params == {}


def test_selection_follows_renames_and_removals(store: ProjectStore) -> None:
    add(store, "hidden")
    store.select(["hidden", "ghost"])
    assert store.selection == {"hidden"}
    store.edit("Rename", lambda document: edits.rename(document, "hidden", "first"))
    assert store.selection == {"first"}
    store.edit("Remove", lambda document: edits.remove(document, ["first"]))
    assert store.selection == frozenset()


def test_report_describes_the_newest_document(qtbot: QtBot, store: ProjectStore) -> None:
    for name in ("a", "b", "c"):
        add(store, name)
    assert not store.is_checked
    qtbot.waitUntil(lambda: store.is_checked)
    assert [problem.node for problem in store.report.problems] == ["a", "b", "c"]


def test_checks_run_in_a_thread_and_skip_outdated_documents(qtbot: QtBot) -> None:
    gate, checks = threading.Event(), []

    def slow(document: Document, base: Path | None) -> Report:
        checks.append((len(document.nodes), threading.current_thread() is threading.main_thread()))
        gate.wait(10)
        return Report()

    store = ProjectStore(Document(), catalogue(), slow)
    qtbot.waitUntil(lambda: len(checks) == 1)
    for name in ("a", "b", "c"):
        add(store, name)
    gate.set()
    qtbot.waitUntil(lambda: store.is_checked)
    assert checks == [(0, False), (3, False)]
    store.close()


def test_exception_in_a_check_becomes_a_problem(qtbot: QtBot) -> None:
    def broken(document: Document, base: Path | None) -> Report:
        raise ZeroDivisionError("oops")

    store = ProjectStore(Document(), catalogue(), broken)
    qtbot.waitUntil(lambda: store.is_checked)
    assert "oops" in store.report.problems[0].message
    store.close()


def test_run_problems_are_shown_until_the_next_edit(qtbot: QtBot, store: ProjectStore) -> None:
    add(store, "hidden")
    qtbot.waitUntil(lambda: store.is_checked)
    store.set_run_problems([Problem("error", "run-failed", "boom", node="hidden")])
    assert [problem.message for problem in store.report.problems] == ["hidden", "boom"]
    assert [problem.message for problem in store.check_report.problems] == ["hidden"]
    store.add_run_problem(store.check_report.problems[0])
    assert [problem.message for problem in store.report.problems] == ["hidden", "boom"], "known to the check"
    store.edit("Move", lambda document: edits.move(document, {"hidden": (1.0, 1.0)}))
    qtbot.waitUntil(lambda: store.is_checked)
    assert [problem.message for problem in store.report.problems] == ["hidden"]


def test_saved_changed_is_emitted_on_changes_only(qtbot: QtBot, store: ProjectStore, tmp_path: Path) -> None:
    signal: list[bool] = []
    store.saved_changed.connect(signal.append)
    add(store, "hidden")
    store.mark_saved(store.document, tmp_path / "net.gradwire")
    store.undo()
    store.redo()
    assert signal == [False, True, False, True]
    assert store.name == "net"
    assert store.base == tmp_path
