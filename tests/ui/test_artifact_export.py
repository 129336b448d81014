"""The network of a project as one file: File › Export › Export artifact."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from engine import export
from studio.ui.project.project import Project
from studio.ui.window.artifact_dialog import ArtifactDialog
from studio.ui.window.main_window import MainWindow


def opened(window: MainWindow, project: Project, qtbot: QtBot) -> ArtifactDialog:
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.action("file.export-artifact").trigger()
    [dialog] = window.findChildren(ArtifactDialog)
    return dialog


def exported(dialog: ArtifactDialog, qtbot: QtBot) -> str:
    """Press the button, and return the message at the end."""
    dialog.export_button.click()
    qtbot.waitUntil(lambda: dialog.export_button.isEnabled() and not dialog.status.is_running)
    return dialog.status.message.text()


def test_an_artifact_is_exported(
    window: MainWindow, project: Project, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = opened(window, project, qtbot)
    assert dialog.file.text().endswith(".gwx")
    dialog.file.selectAll()
    QTest.keyClicks(dialog.file, str(tmp_path / "network.gwx"))
    message = exported(dialog, qtbot)
    assert message.startswith("Exported network.gwx (0.08 MB). Compared on ")
    assert "largest difference 0, relative 0." in message
    assert export.load(tmp_path / "network.gwx").verify().is_identical
    shown: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: shown.append(url.toLocalFile()))
    dialog.open_button.click()
    assert [Path(each) for each in shown] == [tmp_path]
    assert exported(dialog, qtbot) == "network.gwx exists. Enter another name, or select “Replace an earlier file”."
    dialog.replaces.setChecked(True)
    assert exported(dialog, qtbot).startswith("Exported network.gwx")
    dialog.close()
    qtbot.waitUntil(lambda: not window.findChildren(ArtifactDialog))


def test_file_names_are_checked(window: MainWindow, project: Project, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = opened(window, project, qtbot)
    dialog.file.setText(" ")
    assert exported(dialog, qtbot) == "Enter a file name."
    dialog.file.setText(str(tmp_path / "network.onnx"))
    assert exported(dialog, qtbot) == "The file name must end in .gwx."
    dialog.file.setText(str(tmp_path / "missing" / "network.gwx"))
    assert "missing" in exported(dialog, qtbot)
    assert dialog.open_button.isHidden()
    dialog.close()
