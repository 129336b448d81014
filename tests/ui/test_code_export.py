"""A project as a Python program: File › Export › Export as Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.ui.project.project import Project
from studio.ui.window.export_dialog import ExportDialog
from studio.ui.window.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier


def opened(window: MainWindow, project: Project, qtbot: QtBot) -> ExportDialog:
    """The dialog, opened with its shortcut."""
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.canvas is not None
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_E, CONTROL)
    [dialog] = window.findChildren(ExportDialog)
    qtbot.waitUntil(dialog.isActiveWindow)
    return dialog


def press(key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """A key for the widget that has the focus."""
    focused = QApplication.focusWidget()
    assert isinstance(focused, QWidget)
    QTest.keyClick(focused, key, modifiers)


def enter_folder(dialog: ExportDialog, folder: Path) -> None:
    """Go to the field with the Tab key, and type."""
    while QApplication.focusWidget() is not dialog.folder:
        press(Qt.Key.Key_Tab)
    press(Qt.Key.Key_A, CONTROL)
    QTest.keyClicks(dialog.folder, str(folder))


def finished(qtbot: QtBot, dialog: ExportDialog) -> None:
    qtbot.waitUntil(lambda: dialog.status.progress.isHidden() and not dialog.status.is_running)


def test_a_package_is_exported_with_keys(
    window: MainWindow, project: Project, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = opened(window, project, qtbot)
    assert QApplication.focusWidget() is dialog.target
    assert dialog.folder.text().endswith("_pytorch")
    press(Qt.Key.Key_Down)
    assert dialog.folder.text().endswith("_engine")
    press(Qt.Key.Key_Up)
    folder = tmp_path / "package"
    enter_folder(dialog, folder)
    press(Qt.Key.Key_Return)
    finished(qtbot, dialog)
    assert dialog.status.message.text() == f"Exported 9 files to {folder}. Next: python train.py"
    assert "nn.Linear(in_features=64, out_features=256)" in (folder / "model.py").read_text("utf-8")
    shown: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown.append(url.toLocalFile()))
    assert QApplication.focusWidget() is dialog.open_button
    press(Qt.Key.Key_Space)
    assert [Path(each) for each in shown] == [folder]
    press(Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(ExportDialog))


def test_a_folder_with_files_is_replaced_only_on_request(
    window: MainWindow, project: Project, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = opened(window, project, qtbot)
    folder = tmp_path / "package"
    enter_folder(dialog, folder)
    press(Qt.Key.Key_Return)
    finished(qtbot, dialog)
    while QApplication.focusWidget() is not dialog.export_button:
        press(Qt.Key.Key_Tab)
    press(Qt.Key.Key_Space)
    finished(qtbot, dialog)
    assert dialog.status.message.text().startswith(f"{folder} is not empty. Choose another folder")
    assert dialog.open_button.isHidden()
    while QApplication.focusWidget() is not dialog.replaces:
        press(Qt.Key.Key_Tab)
    press(Qt.Key.Key_Space)
    while QApplication.focusWidget() is not dialog.export_button:
        press(Qt.Key.Key_Tab)
    press(Qt.Key.Key_Space)
    finished(qtbot, dialog)
    assert dialog.status.message.text().startswith("Exported 9 files")
    dialog.close()


def test_closing_the_dialog_cancels_the_export(
    window: MainWindow, project: Project, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = opened(window, project, qtbot)
    enter_folder(dialog, tmp_path / "package")
    dialog.export_button.click()
    press(Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(ExportDialog))
    assert not [path for path in tmp_path.glob("*package*") if path.name != "package"]


def test_a_project_with_errors_cannot_be_exported(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    project.store.edit("Remove", lambda document: edits.remove(document, ["adam"]))
    qtbot.waitUntil(lambda: project.store.is_checked)
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F, Qt.KeyboardModifier.AltModifier)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    [inner] = [each.menu() for each in menu.actions() if each.text() == "Export"]
    assert isinstance(inner, QMenu)
    enabled = {each.text(): each.isEnabled() for each in inner.actions()}
    assert not enabled["Export as Python…"]
    assert not enabled["Export artifact…"]
    assert enabled["Export picture…"]
    QTest.keyClick(menu, Qt.Key.Key_Escape)
