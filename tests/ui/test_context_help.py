"""F1 opens help for the selected node, the focused problem or the current panel."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_grouping import group
from studio.document.blocks.block_library import LibraryBlock, shipped_blocks
from studio.document.files.project_templates import templates
from studio.lowering.analysis.addable_types import addable_types
from studio.lowering.problems.diagnoses import AREAS, DIAGNOSES
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.catalogue import catalogue
from studio.reference.node_pages import section as node_section
from studio.reference.problem_pages import example_of
from studio.ui.panels.problem_row import ProblemRow
from studio.ui.project.project import Project
from studio.ui.theme import icons, theme
from studio.ui.widgets.graph_thumbnail import GraphThumbnail
from studio.ui.window.context_help import CANVAS, PAGE, Topic, topic_of
from studio.ui.window.help_page import HelpPage, section
from studio.ui.window.main_window import MainWindow
from studio.ui.window.welcome_page import TemplateCard


def help_text(qtbot: QtBot, window: MainWindow, widget: QWidget) -> str:
    """The text of the page that F1 opens while a widget has the focus."""
    widget.setFocus()
    QTest.keyClick(widget, Qt.Key.Key_F1)
    [page] = window.findChildren(HelpPage)
    text = page.text.toPlainText()
    page.close()
    qtbot.waitUntil(lambda: not window.findChildren(HelpPage))
    return text


def test_help_on_the_selected_node(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.select(["hidden"])
    assert window.canvas is not None
    text = help_text(qtbot, window, window.canvas)
    assert text.startswith("Linear\n")
    assert "out_features" in text
    assert "N×32" in text


def test_help_on_a_block_has_a_picture(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Group", lambda document: group(document, ["hidden", "relu"], "dense")[0])
    qtbot.waitUntil(lambda: project.store.is_checked)
    project.scope.select(["dense"])
    assert window.canvas is not None
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_F1)
    [page] = window.findChildren(HelpPage)
    [picture] = page.findChildren(GraphThumbnail)
    assert picture.isVisible() and picture.accessibleName() == "Graph of dense"
    assert shows_a_graph(picture)
    page.close()


def shows_a_graph(picture: QWidget) -> bool:
    """Whether a picture has a color besides background, wires and icons."""
    colors = picture.grab().toImage()
    shown = {colors.pixelColor(x, y).name() for x in range(0, colors.width(), 4) for y in range(0, colors.height(), 4)}
    return len(shown) > 3


def test_examples_of_invalid_graphs_are_drawn(qtbot: QtBot) -> None:
    """Also those with cycles, wires of removed nodes, and unknown types."""
    for code in (each.code for area in ("parts", "graph", "parameters") for each in AREAS[area]):
        example = example_of(code)
        assert example is not None
        if example.document.nodes:
            picture = GraphThumbnail(example.document, catalogue())
            qtbot.addWidget(picture)
            assert shows_a_graph(picture), code


@pytest.mark.parametrize("entry", shipped_blocks(), ids=lambda entry: entry.name)
def test_help_on_each_shipped_block(qtbot: QtBot, window: MainWindow, entry: LibraryBlock) -> None:
    project = window.open_projects.new()
    project.store.edit("Open", lambda _: entry.document)
    qtbot.waitUntil(lambda: project.store.is_checked)
    name = next(key for key, node in entry.document.nodes.items() if node.type == f"block.{entry.name}")
    project.scope.select([name])
    assert window.canvas is not None
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_F1)
    [page] = window.findChildren(HelpPage)
    text = page.text.toPlainText()
    assert text.startswith(f"{entry.name}\n")
    assert "multiply-adds per sample" in text
    assert entry.block.description.partition("\n")[0] in text
    [picture] = page.findChildren(GraphThumbnail)
    assert shows_a_graph(picture)
    kind = next(
        each for each in addable_types(project.store.document, catalogue()) if each.key == f"block.{entry.name}"
    )
    assert icons.file(kind.icon, theme.current().color("text")).is_file()


def test_help_on_each_template_of_the_start_page(qtbot: QtBot, window: MainWindow) -> None:
    cards = window.findChildren(TemplateCard)
    assert {card.template.key for card in cards} == {each.key for each in templates()}
    for card in cards:
        assert shows_a_graph(card.findChildren(GraphThumbnail)[0]), card.template.key
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        text = help_text(qtbot, window, card)
        assert text.startswith(f"{card.template.title}\n")
        assert "Optimizer" in text and f"gradwire new {card.template.key}" in text


def test_help_on_a_problem(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    window.show_problems()
    panel = window.docks["problems"].panel
    assert panel is not None
    qtbot.waitUntil(lambda: bool(panel.findChildren(ProblemRow)))
    row = panel.findChildren(ProblemRow)[0]
    text = help_text(qtbot, window, row)
    assert row.problem.message in text
    assert DIAGNOSES[row.problem.code].help in text


def test_help_on_a_problem_shows_its_example(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    fixed = Fix("Remove softmax", lambda document: document)
    problem = Problem("warning", "squashed-scores", "out applies softmax before loss.", node="out", fix=fixed)
    row = ProblemRow(problem, lambda _: None, lambda _: None, project.store.fix_previewer)
    qtbot.addWidget(row)
    topic = topic_of(window, row)
    assert topic.title == "Activation that the loss contains" and topic.graph is not None
    assert "softmax" in topic.graph.nodes and "**Fix: Remove softmax.**" in topic.text


def test_help_on_a_panel(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.select([])
    assert window.canvas is not None
    assert help_text(qtbot, window, window.canvas).startswith(f"{CANVAS}\n")
    for dock in window.docks:
        assert topic_of(window, dock.panel) == Topic(dock.title, section(PAGE, dock.title))


def test_markup_in_a_message_is_shown_literally(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    message = 'The type "![a](b.png) *c* <i>d</i>" is unknown.'
    problem = Problem("error", "unknown-type", message)
    row = ProblemRow(problem, lambda _: None, lambda _: None, project.store.fix_previewer)
    qtbot.addWidget(row)
    topic = topic_of(window, row)
    page = HelpPage(topic.title, topic.text)
    qtbot.addWidget(page)
    assert message in page.text.toPlainText()


def test_help_of_every_node_is_shown_literally(qtbot: QtBot) -> None:
    for kind in catalogue():
        page = HelpPage(kind.title, node_section(kind))
        qtbot.addWidget(page)
        text = " ".join(page.text.toPlainText().split())
        helps = [kind.summary, *(parameter.help for parameter in kind.params)]
        assert [one for one in helps if one not in text] == [], kind.key


@pytest.mark.usefixtures("project")
def test_every_panel_has_a_help_section(window: MainWindow) -> None:
    assert [dock.title for dock in window.docks if not section(PAGE, dock.title)] == []
