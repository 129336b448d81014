"""The Runs panel with all runs of a project: earlier ones, those of other processes, comparing, resuming, the trash."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from studio.document import edits, files
from studio.document.model import Document, End, Node, Wire
from studio.document.templates import template
from studio.nodes.catalogue import catalogue
from studio.training import Session
from studio.training.runs import exporting, records
from studio.training.runs.history import Run
from studio.ui import dialogs, trash
from studio.ui.panels.runs.job_strip import JobStrip
from studio.ui.panels.runs.panel import RunsPanel
from studio.ui.project import Project
from studio.ui.window import MainWindow

MakeRun = Callable[..., Path]


def digits(epochs: int = 2) -> Document:
    return edits.set_training(template("digits-mlp").document, epochs=epochs)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A saved project."""
    found = tmp_path / "work" / "digits.gradwire"
    found.parent.mkdir()
    files.save(digits(), found)
    return found


@pytest.fixture
def make_run(path: Path) -> MakeRun:
    """Trains as the command line does."""

    def make(document: Document | None = None, *, batches: int | None = None, **options: Any) -> Path:
        run = Session(
            document or digits(),
            catalogue(),
            base=path.parent,
            runs=path.with_suffix(".runs"),
            name="digits",
            **options,
        )
        if batches is None:
            run.start()
        for _ in range(batches or 0):
            run.step()
            while run.state != "paused":
                run.events(0.05)
        if batches is not None:
            run.stop()
        assert run.join(600) and run.folder is not None
        return run.folder

    return make


@pytest.fixture
def open_project(qtbot: QtBot, window: MainWindow, path: Path) -> Callable[[], tuple[Project, RunsPanel]]:
    def opened() -> tuple[Project, RunsPanel]:
        project = window.files.open(path)
        assert project is not None
        window.docks["runs"].reveal()
        qtbot.waitUntil(lambda: project.store.is_checked and project.library.has_looked)
        qtbot.waitUntil(lambda: not project.library.is_reading)
        return project, window.desks[project].runs

    return opened


def values(run: Run, quantity: str = "loss") -> list[float]:
    curve = run.curve(quantity, "train")
    return [] if curve is None else curve.column.values.tolist()


def recorded(folder: Path) -> list[float]:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["event"] == "step"]


def click(
    panel: RunsPanel, row: int, *, x: int = 60, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    """At the row of the list, counted as it is sorted."""
    view = panel.list.view
    place = view.visualRect(view.model().index(row, 0)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, held, QPoint(x, place.y()))


def names(panel: RunsPanel) -> list[str]:
    model = panel.list.view.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def place_of(item: QTreeWidgetItem) -> str:
    """The names on the way to a row: hidden/out features."""
    parent = item.parent()
    is_below = parent is not None and parent.parent() is not None
    return f"{parent.text(0)}/{item.text(0)}" if parent is not None and is_below else item.text(0)


def rows(panel: RunsPanel) -> dict[str, list[str]]:
    """What the details tell, by name."""
    facts = panel.details.facts
    found: dict[str, list[str]] = {}

    def walk(item: QTreeWidgetItem) -> None:
        found[place_of(item)] = [item.text(column) for column in range(1, facts.columnCount())]
        for place in range(item.childCount()):
            child = item.child(place)
            assert child is not None
            walk(child)

    for place in range(facts.topLevelItemCount()):
        item = facts.topLevelItem(place)
        assert item is not None
        walk(item)
    return found


def press(panel: RunsPanel, button: Any) -> None:
    QApplication.processEvents()  # what was just shown finds its place
    assert button.isVisible() and button.isEnabled() and button.width() > 16
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    QApplication.processEvents()


# -- all runs


def test_runs_of_earlier_days_are_there_with_their_curves(make_run: MakeRun, open_project: Any) -> None:
    folders = [make_run(), make_run(seed=3), make_run(batches=7)]
    project, panel = open_project()
    assert names(panel) == ["Run 3", "Run 2", "Run 1"]
    assert [run.state for run in project.library.runs] == ["done", "done", "stopped"]
    for run, folder in zip(project.library.runs, folders, strict=True):
        assert run.folder == folder and values(run) == recorded(folder)
    panel.draw()
    assert panel.plots["loss"].curves.points >= 2 * len(recorded(folders[0]))


def test_without_runs_the_panel_offers_one(open_project: Any) -> None:
    _, panel = open_project()
    assert panel._empty.isVisible() and panel._empty.button is not None


def test_a_run_here_joins_those_that_are_there(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    make_run()
    project, panel = open_project()
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    project.library.look()
    qtbot.waitUntil(lambda: bool(project.runner.run.about.get("versions")))
    assert names(panel) == ["Run 2", "Run 1"]
    assert values(project.library.runs[1]) == values(project.library.runs[0])
    assert project.library.runs[1].folder.parent == project.library.folder


def test_a_run_of_another_process_is_followed(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_run()
    lines = (whole / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    about = json.loads((whole / "run.json").read_text())
    other = {"number": 1, "began": records.process(1)["began"]}  # a process that is there
    (whole / "run.json").write_text(json.dumps({**about, "state": "running", "process": other}))
    (whole / "metrics.jsonl").write_bytes(b"".join(lines[:20]) + lines[20][:10])
    project, panel = open_project()
    [run] = project.library.runs
    assert run.state == "running" and not run.is_own
    before = len(values(run))
    with (whole / "metrics.jsonl").open("ab") as file:
        file.write(lines[20][10:] + b"".join(lines[21:]))
    qtbot.waitUntil(lambda: values(run) == recorded(whole) and len(values(run)) > before)
    click(panel, 0)
    assert not panel.do.can_delete() and not panel.do.can_resume()
    (whole / "run.json").write_text(json.dumps({**about, "state": "running", "process": {**other, "began": 1.0}}))
    qtbot.waitUntil(lambda: run.state == "interrupted")


def test_a_run_that_appears_and_one_that_goes(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
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


def test_a_tick_reads_and_shows_a_run(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
    make_run()
    project, panel = open_project()
    [run] = project.library.runs
    panel.draw()
    assert panel.plots["loss"].curves.points
    click(panel, 0, x=16)
    assert not run.is_shown and panel.plots["loss"].curves.points == 0
    click(panel, 0, x=16)
    qtbot.waitUntil(lambda: panel.plots["loss"].curves.points > 0)


def test_runs_are_filtered_by_what_is_said_of_them(make_run: MakeRun, open_project: Any, qtbot: QtBot) -> None:
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


def test_a_row_under_the_pointer_stands_out(make_run: MakeRun, open_project: Any) -> None:
    make_run()
    make_run(seed=1)
    project, panel = open_project()
    view = panel.list.view
    QTest.mouseMove(view.viewport(), view.visualRect(view.model().index(1, 0)).center())
    assert panel.plots["loss"].curves.highlighted is project.library.runs[0]
    QTest.mouseMove(view.viewport(), QPoint(30, view.viewport().height() - 3))
    assert panel.plots["loss"].curves.highlighted is None


def test_a_name_and_a_note_are_kept(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
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


def test_a_run_tells_what_it_was_made_of(make_run: MakeRun, open_project: Any) -> None:
    make_run(seed=3)
    _, panel = open_project()
    click(panel, 0)
    press(panel, panel.bar.details)
    found = rows(panel)
    assert found["hidden"] == ["Linear"] and found["hidden/out features"] == ["256"]
    assert found["seed"] == ["3"] and found["numpy"] == [np.__version__]
    assert any(name.endswith(".npz") or "digits" in name for name in found)


def test_two_runs_are_compared_and_a_changed_node_is_found(make_run: MakeRun, open_project: Any) -> None:
    make_run()
    make_run(edits.set_training(edits.set_param(digits(), "hidden", "out_features", 32), epochs=1), seed=5)
    project, panel = open_project()
    click(panel, 0)
    click(panel, 1, held=Qt.KeyboardModifier.ControlModifier)
    press(panel, panel.bar.details)
    found = rows(panel)
    assert found["hidden/out features"] == ["32", "256"]
    assert found["seed"] == ["5", "0"] and found["epochs"] == ["1", "2"]
    assert "logits" not in found and "numpy" not in found
    facts = panel.details.facts
    [item] = facts.findItems("hidden", Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive, 0)
    facts.scrollToItem(item)
    place = QPoint(60, facts.visualItemRect(item).center().y())
    QTest.mouseClick(facts.viewport(), Qt.MouseButton.LeftButton, pos=place)
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


# -- going on


def test_a_stopped_run_is_resumed_to_the_same_numbers(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    whole, stopped = make_run(), make_run(batches=50)
    project, panel = open_project()
    project.store.edit("Other", lambda document: edits.set_param(document, "hidden", "out_features", 7))
    click(panel, 0)
    press(panel, panel.bar.details)
    assert panel.details.epochs.value() == 2
    press(panel, panel.details.resume)
    qtbot.waitUntil(lambda: project.runner.state == "done")
    run = project.library.runs[1]
    assert run.state == "done" and run.folder == stopped
    told = "The run goes on as it began. The canvas differs now: hidden.out_features is 7, not "
    assert told in window.desks[project].log.toPlainText()
    assert values(run) == recorded(stopped) == recorded(whole)
    assert len(project.library.runs) == 2


def test_stop_in_the_window_leaves_a_checkpoint_to_go_on_from(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    whole = make_run()
    project, panel = open_project()
    for count in range(1, 4):
        window.commands.run("run.step")
        qtbot.waitUntil(lambda: project.runner.state == "paused" and project.runner.run.step == count)  # noqa: B023
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: project.runner.state == "stopped")
    run = project.runner.run
    assert run is not None and run.folder is not None
    assert list((run.folder / "checkpoints").glob("step-*3.safetensors"))
    assert panel.list.selected == [run]
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert values(run) == recorded(run.folder) == recorded(whole)


def test_a_run_that_is_done_goes_on_for_more_epochs(qtbot: QtBot, make_run: MakeRun, open_project: Any) -> None:
    short, long = make_run(), make_run(digits(3))
    project, panel = open_project()
    click(panel, 1)
    press(panel, panel.bar.details)
    assert panel.details.epochs.value() == 4
    panel.details.epochs.setFocus()
    panel.details.epochs.selectAll()
    QTest.keyClicks(panel.details.epochs, "3")
    press(panel, panel.details.resume)
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert values(project.library.runs[0]) == recorded(short) == recorded(long)


def test_a_longer_run_has_its_learning_rate_planned_anew(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    document = edits.add(digits(), "fall", Node("lr_scheduler.PolynomialLR"))
    folder = make_run(edits.connect(document, Wire(End("adam", "optimizer"), End("fall", "optimizer"))))
    project, panel = open_project()
    click(panel, 0)
    press(panel, panel.bar.details)
    assert panel.details.epochs.minimum() == 3, "two are done"
    press(panel, panel.details.resume)
    qtbot.waitUntil(lambda: project.runner.state == "done")
    told = "The learning rate of adam is planned anew, for 4 epochs in all: it is 0.0025 from here on, where it was 0."
    assert told in window.desks[project].log.toPlainText()
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    rates = [line["learning_rate"] for line in lines if line["event"] == "epoch"]
    assert rates == pytest.approx([0.005, 0.0025, 0.0025, 0.00125])


@pytest.mark.parametrize("trouble", ["changed", "gone"])
def test_a_run_whose_data_are_not_what_they_were_stays_what_it_was(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any, path: Path, trouble: str
) -> None:
    table = path.with_name("points.csv")
    table.write_text("a,b,label\n" + "".join(f"{n % 7},{n % 5},{n % 2}\n" for n in range(100)))
    document = edits.retype(digits(), "digits", "data.CSV", {"path": "points.csv", "target": "label"})
    files.save(document, path)
    stopped = make_run(document, batches=2)
    about = (stopped / "run.json").read_bytes()
    table.write_text("a,b,label\n" + "1,2,0\n3,4,1\n" * 50) if trouble == "changed" else table.unlink()
    project, panel = open_project()
    said: list[str] = []
    project.runner.refused.connect(said.append)
    click(panel, 0)
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: said != [])
    [run] = project.library.runs
    assert "points.csv" in said[0] and window.status._said.text() == said[0]
    assert (run.state, project.runner.state, project.runner.run) == ("stopped", "idle", None)
    assert panel.do.can_resume() and not project.runner.is_active
    assert (stopped / "run.json").read_bytes() == about
    log = window.desks[project].log.toPlainText()
    assert "points.csv" in log and f"{run.name} failed" not in log
    assert values(run) == recorded(stopped)
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: len(said) == 2)
    assert said[1] == said[0] and run.state == "stopped"


def test_a_run_of_this_session_that_cannot_go_on_stays_what_it_was(
    qtbot: QtBot, window: MainWindow, open_project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = open_project()
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: project.runner.state == "stopped")
    [run] = project.library.runs
    with monkeypatch.context() as patch:
        patch.setattr("studio.training.session.fingerprints", lambda _: [{"path": "digits", "sha256": "other"}])
        with qtbot.waitSignal(project.runner.refused, timeout=100_000):
            window.commands.run("runs.resume")
    assert (run.state, run.is_own, project.runner.state) == ("stopped", True, "idle")
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert run.state == "done"


def test_a_new_run_begins_with_the_weights_of_another(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    make_run()
    project, panel = open_project()
    click(panel, 0)
    window.commands.run("runs.start-from")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    first, second = map(values, project.library.runs)
    assert np.mean(second[:10]) < np.mean(first[:10]) / 2


def test_a_run_without_a_sound_checkpoint_says_so(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any
) -> None:
    folder = make_run(batches=5)
    (folder / "graph.gradwire").write_text("{")
    project, panel = open_project()
    click(panel, 0)
    window.commands.run("runs.resume")
    qtbot.waitUntil(lambda: "graph.gradwire" in window.status._said.text())
    assert not project.runner.is_active


# -- the trash


def test_runs_go_to_the_trash_and_come_back(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where the trash is on Linux
    folders = [make_run(), make_run(seed=1)]
    _, panel = open_project()
    click(panel, 0)
    QTest.keyClick(panel.list.view, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: names(panel) == ["Run 1"])
    assert not folders[1].exists()
    press(panel, panel.trash.put_back)
    qtbot.waitUntil(lambda: names(panel) == ["Run 2", "Run 1"])
    assert recorded(folders[1])
    assert not list((tmp_path / "data").rglob("*.trashinfo"))


def test_a_run_under_way_is_not_deleted(qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any) -> None:
    project, panel = open_project()
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    click(panel, 0)
    QTest.keyClick(panel.list.view, Qt.Key.Key_Delete)
    assert names(panel) == ["Run 1"]
    assert project.runner.run is not None and project.runner.run.folder is not None
    assert project.runner.run.folder.exists()


# -- long work with files


class Gate:
    """Work that is half done until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        original = getattr(place, name)

        def held(*what: Any) -> Any:
            self.reached.set()
            assert self.opened.wait(100)
            return original(*what)

        monkeypatch.setattr(place, name, held)


def test_points_are_saved_beside_the_window_and_can_be_cancelled(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_run()
    _, panel = open_project()
    target = tmp_path / "out" / "points.csv"
    target.parent.mkdir()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    monkeypatch.setattr(exporting, "_SECONDS", -1.0)
    gate = Gate(monkeypatch, exporting, "_pieces")
    said: list[str] = []
    panel.said.connect(said.append)
    click(panel, 0)
    panel.window().commands.run("runs.csv")
    qtbot.waitUntil(gate.reached.is_set)
    strip = panel.findChild(JobStrip)
    assert strip is not None and strip.isVisible() and "1 run" in strip.words.toolTip() + strip.words.text()
    assert not panel.do.can_export() and not panel.do.can_delete()
    press(panel, strip.cancel)
    gate.opened.set()
    qtbot.waitUntil(lambda: not strip.isVisible())
    assert said == ["Cancelled: nothing was written"] and list(target.parent.iterdir()) == []
    panel.window().commands.run("runs.csv")
    qtbot.waitUntil(lambda: said[-1].startswith("Written to"))
    assert target.read_text().count("\n") > 100 and panel.do.can_export()


def test_closing_a_project_puts_an_end_to_what_is_written(
    qtbot: QtBot, window: MainWindow, make_run: MakeRun, open_project: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    make_run()
    project, panel = open_project()
    target = tmp_path / "out" / "points.csv"
    target.parent.mkdir()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    monkeypatch.setattr(exporting, "_SECONDS", -1.0)
    gate = Gate(monkeypatch, exporting, "_pieces")
    click(panel, 0)
    window.commands.run("runs.csv")
    qtbot.waitUntil(gate.reached.is_set)
    gate.opened.set()
    window.workspace.close(project)
    assert [path.name for path in target.parent.iterdir()] in ([], ["points.csv"])


def test_moving_to_the_trash_can_be_cancelled_between_two_runs(
    qtbot: QtBot, make_run: MakeRun, open_project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where the trash is on Linux
    for seed in (0, 1):
        make_run(seed=seed)
    _, panel = open_project()
    gate = Gate(monkeypatch, trash, "throw_away")
    click(panel, 0)
    click(panel, 1, held=Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(panel.list.view, Qt.Key.Key_Delete)
    qtbot.waitUntil(gate.reached.is_set)
    strip = panel.findChild(JobStrip)
    assert strip is not None
    press(panel, strip.cancel)
    gate.opened.set()
    qtbot.waitUntil(lambda: not strip.isVisible())
    assert len(names(panel)) == 1 and panel.trash.put_back.isVisible()
    press(panel, panel.trash.put_back)
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


def test_saving_during_a_run_moves_it_when_it_has_ended(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    monkeypatch.setattr(dialogs, "path_to_save", lambda *_: tmp_path / "mine.gradwire")
    window.commands.run("file.save")
    assert not (tmp_path / "mine.runs").exists()
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: len(list((tmp_path / "mine.runs").glob("*/weights.safetensors"))) == 1)


def test_runs_of_a_project_that_is_given_up_are_gone(
    qtbot: QtBot, window: MainWindow, project: Project, tmp_path: Path
) -> None:
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    assert list((tmp_path / "state").rglob("run.json"))
    window.workspace.close(project)
    assert not list((tmp_path / "state").rglob("*.runs"))


def test_curves_are_copied_as_a_picture(make_run: MakeRun, open_project: Any) -> None:
    make_run()
    _, panel = open_project()
    QApplication.clipboard().clear()
    panel._copy()
    assert not QApplication.clipboard().pixmap().isNull()
