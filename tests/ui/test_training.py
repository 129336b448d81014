"""Training in the window: curves, pause, single batches, stop, and failures at their nodes."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine import nn
from studio.document import edits
from studio.document.model import Document
from studio.training.diagnosis import data_bottleneck
from studio.training.runs.metric_points import MetricKind
from studio.ui.panels.runs import runs_panel
from studio.ui.project.project import Project
from studio.ui.window import top_bar
from studio.ui.window.main_window import MainWindow


@pytest.fixture
def endless(project: Project) -> Project:
    """The digits template with more epochs than a test can train."""
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=10_000))
    return project


def points(project: Project, quantity: str = "loss", kind: MetricKind = "train") -> int:
    curve = project.runner.runs[-1].curve(quantity, kind) if project.runner.runs else None
    return len(curve) if curve is not None else 0


def test_curves_grow_from_the_first_batch(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    QTest.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: points(endless) >= 1)
    first = points(endless)
    qtbot.waitUntil(lambda: points(endless) > first)
    plots = window.project_views[endless].runs.plots
    qtbot.waitUntil(lambda: "accuracy" in plots and points(endless, kind="validation") > 0)
    window.project_views[endless].runs.draw()
    assert plots["loss"].curves.points >= first
    assert "Epoch" in window.topbar._progress_text.text()
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: endless.runner.state == "stopped")


def test_hidden_curves_are_complete_after_a_pause(
    qtbot: QtBot, window: MainWindow, endless: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_panel, "_PAUSE_FACTOR", 10_000_000)
    panel = window.project_views[endless].runs
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: panel._redraw.isActive() and panel._redraw.interval() > 10_000)
    window.commands.run("run.pause")
    qtbot.waitUntil(lambda: endless.runner.state == "paused" and not panel._redraw.isActive())
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: endless.runner.state == "stopped")


def test_top_bar_shows_the_progress_of_a_run(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    window.commands.run("run.start")
    numbers = window.topbar.live_values

    def shown() -> dict[str, str]:
        return {each.title.text(): each.value.text() for each in numbers.all if each.isVisible()}

    qtbot.waitUntil(lambda: len(shown()) == 6 and numbers.all[0].validation.text().startswith("val "))
    assert list(shown()) == ["Batch loss", "Accuracy", "Learning rate", "Samples/s", "Memory", "Data wait"]
    assert shown()["Learning rate"] == "0.005"
    assert shown()["Memory"].endswith("B") and shown()["Data wait"].endswith("%")
    qtbot.waitUntil(lambda: "left" in window.topbar._progress_text.text())
    window.resize(900, 700)
    qtbot.waitUntil(lambda: len(shown()) < 6)
    assert next(iter(shown())) == "Batch loss"
    assert all(each.geometry().right() <= numbers.width() for each in numbers.all if each.isVisible())
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: endless.runner.state == "stopped" and "Memory" not in shown())


def test_live_values_fit_without_a_layout_pass(window: MainWindow) -> None:
    numbers = window.topbar.live_values
    numbers.show_values([top_bar._LiveValue("Loss", "2.3")])
    QApplication.processEvents()
    numbers.show_values([top_bar._measured_value("Loss", 0.0904, 0.1495)])
    number = numbers.all[0]
    needed = number.value.sizeHint().width() + number.validation.sizeHint().width()
    assert number.sizeHint().width() > needed


def test_long_data_wait_is_marked(window: MainWindow) -> None:
    numbers = window.topbar.live_values
    numbers.show_values([top_bar._data_wait_value(0.05), top_bar._data_wait_value(0.4)])
    assert [each.value.property("role") for each in numbers.all[:2]] == ["mono", "mono-warning"]
    assert "workers" in numbers.all[1].toolTip()


def test_pause_one_batch_resume_stop(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    runner = endless.runner
    assert runner.steps == 0
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: runner.state == "paused")
    assert points(endless) == runner.steps == 1
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: points(endless) == 2 and runner.state == "paused")
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: points(endless) > 5)
    window.commands.run("run.pause")
    qtbot.waitUntil(lambda: runner.state == "paused")
    points_before = points(endless)
    qtbot.wait(150)
    assert points(endless) == points_before
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: runner.state == "stopped")
    assert window.commands.action("run.start").isEnabled()


def test_a_paused_run_goes_on_without_changing_the_panel_in_front(
    qtbot: QtBot, window: MainWindow, endless: Project
) -> None:
    button, runner = window.topbar.run_button, endless.runner
    window.docks["autograd"].reveal()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not window.docks["runs"].visibleRegion().isEmpty(), "a new run shows its curves"
    window.docks["autograd"].reveal()
    window.commands.run("run.pause")
    qtbot.waitUntil(lambda: runner.state == "paused" and button.isEnabled())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: runner.state == "running")
    assert window.docks["runs"].visibleRegion().isEmpty()
    assert not window.docks["autograd"].visibleRegion().isEmpty()
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not runner.is_active)


def test_window_stays_responsive_during_training(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: points(endless) > 0)
    ticks: list[int] = []
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append(points(endless)))
    timer.start(10)
    # It would wait without effect while the event loop is blocked or the training paused.
    qtbot.waitUntil(lambda: len(ticks) >= 100 and ticks[-1] > ticks[0])
    timer.stop()
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not endless.runner.is_active)


def test_failure_is_shown_at_its_node_and_the_next_run_works(
    qtbot: QtBot, window: MainWindow, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=1))
    qtbot.waitUntil(lambda: project.store.is_checked)

    def explode(*_: object) -> None:
        raise RuntimeError("the dropout caught fire")

    with monkeypatch.context() as patch:
        patch.setattr(nn.Dropout, "forward", explode)
        window.commands.run("run.start")
        qtbot.waitUntil(lambda: project.runner.state == "failed")
    [problem] = project.store.report.errors
    assert problem.node == "dropout"
    assert "caught fire" in problem.message
    assert "1 error" in window.status.check.text()
    assert "caught fire" in window.project_views[project].log.toPlainText()
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert not project.store.report.errors
    assert len(project.runner.runs) == 2


def test_graph_with_errors_is_not_run(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    window.commands.run("run.start")
    assert not project.runner.runs
    assert window.status._message.text() == project.store.report.errors[0].message
    window.commands.run("edit.undo")
    assert window.status._message.text() == ""


def test_closing_a_project_stops_its_run(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: points(endless) > 0)
    session = endless.runner._session
    assert session is not None
    window.open_projects.close(endless)
    assert session.is_over


def test_edits_are_possible_during_a_run(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: points(endless) > 0)
    endless.store.edit("Remove", lambda document: edits.remove(document, ["accuracy", "dropout"]))
    before = points(endless)
    qtbot.waitUntil(lambda: points(endless) > before)
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not endless.runner.is_active)
    assert endless.runner.runs[-1].document is not endless.store.document


def test_autograd_and_canvas_select_each_other(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    panel = window.project_views[project].autograd
    window.commands.run("run.look")
    qtbot.waitUntil(lambda: panel.shown is not None)
    assert panel.shown is not None
    nodes = panel.shown.snapshot.graph.nodes
    project.store.select(["hidden"])
    marked = [nodes[key] for key in panel.view.painter.highlights.marked if isinstance(key, int)]
    assert {node.leaf for node in marked if node.leaf} == {"hidden.weight", "hidden.bias"}
    assert any(node.leaf is None for node in marked)
    assert all(node.gradient_norm is not None for node in marked)
    panel.view.fit()
    logits = next(node for node in nodes if node.leaf == "logits.weight")
    position = panel.view.position_of(logits.id).toPoint()
    QTest.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=position)
    assert project.store.selection == {"logits"}
    assert "logits.weight" in panel.details.toPlainText()


def test_wide_autograd_graph_is_shown_from_the_loss(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    view = window.project_views[project].autograd.view
    window.docks["autograd"].reveal()
    window.resizeDocks([window.docks["autograd"]], [200], Qt.Orientation.Vertical)
    window.commands.run("run.look")
    qtbot.waitUntil(lambda: view.shown is not None)
    assert view.shown is not None
    visible, graph = view.camera.visible, view.scene().itemsBoundingRect()
    left, top, right, bottom = view.shown.drawing.box_of(view.shown.root) or (0, 0, 0, 0)
    assert graph.width() > visible.width()
    assert visible.left() < left < right < visible.right() and visible.top() < top < bottom < visible.bottom()


def test_log_shows_the_end_of_a_run_after_its_last_epoch(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=1))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    lines = [line.split("  ", 1)[1] for line in window.project_views[project].log.toPlainText().splitlines()]
    assert [line.partition(",")[0] for line in lines] == ["Run 1 running", "Epoch 1", "Run 1 done"]


def test_autograd_snapshot_during_a_run(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: points(endless) > 0)
    with qtbot.waitSignal(endless.runner.snapshot_ready, timeout=100_000):
        endless.runner.request_snapshot()
    assert endless.runner.is_active
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not endless.runner.is_active)


def test_code_and_canvas_synchronize_the_selection(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    code = window.project_views[project].code
    window.docks["code"].reveal()
    qtbot.waitUntil(lambda: code.program is not None)
    assert code.program is not None
    project.store.select(["hidden"])
    lines = code.editor.toPlainText().splitlines()
    assert code.editor.marked and all("hidden" in lines[number - 1] for number in code.editor.marked)
    line = next(number for number, node in code.program.lines.items() if node == "logits")
    code.editor.line_clicked.emit(line)
    assert project.store.selection == {"logits"}
    compile(code.editor.toPlainText(), "shown", "exec")


def test_code_panel_keeps_the_last_valid_code(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    code = window.project_views[project].code
    window.docks["code"].reveal()
    qtbot.waitUntil(lambda: code.program is not None)
    good = code.editor.toPlainText()
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(code.notice.isVisible)
    assert code.editor.toPlainText() == good
    project.store.undo()
    qtbot.waitUntil(lambda: not code.notice.isVisible())


def test_read_hide_and_copy_curves(
    qtbot: QtBot, window: MainWindow, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=2))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    panel = window.project_views[project].runs
    panel.draw()
    plot = panel.plots["loss"]
    qtbot.waitUntil(plot.isVisible)
    center = plot.mapFromScene(plot.getViewBox().sceneBoundingRect().center())
    plot._hover(plot.mapToScene(center))
    assert plot._readout.isVisible() and "Run 1" in plot._readout.text()
    panel._copy()
    assert not QApplication.clipboard().pixmap().isNull()
    tick = panel.list.view.visualRect(panel.list.view.model().index(0, 0)).center()
    QTest.mouseClick(panel.list.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(16, tick.y()))
    assert plot.curves.points == 0


def test_data_bottleneck_is_a_problem_with_a_fix(
    qtbot: QtBot, window: MainWindow, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"SHARE": 0.0, "MIN_SECONDS": 0.0, "MIN_TOTAL": 0.0, "MIN_STEPS": 3}.items():
        monkeypatch.setattr(data_bottleneck, name, value)
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: any(problem.code == "slow-data" for problem in project.store.report.problems))
    window.commands.run("run.stop")
    [row] = window.project_views[project].problems.rows
    QTest.mouseClick(row.button, Qt.MouseButton.LeftButton)
    assert project.store.document.nodes["batches"].params["workers"] == 2
    qtbot.waitUntil(lambda: project.store.report.problems == ())
    project.store.undo()
    assert "workers" not in project.store.document.nodes["batches"].params


def test_divergence_is_a_problem_at_the_optimizer_with_a_fix(
    qtbot: QtBot, window: MainWindow, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"SHARE": 0.0, "MIN_SECONDS": 0.0, "MIN_TOTAL": 0.0, "MIN_STEPS": 3}.items():
        monkeypatch.setattr(data_bottleneck, name, value)

    def diverging(document: Document) -> Document:
        document = edits.retype(document, "adam", "optim.SGD", {"lr": 1e6})
        return edits.set_dismissed(document, "adam", ("learning-rate-too-high",))  # the check sees it, too

    project.store.edit("Other", diverging)
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    problems = project.store.report.problems
    assert sorted(problem.code for problem in problems) == ["diverged", "slow-data"], "one does not hide the other"
    problem = next(problem for problem in problems if problem.code == "diverged")
    assert problem.node == "adam" and window.project_views[project].log.toPlainText().count(problem.message) == 1
    assert " · done, diverged" in window.topbar._progress_text.text()
    table = window.project_views[project].runs.list.table
    state = table.index(0, [field.key for field in table.fields].index("state"))
    assert (state.data(), problem.message in state.data(Qt.ItemDataRole.ToolTipRole)) == ("Done, diverged", True)
    row = next(row for row in window.project_views[project].problems.rows if row.button.text().startswith("Set lr to"))
    QTest.mouseClick(row.button, Qt.MouseButton.LeftButton)
    assert project.store.document.nodes["adam"].params["lr"] == 100_000
    qtbot.waitUntil(lambda: project.store.report.problems == ())


def test_autograd_panel_shows_an_earlier_run(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    panel = window.project_views[endless].autograd
    window.docks["autograd"].reveal()
    window.commands.run("run.start")  # which brings Runs to the front
    qtbot.waitUntil(lambda: endless.runner.run is not None and endless.runner.run.progress.step > 3)
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: endless.runner.state == "stopped")
    assert panel.refresher.requests == 0 and panel.snapshot is None, "hidden panels request no step"
    window.docks["autograd"].reveal()
    qtbot.waitUntil(lambda: panel.shown is not None)


def test_run_table_and_top_bar_label_their_losses(qtbot: QtBot, window: MainWindow, endless: Project) -> None:
    table = window.project_views[endless].runs.list.table
    column = [field.key for field in table.fields].index("train_loss")
    across = Qt.Orientation.Horizontal
    assert table.headerData(column, across) == "Mean loss"
    assert "epoch" in table.headerData(column, across, Qt.ItemDataRole.ToolTipRole)
    window.commands.run("run.start")
    first = window.topbar.live_values.all[0]
    qtbot.waitUntil(lambda: first.isVisible() and first.title.text() == "Batch loss")
    assert "batch" in first.toolTip()
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: endless.runner.state == "stopped")
