"""The canvas as screen readers get it: a list of nodes, events of the selection, and announcements."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleEvent, QAccessibleInterface
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.accessibility import canvas_events
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.project import Project
from studio.ui.project.project_store import ProjectStore
from studio.ui.widgets import announcement
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.conftest import FakeChecker, MakeView, network, wire
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard

Name, State = QAccessible.Text.Name, QAccessible.State


class Reader:
    """Stands in for QAccessible in the modules that send events, and records them."""

    Event = QAccessible.Event

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        """Kind and name of the element of each event."""
        self.said: list[str] = []

    @staticmethod
    def isActive() -> bool:
        return True

    def updateAccessibility(self, event: QAccessibleEvent) -> None:
        QAccessible.updateAccessibility(event)
        if isinstance(event, QAccessibleAnnouncementEvent):
            self.said.append(event.message())
        else:
            self.events.append((event.type().name, event.accessibleInterface().text(Name).partition(",")[0]))


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    reader = Reader()
    monkeypatch.setattr(announcement, "QAccessible", reader)
    monkeypatch.setattr(canvas_events, "QAccessible", reader)
    QAccessible.setActive(True)
    yield reader
    QAccessible.setActive(False)


def canvas_of(view: CanvasView) -> QAccessibleInterface:
    return QAccessible.queryAccessibleInterface(view)


def nodes(view: CanvasView) -> dict[str, QAccessibleInterface]:
    canvas = canvas_of(view)
    children = [canvas.child(index) for index in range(canvas.childCount())]
    found = [child for child in children if child.role() == QAccessible.Role.ListItem]
    return {child.text(Name).partition(",")[0]: child for child in found}


def test_each_node_is_an_element_of_the_canvas(view: CanvasView) -> None:
    canvas = canvas_of(view)
    assert (canvas.text(Name), canvas.role()) == ("Canvas", QAccessible.Role.List)
    assert list(nodes(view)) == list(view.store.document.nodes)
    for index, element in enumerate(nodes(view).values()):
        assert canvas.indexOfChild(element) == index
        assert element.parent().object() is view
    widgets = [canvas.child(index).object() for index in range(len(nodes(view)), canvas.childCount())]
    assert view.overlays.search in widgets
    assert canvas.indexOfChild(QAccessible.queryAccessibleInterface(view.overlays.search)) >= len(nodes(view))


def test_names_contain_type_shapes_and_problems(make_view: MakeView, checker: FakeChecker) -> None:
    document = edits.set_param(network(), "hidden", "in_features", 5)
    document = edits.disconnect(document, [wire("batches.target -> loss.target")])
    checker.report = check(document, catalogue(), None)
    named = nodes(make_view(document))
    assert named["digits"].text(Name).startswith("digits, Digits, samples 1×8×8")
    assert named["hidden"].text(Name) == "hidden, Linear, input N×1×8×8 uint8, output N×1×8×32 float32, 1 problem"
    assert "target not connected" in named["loss"].text(Name)
    assert "5" in named["hidden"].text(QAccessible.Text.Description)


def test_state_and_rect(view: CanvasView, user: MouseAndKeyboard) -> None:
    element = nodes(view)["relu"]
    at = view.viewport().mapToGlobal(user.node("relu"))
    assert element.rect().contains(at)
    assert canvas_of(view).childAt(at.x(), at.y()) is element
    assert not element.state().selected and element.state().selectable and not element.state().offscreen
    view.store.select(["relu"])
    assert element.state().selected and element.state().focused
    assert canvas_of(view).focusChild() is element
    view.store.select(["relu", "loss"])
    assert element.state().selected and not element.state().focused
    view.camera.center_on(QPointF(9000, 9000))
    assert element.state().offscreen
    assert canvas_of(view).childAt(at.x(), at.y()) is None


def test_the_actions_of_a_node(view: CanvasView, user: MouseAndKeyboard) -> None:
    actions = nodes(view)["adam"].actionInterface()
    view.camera.center_on(QPointF(-9000, 0))
    actions.doAction(actions.pressAction())
    assert view.store.selection == {"adam"} and view.hasFocus()
    assert not nodes(view)["adam"].state().offscreen
    actions = nodes(view)["relu"].actionInterface()
    actions.doAction(actions.showMenuAction())
    menu = QApplication.activePopupWidget()
    assert menu is not None and view.store.selection == {"relu"}
    menu.close()


def test_elements_follow_the_document(view: CanvasView, store: ProjectStore) -> None:
    gone = nodes(view)["relu"]
    store.edit("Remove", lambda document: edits.remove(document, ["relu"]))
    assert not gone.isValid() and gone.text(Name) == "" and gone.rect().isEmpty() and gone.state().invalid
    del gone
    assert "relu" not in nodes(view)
    store.undo()
    store.edit("Rename", lambda document: edits.rename(document, "relu", "act"))
    assert nodes(view)["act"].isValid() and "relu" not in nodes(view)
    gc.collect()
    for _ in range(20):
        store.undo()
        store.redo()
        assert len(nodes(view)) == len(store.document.nodes)


def test_the_selection_sends_events(view: CanvasView, user: MouseAndKeyboard, reader: Reader) -> None:
    view.store.select(["hidden"])
    reader.events.clear()
    user.key(Qt.Key.Key_Right)
    assert reader.events == [("Focus", "relu"), ("Selection", "relu"), ("SelectionRemove", "hidden")]
    reader.events.clear()
    view.store.select(["relu", "loss"])
    assert reader.events == [("SelectionAdd", "loss")]
    reader.events.clear()
    user.key(Qt.Key.Key_Delete)
    assert ("ObjectReorder", "Canvas") in reader.events


def test_a_large_selection_is_one_event(make_view: MakeView, reader: Reader) -> None:
    document = Document({f"n{index}": Node("nn.ReLU", at=(0, 60.0 * index)) for index in range(40)})
    view = make_view(document)
    reader.events.clear()
    view.store.select(document.nodes)
    assert reader.events == [("SelectionWithin", "Canvas")]


def test_nothing_is_sent_without_a_screen_reader(
    view: CanvasView, user: MouseAndKeyboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader()
    monkeypatch.setattr(announcement, "QAccessible", reader)
    monkeypatch.setattr(canvas_events, "QAccessible", reader)
    monkeypatch.setattr(Reader, "isActive", staticmethod(lambda: False))
    user.key(Qt.Key.Key_Right)
    user.drag(user.port("relu", "output", "output"), user.port("adam", "input", "loss"))
    assert view.overlays.pointer_message.isVisible()
    assert not reader.events and not reader.said


def test_refused_wires_are_announced_once(user: MouseAndKeyboard, reader: Reader) -> None:
    end = user.port("adam", "input", "loss")
    user.drag(user.port("relu", "output", "output"), end, end + QPoint(1, 0), end)
    assert [text for text in reader.said if "provides a tensor" in text] == reader.said and len(reader.said) == 1


def test_lists_announce_their_current_row(user: MouseAndKeyboard, reader: Reader) -> None:
    user.view.store.select(["relu"])
    user.key(Qt.Key.Key_C)
    assert reader.said[-1].startswith("loss · target")
    palette = user.view.overlays.wire_chooser.palette
    QTest.keyClick(palette.edit, Qt.Key.Key_Down)
    assert palette.current is not None and reader.said[-1] == palette.current.description
    QTest.keyClick(palette.edit, Qt.Key.Key_Escape)
    user.key(Qt.Key.Key_Tab)
    QTest.keyClicks(user.view.overlays.search.field, "gelu")
    assert reader.said[-1].startswith("GELU: ")


def test_problems_runs_and_refusals_are_announced(
    qtbot: QtBot, window: MainWindow, project: Project, reader: Reader
) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert reader.said == ["1 error"]
    window.commands.run("run.start")
    assert len(reader.said) == 2 and reader.said[1].startswith("logits expects 100 features")
    project.store.undo()
    project.store.edit("Epochs", lambda document: edits.set_training(document, steps=3))
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert reader.said[-1] == "No problems"
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    assert any(text.endswith("running") for text in reader.said)
    assert any("done, epoch 1, loss" in text for text in reader.said)
