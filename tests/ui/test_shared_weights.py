"""Weight sharing in the window: the choice in the inspector, the command of the canvas, the badge."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSpinBox
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Node
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.shared_weights import SharedWeightsRow
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.test_fields import WindowUser


@pytest.fixture
def pair(qtbot: QtBot, project: Project) -> Project:
    """The digits template with a second linear layer."""

    def change(document: Document) -> Document:
        return edits.add(document, "other", Node("nn.Linear", {"out_features": 7, "in_features": 64}, at=(400, 400)))

    project.store.edit("Add a layer", change)
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


def row(window: MainWindow, project: Project, name: str) -> SharedWeightsRow:
    project.store.select([name])
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm) and form.shared_weights is not None
    return form.shared_weights


def test_choose_an_owner_with_the_keyboard(qtbot: QtBot, window: MainWindow, pair: Project) -> None:
    store, user = pair.store, WindowUser(window, qtbot)
    shown = row(window, pair, "other")
    listed = [shown.owners.itemText(index) for index in range(shown.owners.count())]
    assert listed == ["Separate weights", "Those of hidden", "Those of logits"]
    shown.owners.setFocus()
    qtbot.waitUntil(shown.owners.hasFocus)
    user.key(Qt.Key.Key_Down)
    assert store.document.nodes["other"] == Node("nn.Linear", shares="hidden", at=(400, 400))
    content = window.project_views[pair].canvas.canvas_scene.nodes["other"].content
    assert content.shares == "hidden"
    qtbot.waitUntil(lambda: store.is_checked)
    user.key(Qt.Key.Key_Up)
    assert store.document.nodes["other"].shares == ""
    store.undo()
    store.undo()
    assert store.document.nodes["other"].params == {"out_features": 7, "in_features": 64}


def test_a_parameter_of_a_shared_layer_is_set_at_its_owner(qtbot: QtBot, window: MainWindow, pair: Project) -> None:
    store = pair.store
    view = window.project_views[pair].canvas
    store.select(["other", "hidden"])
    view.canvas_actions.share_weights()
    assert store.document.nodes["other"].shares == "hidden"
    qtbot.waitUntil(lambda: store.is_checked)
    row(window, pair, "other")
    form = window.project_views[pair].inspector.form
    assert isinstance(form, NodeForm)
    [field] = [each for each in form.rows if each.parameter.name == "out_features"]
    assert isinstance(field.field.editor, QAbstractSpinBox) and field.field.editor.text() == "256"
    store.select(["other"])
    view.canvas_actions.select_sharing()
    assert set(store.selection) == {"other", "hidden"}
    view.canvas_actions.share_weights()
    assert store.document.nodes["other"] == Node("nn.Linear", {"out_features": 256}, at=(400, 400))


def test_nodes_of_different_types_are_refused(window: MainWindow, pair: Project) -> None:
    refusals: list[str] = []
    pair.store.refused.connect(refusals.append)
    pair.store.select(["relu", "hidden"])
    window.project_views[pair].canvas.canvas_actions.share_weights()
    assert len(refusals) == 1 and "types" in refusals[0]
