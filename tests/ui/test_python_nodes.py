"""Python nodes in the window: trusting the code of a project, and editing it, with real keys and clicks."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from studio.document import edits, project_files
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.user_code.code_loader import is_trusted
from studio.nodes.python_node import PYTHON
from studio.ui.panels.inspector.code_field import CodeField
from studio.ui.window.notification_bar import NotificationBar
from studio.ui.window.trust_dialog import TrustDialog

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
