"""Python nodes in the window: trusting the code of a project, and editing it, with real keys and clicks."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from studio.document import edits
from studio.document.code_trust import TRUST, source_digest
from studio.document.files import project_files
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.user_code.code_loader import is_trusted
from studio.lowering.user_code.document_code import trust_code
from studio.nodes.python_node import PYTHON
from studio.ui.panels.code.code_panel import CodePanel
from studio.ui.panels.inspector.code_field import CodeField
from studio.ui.panels.inspector.code_window import CodeWindow
from studio.ui.window.notification_bar import NotificationBar
from studio.ui.window.trust_dialog import TrustDialog
from tests.studio.code import code, with_code

HARMFUL = "open({path!r}, 'w').close()\n\n\ndef doubled(x):\n    return 2 * x\n"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test trusts code for another one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def project_file(tmp_path: Path) -> Path:
    """A project whose code writes a file when it is executed."""
    source = HARMFUL.format(path=str(tmp_path / "executed"))
    document = Document()
    document = edits.add(document, "digits", Node("data.Digits"))
    document = edits.add(document, "loader", Node("data.Batches"))
    document = edits.add(document, "own", Node(PYTHON, {"source": source}))
    document = edits.connect(document, Wire(Endpoint("digits", "samples"), Endpoint("loader", "samples")))
    document = edits.connect(document, Wire(Endpoint("loader", "input"), Endpoint("own", "x")))
    path = tmp_path / "own.gradwire"
    project_files.save(document, path)
    return path


def checked(qtbot, project) -> None:
    qtbot.waitUntil(lambda: project.store.is_checked, timeout=20_000)


def test_code_of_a_project_runs_once_it_is_trusted(window, qtbot, project_file: Path, tmp_path: Path) -> None:
    window.files.open(project_file)
    project = window.project
    checked(qtbot, project)
    assert [each.code for each in project.store.report.problems if each.code == "untrusted-code"]
    assert not (tmp_path / "executed").exists()
    notice = next(each for each in window.findChildren(NotificationBar) if "Python code" in each.text.text())
    review = next(each for each in notice.choices if each.text() == "Review code…")
    QTest.mouseClick(review, Qt.MouseButton.LeftButton)
    dialog = window.findChild(TrustDialog)
    assert "def doubled(x):" in dialog.code.toPlainText() and "# own" in dialog.code.toPlainText()
    assert not (tmp_path / "executed").exists()
    QTest.mouseClick(
        dialog.trust_button,
        Qt.MouseButton.LeftButton,
    )
    assert not dialog.isVisible()
    qtbot.waitUntil((tmp_path / "executed").exists, timeout=20_000)
    qtbot.waitUntil(
        lambda: not any(each.code == "untrusted-code" for each in project.store.report.problems), timeout=20_000
    )
    project.scope.select(["own"])  # its port is named as the argument
    qtbot.waitUntil(lambda: "x" in {each.text() for each in window.docks["inspector"].findChildren(QLabel)})


def test_the_notice_closes_once_the_code_is_trusted_elsewhere(window, qtbot, project_file: Path) -> None:
    window.files.open(project_file)
    project = window.project
    checked(qtbot, project)
    assert any("Python code" in each.text.text() for each in window.findChildren(NotificationBar))
    trust_code(project.store.document, project.store.name)
    project.store.recheck()
    checked(qtbot, project)
    qtbot.waitUntil(
        lambda: not any("Python code" in each.text.text() for each in window.findChildren(NotificationBar)),
        timeout=10_000,
    )


def test_typed_code_is_trusted_and_one_undo_step(window, qtbot) -> None:
    window.new_project()
    project = window.project
    project.store.edit("Add own", lambda document: edits.add(document, "own", Node(PYTHON)))
    project.scope.select(["own"])
    window.docks["inspector"].reveal()
    qtbot.waitUntil(lambda: bool(window.findChildren(CodeField)), timeout=10_000)
    field = window.findChildren(CodeField)[0]
    field.code.setFocus()
    QTest.keySequence(field.code, "Ctrl+A")
    QTest.keyClicks(field.code, "def summed(a, b):")
    QTest.keyClick(field.code, Qt.Key.Key_Return)
    QTest.keyClicks(field.code, "return a + b")
    QTest.keyClick(field.code, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    source = project.store.document.nodes["own"].params["source"]
    assert source == "def summed(a, b):\n    return a + b"
    assert is_trusted(source)
    project.store.undo()
    assert "source" not in project.store.document.nodes["own"].params


def test_changes_of_untrusted_code_stay_untrusted(window, qtbot, project_file: Path, tmp_path: Path) -> None:
    window.files.open(project_file)
    project = window.project
    project.scope.select(["own"])
    window.docks["inspector"].reveal()
    qtbot.waitUntil(lambda: bool(window.findChildren(CodeField)), timeout=10_000)
    field = window.findChildren(CodeField)[0]
    field.code.setFocus()
    QTest.keySequence(field.code, "Ctrl+End")
    QTest.keyClicks(field.code, "# checked")
    QTest.keyClick(field.code, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    source = project.store.document.nodes["own"].params["source"]
    assert source.endswith("# checked") and not is_trusted(source)
    checked(qtbot, project)
    assert not (tmp_path / "executed").exists()


# -- the Code panel ---------------------------------------------------------------------------

OWN = "def doubled(x):\n    return 2 * x\n"


def trained(own: str) -> Document:
    return with_code({"own": code(own)})


def code_panel(window, qtbot, document: Document, path: Path) -> CodePanel:
    project_files.save(document, path)
    window.files.open(path)
    window.docks["code"].reveal()
    panel = window.docks["code"].panel
    assert isinstance(panel, CodePanel)
    qtbot.waitUntil(lambda: "def doubled(x):" in panel.editor.toPlainText(), timeout=20_000)
    panel.editor.setFocus()
    return panel


def type_behind(panel: CodePanel, before: str, typed: str) -> None:
    cursor = panel.editor.document().find(before)
    assert not cursor.isNull(), panel.editor.toPlainText()
    cursor.setPosition(cursor.selectionEnd())
    panel.editor.setTextCursor(cursor)
    QTest.keyClicks(panel.editor, typed)


def apply(qtbot, panel: CodePanel) -> None:
    QTest.keyClick(panel.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: not panel.draft.isVisible(), timeout=20_000)


def test_untrusted_code_is_shown_and_edited_around_without_running(window, qtbot, tmp_path: Path) -> None:
    source = HARMFUL.format(path=str(tmp_path / "executed"))
    panel = code_panel(window, qtbot, trained(source), tmp_path / "own.gradwire")
    store = window.project.store
    assert "open(" in panel.editor.toPlainText()
    assert "The Python code of own is not trusted" in panel.notice.text.text()
    assert panel.notice.isVisible()
    type_behind(panel, "Normalize(std=16", "0")
    apply(qtbot, panel)
    assert store.document.nodes["normalize"].params == {"std": 160.0}
    qtbot.waitUntil(lambda: "std=160.0" in panel.editor.toPlainText() and panel.program is not None, timeout=20_000)
    type_behind(panel, "return 2 * x", " + 1")
    apply(qtbot, panel)
    changed = store.document.nodes["own"].params["source"]
    assert "return 2 * x + 1" in changed
    assert not is_trusted(changed)
    checked(qtbot, window.project)
    assert not (tmp_path / "executed").exists()


def test_a_function_edited_in_the_code_panel_is_trusted_and_one_undo_step(window, qtbot, tmp_path: Path) -> None:
    TRUST.store.add([source_digest(OWN)])
    panel = code_panel(window, qtbot, trained(OWN), tmp_path / "own.gradwire")
    store = window.project.store
    qtbot.waitUntil(lambda: panel.program is not None and not panel.notice.isVisible(), timeout=20_000)
    type_behind(panel, "return 2 * x", " + 1  # shifted")
    apply(qtbot, panel)
    changed = store.document.nodes["own"].params["source"]
    assert changed == OWN.strip().replace("2 * x", "2 * x + 1  # shifted")
    assert is_trusted(changed)
    checked(qtbot, window.project)
    assert not [each for each in store.report.problems if each.code == "untrusted-code"]
    store.undo()
    assert store.document.nodes["own"].params["source"] == OWN


def test_code_that_fails_is_refused_at_its_line_and_keeps_the_graph(window, qtbot, tmp_path: Path) -> None:
    TRUST.store.add([source_digest(OWN)])
    panel = code_panel(window, qtbot, trained(OWN), tmp_path / "own.gradwire")
    before = window.project.store.document
    qtbot.waitUntil(lambda: panel.program is not None and not panel.notice.isVisible(), timeout=20_000)
    type_behind(panel, "return 2 * x", ".view(-1, 7)")
    line = panel.editor.textCursor().blockNumber() + 1
    QTest.keyClick(panel.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: panel.editor.error is not None, timeout=20_000)
    assert panel.editor.error.line == line
    assert "does not divide" in panel.draft.text.text()
    assert window.project.store.document is before


# -- the larger window ------------------------------------------------------------------------

FIRST, SECOND = "def first(x):\n    return x", "def second(x):\n    return -x"


def code_window(window, qtbot) -> CodeWindow:
    """The larger window, opened by its button for the first of two Python nodes."""
    window.new_project()
    store = window.project.store
    store.edit("Add", lambda document: edits.add(document, "one", Node(PYTHON, {"source": FIRST})))
    store.edit("Add", lambda document: edits.add(document, "two", Node(PYTHON, {"source": SECOND})))
    store.edit("Add", lambda document: edits.add(document, "relu", Node("nn.ReLU")))
    TRUST.store.add([source_digest(FIRST)])
    window.project.scope.select(["one"])
    window.docks["inspector"].reveal()

    def buttons():
        return [each for each in window.findChildren(QPushButton) if each.text() == "Edit in larger window"]

    qtbot.waitUntil(lambda: bool(buttons()), timeout=10_000)
    QTest.mouseClick(buttons()[0], Qt.MouseButton.LeftButton)
    found = window.findChild(CodeWindow)
    assert found is not None and found.isVisible() and not found.isModal()
    return found


def test_the_larger_window_applies_and_restores_by_keys(window, qtbot) -> None:
    large = code_window(window, qtbot)
    store = window.project.store
    assert large.windowTitle() == "Python code of one"
    assert large.editor.toPlainText() == FIRST
    assert not large.draft.isVisible()
    large.editor.setFocus()
    QTest.keySequence(large.editor, "Ctrl+End")
    QTest.keyClicks(large.editor, " +")
    assert large.editor.error is not None and large.editor.error.line == 2
    assert "Line 2: invalid syntax" in large.draft.text.text() and large.draft.isVisible()
    QTest.keyClick(large.editor, Qt.Key.Key_Escape)
    assert large.editor.toPlainText() == FIRST
    assert large.isVisible() and not large.draft.isVisible()
    QTest.keySequence(large.editor, "Ctrl+End")
    QTest.keyClicks(large.editor, " + 1")
    QTest.keyClick(large.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert store.document.nodes["one"].params["source"] == f"{FIRST} + 1"
    assert is_trusted(f"{FIRST} + 1")
    assert not large.draft.isVisible()
    store.undo()
    qtbot.waitUntil(lambda: large.editor.toPlainText() == FIRST)
    QTest.keyClick(large.editor, Qt.Key.Key_Escape)
    assert not large.isVisible()


def test_the_larger_window_follows_the_selection_and_keeps_what_is_typed(window, qtbot) -> None:
    large = code_window(window, qtbot)
    store, scope = window.project.store, window.project.scope
    large.editor.setFocus()
    QTest.keySequence(large.editor, "Ctrl+End")
    QTest.keyClicks(large.editor, " * 3")
    scope.select(["two"])
    qtbot.waitUntil(lambda: large.editor.toPlainText() == SECOND)
    assert large.windowTitle() == "Python code of two"
    assert store.document.nodes["one"].params["source"] == f"{FIRST} * 3"
    assert store.document.nodes["two"].params["source"] == SECOND
    scope.select(["relu"])
    qtbot.waitUntil(lambda: not large.editor.isVisible())
    scope.select(["two"])
    qtbot.waitUntil(large.editor.isVisible)
    QTest.keySequence(large.editor, "Ctrl+End")
    QTest.keyClicks(large.editor, " * 2")
    large.close()
    assert store.document.nodes["two"].params["source"] == f"{SECOND} * 2"
    assert not is_trusted(f"{SECOND} * 2")
