"""The Runs panel with all runs of a project: earlier ones, those of other processes, comparing, resuming, the trash."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.training.runs.run_locks import RunLock
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import MakeRun, click, digits, names, press, recorded, rows, values

# -- all runs


def test_saved_runs_are_listed_with_their_curves(make_run: MakeRun, open_project: Any) -> None:
    folders = [make_run(), make_run(seed=3), make_run(batches=7)]
    project, panel = open_project()
    assert names(panel) == ["Run 3", "Run 2", "Run 1"]
    assert [run.state for run in project.library.runs] == ["done", "done", "stopped"]
    for run, folder in zip(project.library.runs, folders, strict=True):
        assert run.folder == folder and values(run) == recorded(folder)
    panel.draw()
    assert panel.plots["loss"].curves.points >= 2 * len(recorded(folders[0]))


def test_empty_panel_has_a_run_button(open_project: Any) -> None:
    _, panel = open_project()
    assert panel._empty.isVisible() and panel._empty.button is not None


def test_new_run_is_added_to_the_list(qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any) -> None:
    make_run()
    project, panel = open_project()
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    project.library.scan()
    qtbot.waitUntil(lambda: bool(project.runner.run.metadata.get("versions")))
    assert names(panel) == ["Run 2", "Run 1"]
    assert values(project.library.runs[1]) == values(project.library.runs[0])
    assert project.library.runs[1].folder.parent == project.library.folder


def test_concurrent_runs_get_different_numbers(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    project, panel = open_project()
    file = make_run() / "run.json"  # which the window has not seen yet
    about = json.loads(file.read_bytes())
    file.write_text(json.dumps(about | {"process": {**about["process"], "token": "another"}}))
    window.commands.run("run.start")
    assert project.runner.run.name == "Run 1"
    qtbot.waitUntil(lambda: project.runner.run.metadata.get("number") == 2)  # it is provisional before
    qtbot.waitUntil(lambda: names(panel) == ["Run 2", "Run 1"] and project.runner.run.number == 2)
    qtbot.waitUntil(lambda: project.runner.state == "done")


def test_a_run_of_another_process_is_followed(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_run()
    lines = (whole / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    about = json.loads((whole / "run.json").read_text())
    lock = RunLock(whole)
    (whole / "run.json").write_text(json.dumps({**about, "state": "running", "process": {"number": 1}}))
    (whole / "metrics.jsonl").write_bytes(b"".join(lines[:20]) + lines[20][:10])
    project, panel = open_project()
    [run] = project.library.runs
    assert run.state == "running" and not run.is_own
    before = len(values(run))
    with (whole / "metrics.jsonl").open("ab") as file:
        file.write(lines[20][10:] + b"".join(lines[21:]))
    qtbot.waitUntil(lambda: values(run) == recorded(whole) and len(values(run)) > before)
    click(panel, 0)
    assert not panel.run_actions.can_delete() and not panel.run_actions.can_resume()
    with qtbot.waitSignal(project.runner.refused) as refused:
        project.runner.resume(run)
    assert f"{whole} is being trained by this process. Wait until" in refused.args[0]
    lock.release()
    qtbot.waitUntil(lambda: run.state == "interrupted")


def test_list_follows_added_and_deleted_folders(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
    first = make_run()
    project, panel = open_project()
    make_run(seed=1)
    qtbot.waitUntil(lambda: names(panel) == ["Run 2", "Run 1"])
    assert project.library.runs[1].is_shown
    shutil.rmtree(first)
    qtbot.waitUntil(lambda: names(panel) == ["Run 2"])


def test_many_runs_are_listed_but_only_the_newest_are_drawn(make_run: MakeRun, open_project: Any) -> None:
    folder = make_run()
    for number in range(2, 15):
        other = shutil.copytree(folder, folder.with_name(f"copy-{number:02}"))
        about = json.loads((other / "run.json").read_text())
        (other / "run.json").write_text(json.dumps({**about, "number": number, "started": f"2099-01-{number:02}"}))
    project, panel = open_project()
    assert len(names(panel)) == 14
    shown = [run for run in project.library.runs if run.is_shown]
    assert shown == project.library.runs[-10:]
    assert all(values(run) for run in shown) and not values(project.library.runs[0])


def test_checking_a_run_reads_and_shows_its_curves(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
    make_run()
    project, panel = open_project()
    [run] = project.library.runs
    panel.draw()
    assert panel.plots["loss"].curves.points
    click(panel, 0, x=16)
    assert not run.is_shown and panel.plots["loss"].curves.points == 0
    click(panel, 0, x=16)
    qtbot.waitUntil(lambda: panel.plots["loss"].curves.points > 0)


def test_filter_by_name_note_state_and_setting(make_run: MakeRun, open_project: Any, qtbot: QtBot) -> None:
    make_run()
    make_run(edits.set_param(digits(), "adam", "lr", 0.02))
    _, panel = open_project()
    qtbot.waitUntil(lambda: any("adam.lr 0.02" in str(field.text(run)) for field in panel.list.table.fields
                                for run in panel._library.runs))  # fmt: skip
    QTest.keyClicks(panel.list.search, "lr 0.02")
    assert names(panel) == ["Run 2"]
    QTest.keyClick(panel.list.search, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(panel.list.search, "nothing like that")
    assert names(panel) == []


def test_hovered_row_highlights_its_curve(make_run: MakeRun, open_project: Any) -> None:
    make_run()
    make_run(seed=1)
    project, panel = open_project()
    view = panel.list.view
    QTest.mouseMove(view.viewport(), view.visualRect(view.model().index(1, 0)).center())
    assert panel.plots["loss"].curves.highlighted is project.library.runs[0]
    QTest.mouseMove(view.viewport(), QPoint(30, view.viewport().height() - 3))
    assert panel.plots["loss"].curves.highlighted is None


def test_name_and_note_are_saved(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
    folder = make_run()
    _, panel = open_project()
    click(panel, 0)
    QTest.keyClick(panel.list.view, Qt.Key.Key_F2)
    editor = panel.list.view.findChild(QLineEdit)
    QTest.keyClicks(editor, "Wide")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: names(panel) == ["Wide"])
    press(panel, panel.bar.details)
    QTest.keyClicks(panel.details.note, "as good as the other")
    QTest.keyClick(panel.details.note, Qt.Key.Key_Return)
    about = json.loads((folder / "run.json").read_text())
    assert (about["name"], about["note"]) == ("Wide", "as good as the other")


# -- one run, and two


def test_details_of_one_run(make_run: MakeRun, open_project: Any) -> None:
    make_run(seed=3)
    _, panel = open_project()
    click(panel, 0)
    press(panel, panel.bar.details)
    found = rows(panel)
    assert found["hidden"] == ["Linear"] and found["hidden/out features"] == ["256"]
    assert found["Random seed"] == ["3"] and found["numpy"] == [np.__version__]
    assert any(name.endswith(".npz") or "digits" in name for name in found)


def test_comparison_of_two_runs_links_to_changed_nodes(make_run: MakeRun, open_project: Any) -> None:
    make_run()
    make_run(edits.set_training(edits.set_param(digits(), "hidden", "out_features", 32), epochs=1), seed=5)
    project, panel = open_project()
    click(panel, 0)
    click(panel, 1, held=Qt.KeyboardModifier.ControlModifier)
    press(panel, panel.bar.details)
    found = rows(panel)
    assert found["hidden/out features"] == ["32", "256"]
    assert found["Random seed"] == ["5", "0"] and found["Epochs"] == ["1", "2"]
    assert "logits" not in found and "numpy" not in found
    facts = panel.details.facts
    [item] = facts.findItems("hidden", Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive, 0)
    facts.scrollToItem(item)
    position = QPoint(60, facts.visualItemRect(item).center().y())
    QTest.mouseClick(facts.viewport(), Qt.MouseButton.LeftButton, pos=position)
    assert project.store.selection == {"hidden"}
    press(panel, panel.details.only_differences)
    assert rows(panel)["numpy"] == [np.__version__] * 2


def test_a_graph_is_restored_as_one_edit(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
    before = edits.set_param(edits.remove(digits(), ["accuracy"]), "hidden", "out_features", 32)
    make_run(before)
    project, panel = open_project()
    now = project.store.document
    click(panel, 0)
    press(panel, panel.bar.details)
    press(panel, panel.details.restore)
    assert project.store.document == before
    assert project.store.document.nodes["adam"] is now.nodes["adam"]
    project.store.undo()
    assert project.store.document is now


def test_copy_plots_as_image(make_run: MakeRun, open_project: Any) -> None:
    make_run()
    _, panel = open_project()
    QApplication.clipboard().clear()
    panel._copy()
    assert not QApplication.clipboard().pixmap().isNull()
