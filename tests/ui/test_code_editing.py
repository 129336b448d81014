"""The code in the Code panel is edited with the keyboard, and the graph follows."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.ui.panels.code.code_panel import CodePanel
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
