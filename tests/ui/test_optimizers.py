"""Optimizers in the window: the layers that they train, and the learning rate that is planned."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.document.project_templates import template
from studio.ui.panels.inspector.learning_rate_plot import LearningRatePlot
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.trained_layers import TrainedLayersList
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow


@pytest.fixture
def two(qtbot: QtBot, project: Project) -> Project:
    """The digits template with SGD beside Adam."""

    def function(document: Document) -> Document:
        document = edits.add(document, "sgd", Node("optim.SGD", {"lr": 0.1}, at=(1000, 400)))
        return edits.connect(document, Wire(Endpoint("cross_entropy", "loss"), Endpoint("sgd", "loss")))

    project.store.edit("Add SGD", function)
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


def form(window: MainWindow, project: Project, name: str) -> NodeForm:
    project.store.select([name])
    found = window.project_views[project].inspector.form
    assert isinstance(found, NodeForm)
    return found


def layers(window: MainWindow, project: Project, name: str) -> TrainedLayersList:
    found = form(window, project, name).findChild(TrainedLayersList)
    assert found is not None
    return found


def click(box: QCheckBox) -> None:
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(10, box.height() // 2))


def test_layers_are_chosen_with_the_mouse(qtbot: QtBot, window: MainWindow, two: Project) -> None:
    store = two.store
    listed = layers(window, two, "adam")
    assert list(listed.boxes) == ["hidden", "logits"]
    assert listed.all_layers.isChecked() and not listed.boxes["hidden"].isEnabled()
    assert [problem.code for problem in store.report.errors] == ["shared-layers"]
    click(listed.all_layers)
    click(listed.boxes["logits"])
    assert store.document.nodes["adam"].trains == ("hidden",)
    listed = layers(window, two, "sgd")
    click(listed.all_layers)
    click(listed.boxes["hidden"])
    qtbot.waitUntil(lambda: store.is_checked and not store.report.problems)
    store.undo()
    assert store.document.nodes["sgd"].trains == ("hidden", "logits")
    assert listed.boxes["hidden"].isChecked()


def test_the_last_layer_stays(window: MainWindow, two: Project) -> None:
    listed = layers(window, two, "adam")
    click(listed.all_layers)
    click(listed.boxes["logits"])
    click(listed.boxes["hidden"])
    assert two.store.document.nodes["adam"].trains == ("hidden",)
    assert listed.boxes["hidden"].isChecked()


def test_layers_are_chosen_with_keys(window: MainWindow, two: Project) -> None:
    listed = layers(window, two, "adam")
    listed.all_layers.setFocus()
    QTest.keyClick(listed.all_layers, Qt.Key.Key_Space)
    listed.boxes["hidden"].setFocus()
    QTest.keyClick(listed.boxes["hidden"], Qt.Key.Key_Space)
    assert two.store.document.nodes["adam"].trains == ("logits",)


def test_a_renamed_layer_stays_chosen_in_the_list(qtbot: QtBot, window: MainWindow, two: Project) -> None:
    two.store.edit("Choose", lambda document: edits.set_trains(document, "adam", ["hidden"]))
    two.store.edit("Rename", lambda document: edits.rename(document, "hidden", "first"))
    qtbot.waitUntil(lambda: two.store.is_checked)
    listed = layers(window, two, "adam")
    assert list(listed.boxes) == ["first", "logits"]
    assert listed.boxes["first"].isChecked() and not listed.boxes["logits"].isChecked()
    two.store.edit("Delete", lambda document: edits.remove(document, ["first"]))
    qtbot.waitUntil(lambda: two.store.is_checked)
    assert listed.boxes["first"].text() == "first (missing)"


def test_layers_of_the_selected_optimizer_light_up(qtbot: QtBot, window: MainWindow, two: Project) -> None:
    def function(document: Document) -> Document:
        return edits.set_trains(edits.set_trains(document, "adam", ["hidden"]), "sgd", ["logits"])

    two.store.edit("Choose", function)
    qtbot.waitUntil(lambda: two.store.is_checked)

    def lit() -> set[str]:
        return {
            name for name, item in window.project_views[two].canvas.canvas_scene.nodes.items() if item.state.highlighted
        }

    for selected, trained in {"sgd": {"logits"}, "adam": {"hidden"}, "relu": set[str]()}.items():
        two.store.select([selected])
        assert lit() == trained


def test_a_schedule_shows_its_plan(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    store = project.store

    def function(document: Document) -> Document:
        document = edits.add(document, "cosine", Node("lr_scheduler.CosineAnnealingLR", at=(1200, 176)))
        return edits.connect(document, Wire(Endpoint("adam", "optimizer"), Endpoint("cosine", "optimizer")))

    store.edit("Add a schedule", function)
    view = form(window, project, "cosine").findChild(LearningRatePlot)
    assert view is not None
    qtbot.waitUntil(view.isVisible)
    assert view.plot.rates[0] == (0.0, 0.005) and view.plot.rates[-1][0] == 30
    assert "epochs" in view.plot.toolTip()
    store.edit("Train shorter", lambda document: edits.set_training(document, epochs=4))
    qtbot.waitUntil(lambda: view.plot.rates[-1][0] == 4)
    store.edit("Remove it", lambda document: edits.remove(document, ["cosine"]))
    qtbot.waitUntil(lambda: store.is_checked)
    other = form(window, project, "adam").findChild(LearningRatePlot)
    assert other is not None and not other.isVisible()


def test_each_of_two_optimizers_has_separate_curves(qtbot: QtBot, window: MainWindow) -> None:
    project = window.open_projects.from_template(template("digits-gan"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.docks["runs"].reveal()
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    window.commands.run("run.step")
    panel = window.project_views[project].runs
    qtbot.waitUntil(lambda: "loss/discriminator_adam" in panel.plots)
    assert panel.plots["loss/discriminator_adam"].isVisible() and panel.plots["loss/generator_adam"].isVisible()
    assert not panel.plots["learning_rate/discriminator_adam"].isVisible()
    shown = {action.text(): action for action in panel.bar.plots.menu().actions()}
    shown["Learning rate of discriminator_adam"].trigger()
    assert panel.plots["learning_rate/discriminator_adam"].isVisible()
    assert panel.plots["learning_rate/discriminator_adam"].curves.points
    qtbot.waitUntil(lambda: project.runner.state == "paused")
