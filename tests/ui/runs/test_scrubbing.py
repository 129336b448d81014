"""Steps of finished and running runs on the canvas, chosen with the mouse and keys in the plots."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from studio.document.files import project_files
from studio.training.session_events import Measured
from studio.training.statistics.color_scale import LEVELS, NO_FIGURE, Shade
from studio.training.statistics.statistics_file import StatisticsFile
from studio.training.statistics.step_statistics import StatisticsLayout, StepStatistics
from studio.ui.canvas.canvas_style import shade_color
from studio.ui.canvas.wires.wire_statistics_tooltip import statistics_text
from studio.ui.panels.runs.runs_panel import RunsPanel
from studio.ui.project.project import Project
from studio.ui.project.shown_moment import Moment
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from tests.ui.runs.hand import MakeRun, digits, recorded

OpenProject = Callable[[], tuple[Project, RunsPanel]]
DIRECT_CHILDREN = Qt.FindChildOption.FindDirectChildrenOnly
FIGURES = ("mean", "std", "norm", "nan", "infinite", "gradient")


def write_statistics(folder: Path, factor: float = 1.0, last: int = 80) -> None:
    """Statistics of every 20th step, whose gradient norms shrink tenfold each 20 steps, from the last layer on."""
    layout = StatisticsLayout({"hidden.output": FIGURES, "logits.output": FIGURES}, {})
    (folder / "statistics.bin").unlink(missing_ok=True)
    file = StatisticsFile(folder, layout)
    for step in range(20, last + 1, 20):
        gradient = factor * 10.0 ** (-step / 20)
        numbers = [0, 1, 8, 0, 0, gradient / 100, 0, 1, 8, 0, 0, gradient]
        file.append(step, np.array(numbers, np.float32), has_gradients=True)
    file.write()


@pytest.fixture
def opened(make_run: MakeRun, open_project: OpenProject, window: MainWindow) -> tuple[Project, RunsPanel]:
    """A finished run of 90 steps, colored by gradient norm."""
    write_statistics(make_run(digits(epochs=2)))
    project, panel = open_project()
    panel.bar.axis.setCurrentIndex(1)
    panel.bar.axis.activated.emit(1)
    panel.draw()
    window.commands.run("view.color-gradient")
    return project, panel


def position(panel: RunsPanel, step: float) -> QPoint:
    """Where a step is in the plot of the loss, on the lower half of the line."""
    plot = panel.plots["loss"]
    box = plot.getViewBox()
    scene = box.mapViewToScene(QPointF(step, 0))
    return plot.mapFromScene(QPointF(scene.x(), box.sceneBoundingRect().center().y()))


def drag(panel: RunsPanel, start: float, end: float) -> None:
    viewport = panel.plots["loss"].viewport()
    begin, goal = position(panel, start), position(panel, end)
    QTest.mouseMove(viewport, begin)
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=begin)
    for share in (0.3, 0.6, 1.0):
        QTest.mouseMove(viewport, begin + (goal - begin) * share)
        QTest.qWait(20)  # pyqtgraph drops moves that follow each other closely
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=goal)


def shades(window: MainWindow) -> dict[str, Shade | None]:
    assert window.canvas is not None
    nodes = window.canvas.canvas_scene.nodes
    return {name: nodes[name].state.shade for name in ("digits", "hidden", "logits")}


def pixel(window: MainWindow, name: str) -> str:
    """The color of a node on the screen."""
    canvas = window.canvas
    assert canvas is not None
    box = canvas.canvas_scene.nodes[name].box
    at = canvas.camera.to_view(QPointF(box.right - 8, box.bottom - 4)).toPoint()
    return canvas.viewport().grab().toImage().pixelColor(at).name()


def color(shade: Shade | None) -> str:
    assert shade is not None
    return shade_color(theme.current(), shade).name()


def test_dragging_the_marker_of_a_finished_run_recolors_the_canvas(
    window: MainWindow, opened: tuple[Project, RunsPanel], qtbot: QtBot
) -> None:
    project, panel = opened
    marker, legend = panel.plots["loss"].marker, window.project_views[project].color_by.legend
    assert marker.isVisible() and project.moment.is_live
    assert panel.moment_bar.text.text() == "Run 1, step 90 (measured at 80)"
    before = shades(window)
    assert before["digits"] == NO_FIGURE and pixel(window, "hidden") == color(before["hidden"])
    drag(panel, 90, 26)
    assert not project.moment.is_live and project.moment.step in range(22, 30)
    assert legend.source.text() == panel.moment_bar.text.text() == f"{project.moment.moment.title} (measured at 20)"
    after = shades(window)
    assert after["logits"] == Shade("amount", LEVELS) != before["logits"]
    assert [pixel(window, name) for name in after] == [color(shade) for shade in after.values()]
    assert window.canvas is not None
    wires = {wire.source.node: item.shade for wire, item in window.canvas.canvas_scene.wires.items()}
    assert (wires["hidden"], wires["logits"]) == (after["hidden"], after["logits"])
    assert (legend.low.text(), legend.high.text()) == ("1e-6", "1e-1"), "of all steps"
    QTest.mouseClick(panel.moment_bar.follow, Qt.MouseButton.LeftButton)
    assert project.moment.is_live and shades(window) == before


def test_keys_go_from_one_measured_step_to_the_next(window: MainWindow, opened: tuple[Project, RunsPanel]) -> None:
    project, panel = opened
    plot, moment = panel.plots["loss"], project.moment
    plot.setFocus()
    steps: list[int] = []
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_End, Qt.Key.Key_PageUp):
        QTest.keyClick(plot, key)
        steps.append(moment.step)
    assert steps == [20, 40, 20, 80, 20]
    assert plot.marker.at == 20
    for key, step in ((Qt.Key.Key_Period, 40), (Qt.Key.Key_Comma, 20)):
        QTest.keyClick(window, key, Qt.KeyboardModifier.AltModifier)
        assert moment.step == step
    QTest.keyClick(window, Qt.Key.Key_Slash, Qt.KeyboardModifier.AltModifier)
    assert moment.is_live


def choose(menu: QMenu, text: str) -> None:
    """Choose the entry that begins with a text, with the mouse."""
    action = next(action for action in menu.actions() if action.text().startswith(text))
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())


def test_two_steps_are_compared_by_ratios(window: MainWindow, opened: tuple[Project, RunsPanel]) -> None:
    project, panel = opened
    colors = window.project_views[project].color_by
    panel.plots["loss"].setFocus()
    QTest.keyClick(panel.plots["loss"], Qt.Key.Key_Home)
    menu = panel.moment_bar.compare.menu()
    menu.popup(panel.moment_bar.compare.mapToGlobal(QPoint(0, 20)))
    choose(menu, "This step")
    QTest.keyClick(panel.plots["loss"], Qt.Key.Key_Right)
    assert colors.values.nodes == pytest.approx({"hidden": 0.1, "logits": 0.1}, rel=1e-5)
    shade = shades(window)["logits"]
    assert shade is not None and shade.kind == "change" and shade.level < 0
    assert pixel(window, "logits") == color(shade)
    assert colors.legend.source.text() == "Run 1, step 40 compared with step 20"
    assert (colors.legend.low.text(), colors.legend.high.text()) == ("×0.062", "×16")
    assert panel.plots["loss"].base_marker.isVisible() and panel.plots["loss"].base_marker.at == 20
    QTest.mouseClick(colors.legend.action, Qt.MouseButton.LeftButton)
    assert project.moment.base is None and shades(window)["logits"].kind == "amount"


def test_steps_with_the_same_gradients_are_not_called_unchanged(
    window: MainWindow, opened: tuple[Project, RunsPanel]
) -> None:
    project, _ = opened
    colors, run = window.project_views[project].color_by, project.moment.run
    assert run is not None and run.folder is not None
    outputs = {"logits.output": {"gradient": 0.5}}
    project.moment.show(run.folder, 40)
    project.moment.compare(Moment(run, 20, StepStatistics(20, outputs, {}, 40)))
    assert colors.legend.source.text() == "Both steps have the gradients of step 40. Choose steps further apart"
    assert colors.values.nodes == {} and set(shades(window).values()) == {None}
    QTest.mouseClick(colors.legend.action, Qt.MouseButton.LeftButton)
    assert project.moment.base is None and colors.values.nodes


def test_the_list_of_figures_opens_above_its_button_and_colors_the_canvas(
    window: MainWindow, opened: tuple[Project, RunsPanel], qtbot: QtBot
) -> None:
    project, _ = opened
    colors = window.project_views[project].color_by
    chooser = colors.legend.chooser
    QTest.mouseClick(chooser, Qt.MouseButton.LeftButton)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu) and menu.layoutDirection() == Qt.LayoutDirection.LeftToRight
    assert menu.geometry().left() >= chooser.mapToGlobal(QPoint(0, 0)).x()
    [row] = [action for action in menu.actions() if action.text() == "Dead units"]
    assert row.toolTip().startswith("Share of the units")
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(row).center())
    assert colors.key == "dead"


def test_two_runs_are_compared(window: MainWindow, make_run: MakeRun, open_project: OpenProject, qtbot: QtBot) -> None:
    for factor in (1.0, 4.0):
        write_statistics(make_run(digits(epochs=1), seed=int(factor)), factor, last=40)
    project, panel = open_project()
    window.commands.run("view.color-gradient")
    assert panel.moment_bar.text.text() == "Run 2, step 45 (measured at 40)"
    menu = panel.moment_bar.compare.menu()
    menu.popup(panel.moment_bar.compare.mapToGlobal(QPoint(0, 20)))
    choose(menu, "Run 1, step ")
    assert window.project_views[project].color_by.values.nodes["logits"] == pytest.approx(4, rel=1e-5)


def test_the_legend_explains_a_color_and_highlights_its_nodes(
    window: MainWindow, opened: tuple[Project, RunsPanel]
) -> None:
    project, _ = opened
    legend = window.project_views[project].color_by.legend
    assert window.canvas is not None
    nodes = window.canvas.canvas_scene.nodes
    shade = nodes["logits"].state.shade
    assert shade is not None
    QTest.mouseMove(legend.bar, legend.bar.center_of(shade))
    assert {name for name, item in nodes.items() if item.state.highlighted} == {"logits"}
    assert legend.bar._describe(shade).endswith(": 1 node")
    QTest.mouseMove(legend.none, QPoint(4, 4))
    highlighted = {name for name, item in nodes.items() if item.state.highlighted}
    assert highlighted == set(nodes) - {"hidden", "logits"}


def in_menu(act: Callable[[QMenu], object]) -> None:
    """Do something in the menu that the next call opens."""

    def opened() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        try:
            act(menu)
        finally:
            menu.close()

    QTimer.singleShot(100, opened)


def hover_text(window: MainWindow, source: str) -> str:
    """The tooltip of a wire that starts at a node."""
    assert window.canvas is not None
    items = window.canvas.canvas_scene.wires
    wire = next(wire for wire in items if wire.source.node == source)
    return statistics_text(window.project_views[window.project].wire_statistics.request(wire.source))


def test_values_on_wires_are_those_of_the_shown_step(window: MainWindow, opened: tuple[Project, RunsPanel]) -> None:
    _, panel = opened
    assert "Computing" in hover_text(window, "logits"), "live: with the current weights"
    panel.plots["loss"].setFocus()
    QTest.keyClick(panel.plots["loss"], Qt.Key.Key_Home)
    text = hover_text(window, "logits")
    assert "gradient norm" in text and "<code>0.1</code>" in text and "Run 1, step 20" in text


def test_a_checkpoint_is_marked_shows_its_weights_and_continues_as_a_new_run(
    window: MainWindow, make_run: MakeRun, open_project: OpenProject, path: Path, qtbot: QtBot
) -> None:
    document = digits(epochs=2)
    training = replace(document.training, checkpoint_steps=30, checkpoint_seconds=1e6, checkpoints=9)
    document = replace(document, training=training)
    project_files.save(document, path)
    folder = make_run(document)
    write_statistics(folder)
    project, panel = open_project()
    window.commands.run("view.color-gradient")
    plot, marks = panel.plots["loss"], panel.plots["loss"].checkpoints
    qtbot.waitUntil(lambda: {30, 60} <= {mark.step for mark in marks.marks})
    mark = next(mark for mark in marks.marks if mark.step == 30)
    at = plot.mapFromScene(
        plot.getViewBox().mapViewToScene(QPointF(mark.at, plot.getViewBox().viewRect().center().y()))
    )
    in_menu(lambda menu: choose(menu, "Show weights of this checkpoint"))
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.RightButton, pos=at)
    moment = project.moment.moment
    assert moment is not None and moment.label == "Run 1, step 30 (measured at 20, weights of the checkpoint)"
    assert shades(window)["logits"] == Shade("amount", LEVELS)
    qtbot.waitUntil(lambda: "Run 1, step 30, one" in hover_text(window, "logits"))
    before = (folder / "metrics.jsonl").read_bytes(), (folder / "run.json").read_bytes()
    in_menu(lambda menu: choose(menu, "Resume from here as a new run"))
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.RightButton, pos=at)
    qtbot.waitUntil(lambda: len(project.library.runs) == 2 and project.runner.state == "done")
    new = project.runner.run
    assert new is not None and new.name == "Run 2" and new.folder is not None
    assert recorded(new.folder) == recorded(folder), "the same numbers again"
    assert before == ((folder / "metrics.jsonl").read_bytes(), (folder / "run.json").read_bytes())


def test_the_canvas_follows_a_running_run_and_goes_back_in_it(
    window: MainWindow, opened: tuple[Project, RunsPanel], qtbot: QtBot
) -> None:
    project, panel = opened
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused" and project.runner.run.folder is not None)
    run = project.runner.run
    assert run is not None and run.folder is not None

    def measure(step: int, gradient: float) -> None:
        outputs = {"logits.output": {"gradient": gradient}, "hidden.output": {"gradient": gradient}}
        project.runner.events.emit([Measured(lambda step=step: StepStatistics(step, outputs, {}, step - 1))])

    colors = window.project_views[project].color_by
    measure(1, 0.5)
    qtbot.waitUntil(lambda: colors.values.nodes == {"logits": 0.5, "hidden": 0.5})
    assert colors.legend.source.text() == "Run 2, step 1, gradients of step 0"
    measure(2, 0.25)
    qtbot.waitUntil(lambda: colors.values.nodes == {"logits": 0.25, "hidden": 0.25})
    write_statistics(run.folder, last=20)
    panel.draw()
    panel.plots["loss"].setFocus()
    QTest.keyClick(panel.plots["loss"], Qt.Key.Key_Home)
    assert not project.moment.is_live and project.moment.run is run
    shown = dict(colors.values.nodes)
    measure(3, 7.0)
    qtbot.wait(300)
    assert colors.values.nodes == shown, "the chosen step stays"
    QTest.mouseClick(colors.legend.action, Qt.MouseButton.LeftButton)
    assert colors.values.nodes == {"logits": 7.0, "hidden": 7.0}
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: project.runner.state == "stopped")


def overlapping(widget: QWidget) -> list[tuple[QWidget, QWidget]]:
    """Pairs of visible children that are drawn over each other."""
    children = [child for child in widget.findChildren(QWidget, options=DIRECT_CHILDREN) if child.isVisible()]
    return [(one, two) for one, two in combinations(children, 2) if one.geometry().intersects(two.geometry())]


def test_the_shown_step_is_readable_in_a_small_window(
    window: MainWindow, opened: tuple[Project, RunsPanel], qtbot: QtBot
) -> None:
    """The legend has a second row, and the bar above the plots short buttons."""
    window.resize(1024, 700)
    project, panel = opened
    legend, bar = window.project_views[project].color_by.legend, panel.moment_bar
    one_row = legend.height()
    for _ in range(2):
        QTest.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.AltModifier)
    assert legend.source.text() == bar.text.text() == "Run 1, step 60"
    qtbot.waitUntil(lambda: bar.follow.text() == "Follow" and legend.height() > one_row)
    QApplication.processEvents()
    for label in (legend.source, bar.text):
        assert label.width() >= label.sizeHint().width(), "the step is not cut off"
    assert overlapping(legend) == overlapping(bar) == []
    menu = bar.compare.menu()
    QTimer.singleShot(0, lambda: choose(menu, "Last measured step"))
    QTest.mouseClick(bar.compare, Qt.MouseButton.LeftButton)
    assert legend.source.text() == "Run 1, step 60 compared with step 80" and not bar.stop.isVisible()
    QApplication.processEvents()
    assert overlapping(legend) == overlapping(bar) == []
    QTimer.singleShot(0, lambda: choose(menu, "Stop comparing"))
    QTest.mouseClick(bar.compare, Qt.MouseButton.LeftButton)
    assert project.moment.base is None
    QTest.mouseClick(bar.follow, Qt.MouseButton.LeftButton)
    assert project.moment.is_live
    window.resize(1600, 900)
    qtbot.waitUntil(lambda: legend.height() == one_row and bar.compare.text() == "Compare with…")
    assert bar.compare.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextOnly
