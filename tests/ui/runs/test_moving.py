"""Runs are moved: to the trash and back, to an exported file, to the folder where their project is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.training.runs import run_export
from studio.ui import dialogs, trash
from studio.ui.panels.runs.file_job_bar import FileJobBar
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import Gate, MakeRun, click, names, press, recorded, values

# -- the trash


def test_move_runs_to_the_trash_and_restore_them(
    qtbot: QtBot,
    window: MainWindow,
    make_run: MakeRun,
    open_project: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where the trash is on Linux
    folders = [make_run(), make_run(seed=1)]
    _, panel = open_project()
    click(panel, 0)
    panel.list.hovered.emit(panel.list.selected[0])  # the pointer still rests on its row
    QTest.keyClick(panel.list.view, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: names(panel) == ["Run 1"])
    assert panel._highlighted is None, "curves that are left are not faint beside those that are gone"
    assert not folders[1].exists()
    assert window.commands.action("runs.put-back").isEnabled()
    press(panel, panel.trash.restore_from_trash)
    qtbot.waitUntil(lambda: names(panel) == ["Run 2", "Run 1"])
    assert recorded(folders[1])
    assert not list((tmp_path / "data").rglob("*.trashinfo"))


def test_active_run_is_not_deleted(qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any) -> None:
    project, panel = open_project()
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    click(panel, 0)
    QTest.keyClick(panel.list.view, Qt.Key.Key_Delete)
    assert names(panel) == ["Run 1"]
    assert project.runner.run is not None and project.runner.run.folder is not None
    assert project.runner.run.folder.exists()


# -- long work with files


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file that is chosen for points, whose writer tells of every piece."""
    path = tmp_path / "out" / "points.csv"
    path.parent.mkdir()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(run_export, "_SECONDS", -1.0)
    return path


def test_export_in_the_background_can_be_canceled(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch, target: Path
) -> None:
    make_run()
    _, panel = open_project()
    gate = Gate(monkeypatch, run_export, "_chunks")
    messages: list[str] = []
    panel.status_message.connect(messages.append)
    click(panel, 0)
    panel.window().commands.run("runs.csv")
    qtbot.waitUntil(gate.reached.is_set)
    strip = panel.findChild(FileJobBar)
    assert strip is not None and strip.isVisible() and "1 run" in strip.message.toolTip() + strip.message.text()
    assert not panel.run_actions.can_export() and not panel.run_actions.can_delete()
    press(panel, strip.cancel)
    gate.opened.set()
    qtbot.waitUntil(lambda: not strip.isVisible())
    assert messages == ["Canceled. No files were written."] and list(target.parent.iterdir()) == []
    panel.window().commands.run("runs.csv")
    qtbot.waitUntil(lambda: messages[-1].startswith("Exported to"))
    assert target.read_text().count("\n") > 100 and panel.run_actions.can_export()


def test_closing_a_project_cancels_its_export(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any, monkeypatch: Any, target: Path
) -> None:
    make_run()
    project, panel = open_project()
    gate = Gate(monkeypatch, run_export, "_chunks")
    click(panel, 0)
    window.commands.run("runs.csv")
    qtbot.waitUntil(gate.reached.is_set)
    gate.opened.set()
    window.open_projects.close(project)
    assert [path.name for path in target.parent.iterdir()] in ([], ["points.csv"])


def test_cancel_moving_to_the_trash_between_two_runs(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where the trash is on Linux
    for seed in (0, 1):
        make_run(seed=seed)
    _, panel = open_project()
    gate = Gate(monkeypatch, trash, "move_to_trash")
    click(panel, 0)
    click(panel, 1, held=Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(panel.list.view, Qt.Key.Key_Delete)
    qtbot.waitUntil(gate.reached.is_set)
    strip = panel.findChild(FileJobBar)
    assert strip is not None
    press(panel, strip.cancel)
    gate.opened.set()
    qtbot.waitUntil(lambda: not strip.isVisible())
    assert len(names(panel)) == 1 and panel.trash.restore_from_trash.isVisible()
    press(panel, panel.trash.restore_from_trash)
    qtbot.waitUntil(lambda: names(panel) == ["Run 2", "Run 1"])


# -- projects that were never saved


def test_runs_of_an_unsaved_project_move_to_it_when_it_is_saved(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=1))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    [run] = project.library.runs
    assert run.folder is not None and tmp_path / "state" in run.folder.parents
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(dialogs, "save_before_closing", lambda *_, **names: asked.append(names) or "cancel")
    window.files.close(project)
    assert asked == [{"is_running": False, "runs": 1}]
    saved = tmp_path / "mine.gradwire"
    monkeypatch.setattr(dialogs, "path_to_save", lambda *_: saved)
    window.commands.run("file.save")
    qtbot.waitUntil(lambda: run.folder is not None and run.folder.parent == tmp_path / "mine.runs")
    assert recorded(run.folder) == values(run)
    assert not list((tmp_path / "state").rglob("*.runs"))
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    assert len(list((tmp_path / "mine.runs").iterdir())) == 2


def test_run_of_a_project_saved_meanwhile_moves_after_its_end(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    monkeypatch.setattr(dialogs, "path_to_save", lambda *_: tmp_path / "mine.gradwire")
    window.commands.run("file.save")
    assert not (tmp_path / "mine.runs").exists()
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: len(list((tmp_path / "mine.runs").glob("*/weights.safetensors"))) == 1)


def test_closing_a_just_saved_project_keeps_its_active_run(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    monkeypatch.setattr(dialogs, "save_before_closing", lambda *_, **__: "save")
    monkeypatch.setattr(dialogs, "path_to_save", lambda *_: tmp_path / "mine.gradwire")
    window.commands.run("file.close")
    assert not window.open_projects.projects
    assert len(list((tmp_path / "mine.runs").glob("*/weights.safetensors"))) == 1
    assert not list((tmp_path / "state" / "autosave").iterdir())


def test_active_run_moves_to_the_last_saved_path(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path
) -> None:
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    for name in ("first", "second"):
        window.open_projects.save(project, tmp_path / f"{name}.gradwire")
    [owner] = (tmp_path / "state" / "autosave").glob("*.owner")
    assert owner.read_text() == str(tmp_path / "second.runs")
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: len(list((tmp_path / "second.runs").glob("*/weights.safetensors"))) == 1)
    assert not (tmp_path / "first.runs").exists()


def test_runs_of_a_discarded_project_are_deleted(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path
) -> None:
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    assert list((tmp_path / "state").rglob("run.json"))
    window.open_projects.close(project)
    assert not list((tmp_path / "state").rglob("*.runs"))
