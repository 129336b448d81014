"""Python files become blocks by a command of the File menu, or when they are dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QListView, QMessageBox
from pytestqt.qtbot import QtBot

from studio.ui import dialogs
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow

SOURCE = """
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.fc = nn.Linear(64, width)

    def forward(self, x):
        return F.relu(self.fc(x))
"""


def test_a_command_imports_a_class(
    window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    monkeypatch.setattr(dialogs, "modules_to_import", lambda *_: [file])
    before = project.store.document
    window.commands.action("file.import-module").trigger()
    assert project.store.document.nodes["net"].type == "block.Net"
    assert project.scope.selection == {"net"}
    project.store.undo()
    assert project.store.document is before


def test_a_dropped_file_is_imported(window: MainWindow, project: Project, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    assert window.canvas is not None
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPoint(200, 200), *how)
    QApplication.sendEvent(window.canvas.viewport(), enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window.canvas.viewport(), QDropEvent(QPointF(200, 200), *how))
    assert project.store.document.nodes["net"].type == "block.Net"


def test_imported_instances_cover_no_other_node(window: MainWindow, project: Project, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE)
    assert window.canvas is not None
    x, y = project.store.document.nodes["relu"].at
    window.canvas.import_files([file, file], QPointF(x, y))
    nodes = project.store.document.nodes
    places = [nodes[name].at[1] - y for name in ("net", "net_2")]
    assert places[0] >= 96
    assert places[1] - places[0] >= 96


def test_a_refused_file_changes_nothing(qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("from einops import reduce\n" + SOURCE.replace("F.relu(", "reduce("))
    assert window.canvas is not None
    before, refused = project.store.document, list[str]()
    project.store.refused.connect(refused.append)
    window.canvas.import_files([file])
    assert project.store.document is before
    assert refused == ["net.py, line 9: reduce has no node. Use a layer or a function of the engine."]


@pytest.mark.parametrize("button", ["Import with Python nodes", "Cancel"])
def test_python_nodes_are_offered_for_what_no_graph_can_express(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, button: str
) -> None:
    file = tmp_path / "net.py"
    file.write_text(SOURCE.replace("F.relu(", "print("))
    assert window.canvas is not None
    before, shown = project.store.document, list[str]()

    def click() -> None:
        box = next(each for each in QApplication.topLevelWidgets() if isinstance(each, QMessageBox))
        shown.append(box.informativeText())
        QTest.mouseClick(next(each for each in box.buttons() if each.text() == button), Qt.MouseButton.LeftButton)

    QTimer.singleShot(0, click)
    window.canvas.import_files([file])
    assert shown[0].startswith("net.py, line 8: print has no node.")
    added = {name: node for name, node in project.store.document.nodes.items() if name not in before.nodes}
    assert [node.type for node in added.values()] == (["studio.Python"] if button != "Cancel" else [])
    assert project.scope.selection >= added.keys()


TWO_CLASSES = SOURCE + SOURCE.replace("Net", "Other")


def answer(qtbot: QtBot, *keys: Qt.Key) -> list[list[str]]:
    """Press keys in the list of classes once it is open. Returns the lists that were shown."""
    shown: list[list[str]] = []

    def press() -> None:
        dialog = next(each for each in QApplication.topLevelWidgets() if isinstance(each, QInputDialog))
        shown.append(dialog.comboBoxItems())
        qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QListView))
        for key in keys:
            focused = QApplication.focusWidget()
            assert focused is not None
            QTest.keyClick(focused, key)

    QTimer.singleShot(0, press)
    return shown


@pytest.mark.parametrize(("keys", "block"), [((Qt.Key.Key_Up,), "block.Net"), ((), "block.Other")])
def test_the_class_of_a_file_with_several_is_chosen(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, keys: tuple[Qt.Key, ...], block: str
) -> None:
    file = tmp_path / "net.py"
    file.write_text(TWO_CLASSES)
    assert window.canvas is not None
    shown = answer(qtbot, *keys, Qt.Key.Key_Return)
    window.canvas.import_files([file])
    assert shown == [["Net", "Other"]]
    (name,) = project.scope.selection
    assert project.store.document.nodes[name].type == block


def test_a_function_that_makes_the_module_is_chosen_by_default(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path
) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"{SOURCE}\n\ndef small():\n    return Net()\n")
    assert window.canvas is not None
    shown = answer(qtbot, Qt.Key.Key_Return)
    window.canvas.import_files([file])
    assert shown == [["small()", "Net"]]
    (name,) = project.scope.selection
    assert project.store.document.nodes[name].type == "block.Net"


def test_an_import_is_cancelled(qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(TWO_CLASSES)
    assert window.canvas is not None
    before = project.store.document
    answer(qtbot, Qt.Key.Key_Escape)
    window.canvas.import_files([file])
    assert project.store.document is before
