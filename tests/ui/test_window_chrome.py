"""Texts around the canvas are whole where there is room: tabs, status bar, run names, messages."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QTabBar
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.files.project_templates import template
from studio.document.model import Document, Node
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.mark.parametrize("width", [1024, 640, 512])
def test_tabs_of_panels_are_whole_or_scroll(window: MainWindow, project: Project, qtbot: QtBot, width: int) -> None:
    window.resize(width, 700)
    window.docks.make_room(window.size())
    window.docks["problems"].set_count(12)
    QApplication.processEvents()
    [bar] = [
        bar
        for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if bar.isVisible() and bar.count() > 2
    ]
    assert bar.elideMode() is Qt.TextElideMode.ElideNone and bar.usesScrollButtons()
    for index in range(bar.count()):
        assert bar.tabRect(index).width() > bar.fontMetrics().horizontalAdvance(bar.tabText(index))


def test_a_message_gets_the_room_of_figures(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    window.resize(1024, 700)
    status = window.status
    QApplication.processEvents()
    assert status._parameters.isVisible()
    status.show_status("The last run was stopped. Resume it in the menu of the run, or train again from the beginning.")
    QApplication.processEvents()
    assert status._message.width() >= status._message.sizeHint().width()
    status.show_status("")
    QApplication.processEvents()
    assert status._parameters.isVisible()


def test_the_compilation_status_is_whole(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    window.resize(1024, 700)
    status = window.status
    status.compile_button.setVisible(True)
    status.compile_button.setText(" Compiling (kernels 0/8 ready)")
    for text in ("", "Exported digits.svg", "A long message " * 12):
        status.show_status(text)
        QApplication.processEvents()
        assert status.compile_button.width() >= status.compile_button.sizeHint().width()


def test_names_of_runs_get_room(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    runs = window.project_views[project].runs
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not project.runner.is_active)
    [run] = project.runner.runs
    narrow = runs.list.view.columnWidth(0)
    runs.list.renamed.emit(run, "dropout 0.5 with AdamW")
    qtbot.waitUntil(lambda: runs.list.view.columnWidth(0) > narrow + 40)
    index = runs.list.view.model().index(0, 0)
    assert runs.list.view.sizeHintForColumn(0) <= runs.list.view.columnWidth(0)
    assert "dropout 0.5 with AdamW" in index.data(Qt.ItemDataRole.ToolTipRole)


def test_a_long_search_without_matches_is_wrapped(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    canvas = window.canvas
    assert canvas is not None
    window.resize(900, 700)
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_Tab)
    search = canvas.overlays.search
    QTest.keyClicks(search.field, "a layer that nobody has written yet " * 2)
    QApplication.processEvents()
    assert search.note.isVisible() and search.note.height() >= search.note.heightForWidth(search.note.width())
    assert search.rect().contains(search.note.geometry()) and search.rect().contains(search.keys.geometry())


def test_pasting_names_what_is_pasted(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    canvas, store = window.canvas, project.store
    assert canvas is not None
    canvas.setFocus()
    for names, title in ((["hidden"], "Paste hidden"), (["hidden", "relu", "dropout"], "Paste 3 nodes")):
        store.select(names)
        QTest.keyClick(window.windowHandle(), Qt.Key.Key_C, CTRL)
        QTest.keyClick(window.windowHandle(), Qt.Key.Key_V, CTRL)
        assert store.history.entries[store.history.position].title == title
    QApplication.clipboard().setText("nothing")
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_V, CTRL)
    assert store.history.entries[store.history.position].title == "Paste 3 nodes"
    assert canvas.overlays.pointer_message.isVisible(), "the refusal is shown on the canvas"


def test_a_refused_group_is_explained_beside_the_selection(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    project.store.select(["cross_entropy", "logits"])
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_G, CTRL)
    message = canvas.overlays.pointer_message
    assert message.isVisible() and "cross_entropy" in message.text() and "cannot be inside a block" in message.text()
    box = canvas.canvas_scene.boxes(["logits"])["logits"]
    corner = canvas.camera.to_view(QPointF(box.left, box.bottom))
    assert abs(message.y() - corner.y()) < 160 and canvas.rect().contains(message.geometry())


@pytest.mark.parametrize("place", ["bar", "inspector"])
def test_several_nodes_are_grouped_with_a_button(
    window: MainWindow, project: Project, qtbot: QtBot, place: str
) -> None:
    canvas = window.canvas
    assert canvas is not None
    project.store.select(["hidden", "relu"])
    qtbot.wait(50)
    parent = canvas.overlays.bar if place == "bar" else window.project_views[project].inspector
    [button] = [
        each for each in parent.findChildren(QAbstractButton) if "Group into block" in (each.text(), each.toolTip())
    ]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert "block" in project.store.document.blocks
    editor = canvas.overlays.editor
    assert editor is not None and editor.isVisible()
    QTest.keyClicks(editor, "head")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert list(project.store.document.blocks) == ["head"]


def test_an_unchanged_copy_of_a_library_block_is_found_once(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    libraries, name = window.open_projects.libraries, "residual"
    qtbot.waitUntil(lambda: any(each.name == name for each in libraries.blocks))

    def found() -> list[str]:
        canvas = window.canvas
        assert canvas is not None
        return [
            match.kind.key for match in canvas.offers.anywhere().search(name) if match.kind.key.endswith(f".{name}")
        ]

    assert found() == [f"library.shipped.{name}"]
    other = window.open_projects.from_template(template("digits-resnet18"))
    assert found() == [f"block.{name}"]
    other.store.edit("Edit", lambda document: edits_of(document, name))
    assert sorted(found()) == [f"block.{name}", f"library.shipped.{name}"]


def edits_of(document: Document, name: str) -> Document:
    """The document with a changed definition."""
    return edit_block(document, name, lambda graph: edits.add(graph, "extra", Node("nn.ReLU")))
