"""The code of a project as a file: File › Export Python code."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from engine import nn
from studio.document import edits
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton


def choose(window: MainWindow) -> bool:
    """Choose the command in the menu with the mouse; whether it is enabled."""
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F, Qt.KeyboardModifier.AltModifier)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    entry = next(each for each in menu.actions() if each.text().startswith("Export Python code"))
    enabled = entry.isEnabled()
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(entry).center())
    QTest.keyClick(menu, Qt.Key.Key_Escape)
    return enabled


def test_the_code_is_saved_and_can_be_run(
    window: MainWindow, project: Project, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qtbot.waitUntil(lambda: project.store.is_checked)
    path = tmp_path / "network.py"
    monkeypatch.setattr("studio.ui.dialogs.code_to_save", lambda *_: path)
    assert choose(window)
    assert "nn.Linear(in_features=64, out_features=256)" in path.read_text("utf-8")
    names = runpy.run_path(str(path), run_name="imported")
    [module] = [each for each in names.values() if isinstance(each, type) and issubclass(each, nn.Module)]
    assert sum(parameter.numel() for parameter in module().parameters()) == 19_210


def test_a_project_with_errors_has_no_code(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    project.store.edit("Remove", lambda document: edits.remove(document, ["adam"]))
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert not choose(window)
