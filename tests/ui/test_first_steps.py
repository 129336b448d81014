"""First steps of a user: running an empty graph, dropping a file, adding a layer without its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from engine.data.tables.inference.table_schema import SUFFIXES
from studio.document import edits
from studio.document.model import Endpoint, Wire
from studio.nodes.catalogue import catalogue
from studio.nodes.palette_search import SearchMatch
from studio.training.data.imports.file_import import source_type
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.text_fields import TypedField
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def canvas(window: MainWindow, qtbot: QtBot) -> CanvasView:
    """The canvas of a new project."""
    project = window.open_projects.new()
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.canvas is not None
    return window.canvas


def drop_files(target: QWidget, *paths: Path) -> bool:
    """Drag files over a widget and drop them. Returns whether the drag was accepted."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    action, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    position = target.rect().center()
    enter = QDragEnterEvent(position, action, data, buttons, keys)
    QApplication.sendEvent(target, enter)
    if enter.isAccepted():
        QApplication.sendEvent(target, QDropEvent(position.toPointF(), action, data, buttons, keys))
    return enter.isAccepted()


@pytest.mark.parametrize("key", [Qt.Key.Key_F5, Qt.Key.Key_F10])
def test_running_an_empty_graph_shows_requirements_on_the_canvas(
    window: MainWindow, canvas: CanvasView, key: Qt.Key
) -> None:
    hint = canvas.overlays.hint
    assert "The canvas is empty" in hint.heading.text() and not hint.missing.isVisible()
    QTest.keyClick(window.windowHandle(), key)
    assert hint.heading.isVisible() and "Nothing to run" in hint.heading.text()
    assert hint.missing.isVisible() and "optimizer" in hint.missing.text()
    assert canvas.rect().contains(hint.content.geometry())
    assert not hint.content.geometry().intersects(hint.button.geometry())
    assert canvas.add_at_center(SearchMatch(catalogue()["nn.ReLU"])) is None
    assert not hint.heading.isVisible()


def test_running_a_graph_with_errors_shows_the_problems_panel(
    window: MainWindow, project: Project, qtbot: QtBot
) -> None:
    project.store.edit("Break", lambda document: edits.remove(document, ["cross_entropy"]))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    window.docks["log"].reveal()
    QApplication.processEvents()
    panel = window.project_views[project].problems
    assert panel.visibleRegion().isEmpty()
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: not panel.visibleRegion().isEmpty())


def notification_text(window: QWidget, qtbot: QtBot) -> str:
    """The text of the notification above the canvas."""
    qtbot.waitUntil(lambda: any(each.isVisible() for each in window.findChildren(NotificationBar)), timeout=3000)
    return window.findChildren(NotificationBar)[0].text.text()


def test_refused_drop_lists_the_accepted_files(canvas: CanvasView, tmp_path: Path, qtbot: QtBot) -> None:
    assert drop_files(canvas.viewport(), tmp_path / "letter.docx", tmp_path)
    message = notification_text(canvas.window(), qtbot)
    assert "letter.docx" in message and ".csv" in message and "folder of images" in message
    assert not canvas.store.document.nodes


def test_each_suffix_of_a_data_node_can_be_imported() -> None:
    for kind in catalogue():
        for parameter in kind.params[:1]:
            for suffix in parameter.path.suffixes if parameter.path else ():
                assert suffix in SUFFIXES or source_type(Path(f"x{suffix}")) is not None


def test_missing_parameters_of_a_new_node_are_reported_after_a_run_or_wire(
    window: MainWindow, canvas: CanvasView, qtbot: QtBot
) -> None:
    store = canvas.store.project
    canvas.add_at_center(SearchMatch(catalogue()["nn.Conv2d"]))
    [name] = store.document.nodes
    qtbot.waitUntil(lambda: store.is_checked)
    assert store.check_report.errors and not [each for each in store.report.problems if each.node == name]
    assert canvas.canvas_scene.nodes[name].content.error == ""
    form = window.project_views[window.open_projects.projects[0]].inspector.form
    assert isinstance(form, NodeForm)
    lines = {row.parameter.name: row.field.line for row in form.rows if isinstance(row.field, TypedField)}
    assert lines["kernel_size"].placeholderText() == "required"
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: bool([each for each in store.report.errors if each.node == name]))
    assert canvas.canvas_scene.nodes[name].content.error
    canvas.store.select([])
    canvas.add_at_center(SearchMatch(catalogue()["nn.Linear"]))
    [new] = set(store.document.nodes) - {name}
    qtbot.waitUntil(lambda: store.is_checked)
    assert {each.node for each in store.report.problems if each.node} == {name}  # the other one is new
    wire = Wire(Endpoint(name, "output"), Endpoint(new, "input"))
    store.edit("Wire", lambda document: edits.connect(document, wire))
    qtbot.waitUntil(lambda: {each.node for each in store.report.errors if each.node} == {name, new})
