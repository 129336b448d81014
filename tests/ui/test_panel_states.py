"""States of panels: empty, without curves, with errors, and legible in both themes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QScrollArea, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Node
from studio.ui.panels.code.code_editor import CodeEditor
from studio.ui.panels.runs import run_table
from studio.ui.project.project import Project
from studio.ui.theme import theme
from studio.ui.theme.theme import contrast
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.inputs import ComboBox, LineEdit
from studio.ui.widgets.labels import ElidedLabel
from studio.ui.window.main_window import MainWindow


def highest_contrast(widget: QWidget, left: int, right: int) -> float:
    """The highest contrast of a pixel between two columns with the background of a field."""
    image = widget.grab().toImage()
    middle = image.height() // 2
    background = image.pixelColor(image.width() // 2, 4)
    pixels = ((x, y) for x in range(left, right) for y in range(middle - 6, middle + 6))
    return max(contrast(image.pixelColor(x, y), background) for x, y in pixels)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_defaults_and_the_clear_button_of_a_field_are_legible(qtbot: QtBot, window: MainWindow, mode: str) -> None:
    theme.manager().set_mode(mode)  # type: ignore[arg-type]
    page = QWidget()
    qtbot.addWidget(page)
    column = QVBoxLayout(page)
    implied, cleared = LineEdit(), LineEdit("a")
    implied.setPlaceholderText("64 (from input)")
    cleared.setClearButtonEnabled(True)
    for field in (implied, cleared):
        field.setFixedWidth(240)
        column.addWidget(field)
    page.show()
    qtbot.waitExposed(page)
    qtbot.waitUntil(cleared.findChildren(QToolButton)[0].isVisible)
    assert cleared.findChild(QAction, "_q_qlineeditclearaction") is not None
    assert highest_contrast(implied, 6, 100) >= 4.5
    assert highest_contrast(cleared, 214, 236) >= 3.0


def test_a_list_uses_the_room_beside_its_arrow(qtbot: QtBot, window: MainWindow) -> None:
    field = ComboBox()
    qtbot.addWidget(field)
    field.addItem("independent")
    field.show()
    width = field.fontMetrics().horizontalAdvance("independent")
    field.setFixedWidth(width + 48)
    whole = field.grab().toImage()
    field.setFixedWidth(width + 96)
    wide = field.grab().toImage()
    text = range(4, width + 10)
    assert all(whole.pixelColor(x, whole.height() // 2) == wide.pixelColor(x, wide.height() // 2) for x in text)


def test_the_log_says_what_appears_in_it(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.docks["log"].reveal()
    log = window.project_views[project].log
    empty = log.findChild(EmptyState)
    assert empty is not None and empty.isVisible() and empty.size() == log.viewport().size()
    log.add("Saved.")
    assert not empty.isVisible()


def test_code_of_a_graph_with_errors_leads_to_its_problems(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    code = window.project_views[project].code
    window.docks["code"].reveal()
    qtbot.waitUntil(lambda: code.program is not None)
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(code.notice.isVisible)
    QTest.mouseClick(code.notice.button, Qt.MouseButton.LeftButton)
    problems = window.docks["problems"].panel
    assert problems is not None
    qtbot.waitUntil(problems.isVisible)


def test_an_empty_project_has_no_code_but_a_way_to_its_problems(qtbot: QtBot, window: MainWindow) -> None:
    window.open_projects.new()
    assert window.project is not None
    window.docks["code"].reveal()
    code = window.project_views[window.project].code
    button = code._empty.button
    assert button is not None
    qtbot.waitUntil(button.isVisible)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    problems = window.docks["problems"].panel
    assert problems is not None
    qtbot.waitUntil(problems.isVisible)


def test_page_buttons_of_the_data_panel_are_shown_as_a_pair(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.docks["data"].reveal()
    panel = window.project_views[project].data
    qtbot.waitUntil(lambda: panel.view.isVisible() and panel.header.index_box.isVisible())
    header, seen = panel.header, set[bool]()
    for width in range(360, 1100, 20):
        header.setFixedWidth(width)
        shown = header.next_page.isVisible()
        assert header.previous_page.isVisible() == shown, width
        seen.add(shown)
    assert seen == {True, False}


def test_runs_without_curves_say_when_they_appear(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=2))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.docks["runs"].reveal()
    runs = window.project_views[project].runs
    window.start_run()
    qtbot.waitUntil(lambda: bool(project.runner.runs))
    if not runs.plots:
        assert runs._no_curves.isVisible()
    qtbot.waitUntil(lambda: bool(runs.plots) and not runs._no_curves.isVisible())
    qtbot.waitUntil(lambda: not project.runner.is_active)


def test_strings_of_several_lines_are_highlighted(qtbot: QtBot, window: MainWindow) -> None:
    editor = CodeEditor()
    qtbot.addWidget(editor)
    editor.show_source('"""First\nsecond if\nend""" + f\nx = 1')
    string = theme.current().color("code-string")

    def colors(line: int) -> list[tuple[int, int, bool]]:
        formats = editor.document().findBlockByNumber(line).layout().formats()
        return [(each.start, each.length, each.format.foreground().color() == string) for each in formats]

    assert colors(0) == [(0, 8, True)]
    assert colors(1) == [(0, 9, True)]
    assert colors(2) == [(0, 6, True)]
    assert not any(is_string for _, _, is_string in colors(3))


def test_buttons_of_a_node_share_a_row_if_they_fit(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.scope.select(["hidden"])
    window.docks["inspector"].reveal()
    titles = ("Freeze", "Mute", "Recompute")

    def rows() -> set[int]:
        buttons = [each for each in window.docks["inspector"].findChildren(QToolButton) if each.text() in titles]
        return {each.mapTo(window, QPoint()).y() for each in buttons} if len(buttons) == len(titles) else set()

    qtbot.waitUntil(lambda: len(rows()) == 1)


def test_the_list_of_differences_stays_in_its_corner(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    view = window.project_views[project]
    view.compare_with("saved", project.store.document)
    qtbot.waitUntil(view.comparison.list.isVisible)
    before = view.comparison.list.geometry()
    viewport = view.canvas.viewport()
    place, distance = QPointF(viewport.rect().center()), QPoint(-60, -40)
    wheel = QWheelEvent(
        place, viewport.mapToGlobal(place), distance, distance * 8, Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.ScrollUpdate, False,
    )  # fmt: skip
    left = view.canvas.camera.visible.left()
    QApplication.sendEvent(viewport, wheel)
    qtbot.waitUntil(lambda: view.canvas.camera.visible.left() != left)
    assert view.comparison.list.geometry() == before


def test_the_find_bar_does_not_cover_the_path_of_a_block(qtbot: QtBot, window: MainWindow) -> None:
    project = window.open_projects.from_template(template("digits-resnet18"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.resize(1024, 700)
    window.commands.run("edit.find")
    view = window.project_views[project].canvas
    QTest.keyClicks(view.overlays.find_bar.field, "conv")
    QTest.keyClick(view.overlays.find_bar.field, Qt.Key.Key_Return)
    path, bar = view.overlays.breadcrumbs, view.overlays.find_bar
    qtbot.waitUntil(path.isVisible)
    qtbot.waitUntil(lambda: not path.geometry().intersects(bar.geometry()))
    assert view.viewport().rect().contains(bar.geometry())


@pytest.mark.parametrize(("last", "text"), [({"train_loss": None}, "NaN"), ({"train_loss": 0.5}, "0.5000"), ({}, "")])
def test_a_loss_without_a_value_is_named_in_the_list_of_runs(last: dict[str, float | None], text: str) -> None:
    columns = {column.key: column for column in run_table._fields((), lambda run: "")}
    run = SimpleNamespace(last=last)
    assert columns["train_loss"].text(run) == text  # type: ignore[arg-type]


def test_problems_of_nodes_with_long_names_fit_a_narrow_panel(
    qtbot: QtBot, window: MainWindow, project: Project
) -> None:
    node = Node("nn.Linear", {"out_features": 4, "unknown_parameter": 1})
    project.store.edit("Add", lambda document: edits.add(document, "a_name_that_is_long_" * 4, node))
    window.show_problems()
    panel = window.project_views[project].problems
    qtbot.waitUntil(lambda: any(row.problem.fix is not None for row in panel.rows))
    window.resize(1024, 700)
    area = panel.findChild(QScrollArea)
    assert area is not None
    qtbot.waitUntil(lambda: panel.width() < 560)
    qtbot.waitUntil(lambda: all(row.width() <= area.viewport().width() for row in panel.rows))


def test_the_empty_state_of_a_low_panel_keeps_its_text(qtbot: QtBot) -> None:
    """The icon goes first, then the hint, which the title tells instead."""
    empty = EmptyState("ok", "No problems", "Errors and warnings of the graph appear here.", action="Run", run=print)
    panel = QWidget()
    qtbot.addWidget(panel)
    empty.setParent(panel)
    empty.resize(400, 300)
    panel.resize(400, 300)
    panel.show()
    button, hint = empty.button, empty._hint
    assert button is not None
    qtbot.waitUntil(lambda: empty._icon.isVisible() and hint.isVisible())
    empty.resize(400, 120)
    qtbot.waitUntil(lambda: not empty._icon.isVisible() and hint.isVisible())
    empty.resize(400, 90)
    qtbot.waitUntil(lambda: not hint.isVisible() and empty.rect().contains(button.geometry()))
    assert empty._title.isVisible()
    assert empty._title.toolTip() == hint.text()
    empty.resize(400, 300)
    qtbot.waitUntil(lambda: empty._icon.isVisible() and hint.isVisible())


def test_a_label_elides_the_middle_of_a_path(qtbot: QtBot) -> None:
    pictures = list[QImage]()
    for text in ("encoder_block_0.attention.output_weight", "encoder_block_0.attention.output_x"):
        path = ElidedLabel(text, mode=Qt.TextElideMode.ElideMiddle)
        qtbot.addWidget(path)
        path.resize(90, 20)
        pictures.append(path.grab().toImage())
    assert pictures[0] != pictures[1]


def test_a_label_of_its_natural_width_is_not_elided(qtbot: QtBot) -> None:
    for share in range(100):
        whole, wide = ElidedLabel(f"Measuring, {share}%"), ElidedLabel(f"Measuring, {share}%")
        for each, more in ((whole, 0), (wide, 20)):
            qtbot.addWidget(each)
            each.resize(each.sizeHint().width() + more, 20)
        natural = wide.grab().toImage().copy(0, 0, whole.width(), 20)
        assert whole.grab().toImage() == natural, share
