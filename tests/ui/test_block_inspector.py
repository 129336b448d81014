"""The inspector of instances, ports and nodes inside blocks."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_edits import edit_block, promote
from studio.document.blocks.block_grouping import group
from studio.document.blocks.block_locations import Step
from studio.document.model import Document, Node, ParamRef
from studio.ui.panels.inspector.block_form import BlockForm
from studio.ui.panels.inspector.instance_section import InstanceSection
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.port_order import PortSection
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.test_fields import CTRL, WindowUser, rows

Key = Qt.Key


def with_block(document: Document) -> Document:
    document, _ = group(document, ["hidden", "relu", "dropout"], "dense")
    return document


@pytest.fixture
def blocked(qtbot: QtBot, window: MainWindow, project: Project) -> Project:
    """The digits template with three of its nodes in a block, and the instance selected."""
    project.store.edit("Group", with_block)
    qtbot.waitUntil(lambda: project.store.is_checked)
    project.store.select(["dense"])
    return project


@pytest.fixture
def user(window: MainWindow, qtbot: QtBot) -> WindowUser:
    return WindowUser(window, qtbot)


def form(window: MainWindow, project: Project) -> NodeForm:
    found = window.project_views[project].inspector.form
    assert isinstance(found, NodeForm)
    return found


def section(window: MainWindow, project: Project) -> InstanceSection:
    return next(each for each in form(window, project).offers if isinstance(each, InstanceSection))


def write(user: WindowUser, text: str) -> None:
    field = QApplication.focusWidget()
    assert field is not None
    QTest.keyClicks(field, text)


def test_the_block_of_an_instance_is_renamed_and_described(
    window: MainWindow, blocked: Project, user: WindowUser
) -> None:
    fields = section(window, blocked).definition
    user.enter(fields.name.line)
    write(user, "Wide part")
    user.key(Key.Key_Return)
    assert list(blocked.store.document.blocks) == ["wide_part"]
    assert blocked.store.document.nodes["dense"].type == "block.wide_part"
    fields = section(window, blocked).definition
    user.enter(fields.description)
    write(user, "Two layers")
    assert blocked.store.document.blocks["wide_part"].description == "Two layers"
    assert blocked.store.history.undo_title == "Describe the block wide_part"


def test_an_instance_is_made_unique(window: MainWindow, blocked: Project, user: WindowUser) -> None:
    assert not section(window, blocked).unique.isEnabled()
    blocked.store.edit("Add", lambda document: edits.add(document, "second", Node("block.dense", at=(0, 400))))
    user.click(section(window, blocked).unique)
    assert blocked.store.document.nodes["dense"].type == "block.dense_2"
    assert blocked.store.document.nodes["second"].type == "block.dense"
    assert blocked.store.history.undo_title == "Make dense unique"


def test_buttons_enter_and_unpack(window: MainWindow, blocked: Project, user: WindowUser) -> None:
    user.click(section(window, blocked).enter)
    assert blocked.scope.location == (Step("dense"),)
    user.key(Key.Key_Up, CTRL)
    user.click(section(window, blocked).unpack)
    assert not blocked.store.document.blocks and "hidden" in blocked.store.document.nodes


def test_a_parameter_is_promoted_renamed_and_set_at_the_instance(
    qtbot: QtBot, window: MainWindow, blocked: Project, user: WindowUser
) -> None:
    blocked.scope.reveal("dense.hidden")
    promotion = form(window, blocked).promotions["out_features"]
    user.click(promotion.pin)
    assert blocked.store.document.blocks["dense"].params == {"out_features": (ParamRef("hidden", "out_features"),)}
    user.enter(promotion.name.line)
    write(user, "width")
    user.key(Key.Key_Return)
    assert blocked.store.document.blocks["dense"].params == {"width": (ParamRef("hidden", "out_features"),)}
    user.enter(rows(window, blocked)["out_features"].field.editor)  # inside, it is set at the instance
    write(user, "48")
    user.key(Key.Key_Tab)
    assert blocked.store.document.nodes["dense"].params == {"width": 48}
    assert rows(window, blocked)["out_features"].field.text() == "48"
    qtbot.waitUntil(lambda: blocked.store.is_checked)
    assert blocked.scope.report.nodes["hidden"].arguments["out_features"] == 48
    blocked.store.undo()
    assert blocked.scope.block == "dense"  # where the value is to be seen
    blocked.store.redo()
    user.click(form(window, blocked).promotions["out_features"].pin)
    assert not blocked.store.document.blocks["dense"].params and not blocked.store.document.nodes["dense"].params


def test_a_parameter_is_promoted_through_two_levels(
    qtbot: QtBot, window: MainWindow, blocked: Project, user: WindowUser
) -> None:
    blocked.store.edit("Nest", lambda document: group(document, ["hidden"], "inner", inside="dense")[0])
    blocked.scope.reveal("dense.inner.hidden")
    user.click(form(window, blocked).promotions["out_features"].pin)
    blocked.scope.reveal("dense.inner")
    user.click(form(window, blocked).promotions["out_features"].pin)
    blocked.scope.reveal("dense")
    user.enter(rows(window, blocked)["out_features"].field.editor)
    write(user, "40")
    user.key(Key.Key_Tab)
    qtbot.waitUntil(lambda: blocked.store.is_checked)
    assert blocked.store.report.nodes["dense.inner.hidden"].arguments["out_features"] == 40
    blocked.scope.reveal("dense.inner.hidden")
    assert rows(window, blocked)["out_features"].field.text() == "40"


def test_ports_are_renamed_described_and_moved(
    qtbot: QtBot, window: MainWindow, blocked: Project, user: WindowUser
) -> None:
    blocked.store.edit(
        "Add", lambda document: edit_block(document, "dense", lambda view: edits.add(view, "skip", Node("port.Input")))
    )
    blocked.scope.reveal("dense.skip")
    port = next(each for each in form(window, blocked).offers if isinstance(each, PortSection))
    user.enter(port.note)
    write(user, "Added to the output")
    user.key(Key.Key_Return)
    header = form(window, blocked)._header
    assert header is not None
    user.enter(header.name)
    write(user, "residual")
    user.key(Key.Key_Return)
    up = next(each for each in form(window, blocked).findChildren(QToolButton) if "up" in each.toolTip())
    user.click(up)
    blocked.scope.leave()
    inputs = window.project_views[blocked].canvas.canvas_scene.nodes["dense"].content.inputs
    assert [(each.name, each.help) for each in inputs] == [("residual", "Added to the output"), ("input", "")]


def test_without_a_selection_the_block_is_shown(window: MainWindow, blocked: Project, user: WindowUser) -> None:
    blocked.scope.enter("dense")
    found = window.project_views[blocked].inspector.form
    assert isinstance(found, BlockForm)
    user.enter(found.definition.name.line)
    write(user, "layers")
    user.key(Key.Key_Return)
    assert list(blocked.store.document.blocks) == ["layers"] and blocked.scope.block == "layers"
    user.key(Key.Key_Escape)
    user.key(Key.Key_Escape)
    assert blocked.scope.location == ()


def test_a_report_keeps_the_selected_text_of_a_field(
    qtbot: QtBot, window: MainWindow, blocked: Project, user: WindowUser
) -> None:
    blocked.scope.enter("dense")
    found = window.project_views[blocked].inspector.form
    assert isinstance(found, BlockForm)
    line = found.definition.name.line
    user.enter(line)
    assert line.selectedText() == "dense"
    with qtbot.waitSignal(blocked.store.report_changed):
        blocked.store.recheck()
    assert line.selectedText() == "dense"
    line.setCursorPosition(2)
    with qtbot.waitSignal(blocked.store.report_changed):
        blocked.store.recheck()
    assert line.cursorPosition() == 2


def test_promoted_parameters_and_copies_are_listed(window: MainWindow, blocked: Project, user: WindowUser) -> None:
    store = blocked.store
    store.edit("Repeat", lambda document: edits.set_param(document, "dense", "repeat", 3))
    texts = {each.text() for each in section(window, blocked).findChildren(QLabel)}
    assert "One instance with 3 copies" in texts
    blocked.scope.enter("dense")
    found = window.project_views[blocked].inspector.form
    assert isinstance(found, BlockForm) and not found.promoted.findChildren(QPushButton)
    reference = ParamRef("hidden", "out_features")
    store.edit("Promote", lambda document: promote(document, "dense", reference, "width"))
    button = found.promoted.findChild(QPushButton)
    assert button is not None and button.text() == "hidden.out_features"
    user.click(button)
    assert set(blocked.scope.selection) == {"hidden"}
