"""The code in the Code panel is edited with the keyboard, and the graph follows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.lowering.program import Program, lower
from studio.ui.panels.code import code_panel
from studio.ui.panels.code.code_panel import CodePanel
from studio.ui.panels.code.text_merge import merged
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def panel(qtbot: QtBot, window: MainWindow, project: Project) -> CodePanel:
    window.docks["code"].reveal()
    found = window.docks["code"].panel
    assert isinstance(found, CodePanel)
    qtbot.waitUntil(lambda: found.program is not None)
    found.editor.setFocus()
    return found


def put_cursor(panel: CodePanel, after: str) -> None:
    """Click behind a text in the source."""
    cursor = panel.editor.document().find(after)
    assert not cursor.isNull(), panel.editor.toPlainText()
    cursor.setPosition(cursor.selectionEnd())
    panel.editor.setTextCursor(cursor)
    panel.editor.ensureCursorVisible()
    place = panel.editor.cursorRect(cursor)
    QTest.mouseClick(panel.editor.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place.x(), place.center().y()))


def press(panel: CodePanel, key: Qt.Key, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(panel.editor, key, keys)


def type_text(panel: CodePanel, text: str) -> None:
    QTest.keyClicks(panel.editor, text)


def test_a_typed_layer_becomes_a_node_and_one_undo_removes_it(
    qtbot: QtBot, window: MainWindow, project: Project, panel: CodePanel
) -> None:
    before = project.store.document
    put_cursor(panel, "self.relu = nn.ReLU()")
    press(panel, Qt.Key.Key_Return)
    type_text(panel, "self.drop = nn.Dropout(p=0.25)")
    assert "        self.drop = nn.Dropout(p=0.25)\n" in panel.editor.toPlainText()
    put_cursor(panel, "relu = self.relu(hidden)")
    press(panel, Qt.Key.Key_Return)
    type_text(panel, "relu = self.drop(relu)")
    assert panel.draft.isVisible()
    press(panel, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: "drop" in project.store.document.nodes, timeout=5000)
    assert project.store.history.entries[-1].title == "Edit code"
    qtbot.waitUntil(lambda: "drop = self.drop(relu)" in panel.editor.toPlainText(), timeout=5000)
    assert not panel.draft.isVisible()
    press(panel, Qt.Key.Key_Z, CTRL)
    assert project.store.document is before
    qtbot.waitUntil(lambda: "self.drop(" not in panel.editor.toPlainText(), timeout=5000)


def test_a_mistake_is_underlined_after_a_pause_and_escape_reverts(
    qtbot: QtBot, project: Project, panel: CodePanel
) -> None:
    before, source = project.store.document, panel.editor.toPlainText()
    put_cursor(panel, "relu = self.relu(hidden)")
    press(panel, Qt.Key.Key_Return)
    type_text(panel, "if relu:")
    qtbot.waitUntil(lambda: panel.editor.error is not None, timeout=5000)
    assert panel.editor.error is not None
    assert panel.editor.error.line == 19
    assert panel.draft.text.text().startswith("Line ")
    assert not panel.draft.apply.isEnabled()
    press(panel, Qt.Key.Key_Return, CTRL)  # nothing is lost
    qtbot.wait(50)
    assert project.store.document is before
    assert "if relu:" in panel.editor.toPlainText()
    press(panel, Qt.Key.Key_Escape)
    assert panel.editor.toPlainText() == source
    assert panel.editor.error is None
    assert not panel.draft.isVisible()


def test_an_error_of_the_graph_is_shown_at_its_line(qtbot: QtBot, project: Project, panel: CodePanel) -> None:
    put_cursor(panel, "self.logits = nn.Linear(in_features=256")
    type_text(panel, "0")
    press(panel, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: panel.editor.error is not None, timeout=5000)
    assert panel.editor.error is not None
    lines = panel.editor.toPlainText().splitlines()
    assert "2560" in lines[panel.editor.error.line - 1]
    assert "2560" in panel.editor.error.message


def test_a_change_of_the_graph_does_not_replace_a_draft(qtbot: QtBot, project: Project, panel: CodePanel) -> None:
    put_cursor(panel, "out_features=256")
    type_text(panel, "0")
    project.store.edit("Set", lambda document: edits.set_param(document, "adam", "lr", 0.5))
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert "out_features=2560" in panel.editor.toPlainText()
    assert "The graph has changed" in panel.draft.text.text()
    QTest.mouseClick(panel.draft.revert, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "lr=0.5" in panel.editor.toPlainText(), timeout=5000)
    assert "out_features=2560" not in panel.editor.toPlainText()


def test_tab_indents_and_backtab_unindents(panel: CodePanel) -> None:
    cursor = panel.editor.textCursor()
    cursor.setPosition(panel.editor.document().findBlockByNumber(7).position())
    cursor.movePosition(QTextCursor.MoveOperation.NextBlock, QTextCursor.MoveMode.KeepAnchor, 2)
    before = cursor.selectedText()
    panel.editor.setTextCursor(cursor)
    press(panel, Qt.Key.Key_Tab)
    first = panel.editor.document().findBlockByNumber(7).text()
    assert first.startswith(" " * 12)
    press(panel, Qt.Key.Key_Backtab)
    assert panel.editor.document().findBlockByNumber(7).text() == before.split("\u2029")[0]


def test_an_edit_is_merged_unless_the_same_lines_changed() -> None:
    base = "a\nb\nc\nd\ne"
    assert merged(base, "a\nb2\nc\nd\ne", "a\nb\nc\nd3\nd4\ne") == "a\nb2\nc\nd3\nd4\ne"
    assert merged(base, "a\nb\nc\nd2\ne", "z\na\nb\nc\nd\ny\ne") == "z\na\nb\nc\nd2\ny\ne"
    assert merged(base, "a\nb\nc\nd\ne\nf", "a\nc\nd\ne") == "a\nc\nd\ne\nf"
    assert merged(base, "a\nc\nd\ne", "a\nb\nc\nd\ne2") == "a\nc\nd\ne2"
    assert merged(base, "a\nb\nc2\nd\ne", "a\nb\nc3\nd\ne") is None


@pytest.fixture
def generation(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Code is generated after this event is set."""
    may_generate = threading.Event()
    may_generate.set()

    def generated(*arguments: Any) -> Program:
        assert threading.current_thread() is not threading.main_thread()
        assert may_generate.wait(30)
        return lower(*arguments)

    monkeypatch.setattr(code_panel, "shown_program", generated)
    yield may_generate
    may_generate.set()


def test_the_previous_code_stays_until_the_newest_is_generated(
    qtbot: QtBot, generation: threading.Event, project: Project, panel: CodePanel
) -> None:
    generation.clear()
    for width in (31, 32, 33):
        project.store.edit("Widen", lambda shown, w=width: edits.set_param(shown, "hidden", "out_features", w))
        qtbot.waitUntil(lambda: project.store.is_checked)
        qtbot.wait(200)
    project.store.edit("Rename", lambda document: edits.rename(document, "relu", "bent"))
    qtbot.waitUntil(panel.activity.isVisible)
    assert "out_features=256" in panel.editor.toPlainText()
    put_cursor(panel, "self.relu = nn.ReLU()")
    assert project.store.selection == {"bent"}
    assert {panel.editor.toPlainText().splitlines()[line - 1].strip() for line in panel.editor.marked} == {
        "self.relu = nn.ReLU()",
        "relu = self.relu(hidden)",
    }
    generation.set()
    qtbot.waitUntil(lambda: "out_features=33" in panel.editor.toPlainText())
    assert "bent = self.bent(hidden)" in panel.editor.toPlainText()
    assert "out_features=31" not in panel.editor.toPlainText()
    assert not panel.activity.isVisible()
    assert len(panel.editor.marked) == 2


def test_text_that_is_typed_while_an_applied_draft_becomes_code_is_the_next_draft(
    qtbot: QtBot, generation: threading.Event, project: Project, panel: CodePanel
) -> None:
    put_cursor(panel, "out_features=256")
    press(panel, Qt.Key.Key_Backspace)
    generation.clear()
    press(panel, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: project.store.document.nodes["hidden"].params["out_features"] == 25)
    type_text(panel, "9")
    generation.set()
    qtbot.waitUntil(lambda: panel.program is not None)
    assert "out_features=259" in panel.editor.toPlainText()
    press(panel, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: project.store.document.nodes["hidden"].params["out_features"] == 259)
    assert [entry.title for entry in project.store.history.entries[-2:]] == ["Edit code", "Edit code"]


def test_a_draft_survives_a_change_of_the_graph_that_changes_no_code(
    qtbot: QtBot, project: Project, panel: CodePanel
) -> None:
    put_cursor(panel, "out_features=256")
    type_text(panel, "0")
    project.store.edit("Move", lambda document: edits.move(document, {"hidden": (8.0, 800.0)}))
    qtbot.waitUntil(lambda: panel.draft.text.text() == "Edited. Apply to change the graph.")
    press(panel, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: project.store.document.nodes["hidden"].params["out_features"] == 2560)
    assert project.store.document.nodes["hidden"].at == (8.0, 800.0)
