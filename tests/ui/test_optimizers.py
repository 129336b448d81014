"""Optimizers in the window: their trained layers and learning rate schedules."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_grouping import group
from studio.document.files.project_templates import template
from studio.document.model import Document, Endpoint, Node, Wire
from studio.ui.panels.inspector.learning_rate_plot import LearningRatePlot
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.trained_layers import TrainedLayersList
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow


@pytest.fixture
def two_optimizers(qtbot: QtBot, project: Project) -> Project:
    """The digits template with the optimizers Adam and SGD."""

    def change(document: Document) -> Document:
        document = edits.add(document, "sgd", Node("optim.SGD", {"lr": 0.1}, at=(1000, 400)))
        return edits.connect(document, Wire(Endpoint("cross_entropy", "loss"), Endpoint("sgd", "loss")))

    project.store.edit("Add SGD", change)
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


def form(window: MainWindow, project: Project, name: str) -> NodeForm:
    project.store.select([name])
    widget = window.project_views[project].inspector.form
    assert isinstance(widget, NodeForm)
    return widget


def layers(window: MainWindow, project: Project, name: str) -> TrainedLayersList:
    widget = form(window, project, name).findChild(TrainedLayersList)
    assert widget is not None
    return widget


def click(box: QCheckBox) -> None:
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(10, box.height() // 2))


def test_select_trained_layers_with_the_mouse(qtbot: QtBot, window: MainWindow, two_optimizers: Project) -> None:
    store = two_optimizers.store
    listed = layers(window, two_optimizers, "adam")
    assert list(listed.boxes) == ["hidden", "logits"]
    assert listed.all_layers.isChecked() and not listed.boxes["hidden"].isEnabled()
    assert [problem.code for problem in store.report.errors] == ["shared-layers"]
    click(listed.all_layers)
    click(listed.boxes["logits"])
    assert store.document.nodes["adam"].trains == ("hidden",)
    listed = layers(window, two_optimizers, "sgd")
    click(listed.all_layers)
    click(listed.boxes["hidden"])
    qtbot.waitUntil(lambda: store.is_checked and not store.report.problems)
    store.undo()
    assert store.document.nodes["sgd"].trains == ("hidden", "logits")
    assert listed.boxes["hidden"].isChecked()


def test_last_trained_layer_cannot_be_unchecked(window: MainWindow, two_optimizers: Project) -> None:
    listed = layers(window, two_optimizers, "adam")
    click(listed.all_layers)
    click(listed.boxes["logits"])
    click(listed.boxes["hidden"])
    assert two_optimizers.store.document.nodes["adam"].trains == ("hidden",)
    assert listed.boxes["hidden"].isChecked()


def test_select_trained_layers_with_the_keyboard(window: MainWindow, two_optimizers: Project) -> None:
    listed = layers(window, two_optimizers, "adam")
    listed.all_layers.setFocus()
    QTest.keyClick(listed.all_layers, Qt.Key.Key_Space)
    listed.boxes["hidden"].setFocus()
    QTest.keyClick(listed.boxes["hidden"], Qt.Key.Key_Space)
    assert two_optimizers.store.document.nodes["adam"].trains == ("logits",)


def test_renamed_layer_stays_checked(qtbot: QtBot, window: MainWindow, two_optimizers: Project) -> None:
    two_optimizers.store.edit("Choose", lambda document: edits.set_trains(document, "adam", ["hidden"]))
    two_optimizers.store.edit("Rename", lambda document: edits.rename(document, "hidden", "first"))
    qtbot.waitUntil(lambda: two_optimizers.store.is_checked)
    listed = layers(window, two_optimizers, "adam")
    assert list(listed.boxes) == ["first", "logits"]
    assert listed.boxes["first"].isChecked() and not listed.boxes["logits"].isChecked()
    two_optimizers.store.edit("Delete", lambda document: edits.remove(document, ["first"]))
    qtbot.waitUntil(lambda: two_optimizers.store.is_checked)
    assert listed.boxes["first"].text() == "first (missing)"


def test_layers_in_a_block_are_not_missing(qtbot: QtBot, window: MainWindow, two_optimizers: Project) -> None:
    store = two_optimizers.store
    store.edit("Group", lambda document: group(document, ["hidden", "relu"], "dense")[0])
    qtbot.waitUntil(lambda: store.is_checked)
    listed = layers(window, two_optimizers, "adam")
    assert [box.text() for box in listed.boxes.values()] == list(listed.boxes) == ["dense.hidden", "logits"]


def test_layers_of_an_instance_are_folded(qtbot: QtBot, window: MainWindow, two_optimizers: Project) -> None:
    store = two_optimizers.store
    store.edit("Group", lambda document: group(document, ["hidden", "relu", "dropout", "logits"], "dense")[0])
    qtbot.waitUntil(lambda: store.is_checked)
    listed = layers(window, two_optimizers, "adam")
    folded, inner = listed.groups["dense"], listed.boxes["dense.hidden"]
    assert folded.box.text() == "dense (2 layers)" and not inner.isVisible()
    QTest.mouseClick(folded.toggle, Qt.MouseButton.LeftButton)
    assert inner.isVisible()
    click(listed.all_layers)
    click(inner)
    assert store.document.nodes["adam"].trains == ("dense.logits",)
    assert folded.box.checkState() is Qt.CheckState.PartiallyChecked
    click(folded.box)
    assert store.document.nodes["adam"].trains == ("dense.hidden", "dense.logits")
    click(folded.box)  # at least one layer stays checked
    assert store.document.nodes["adam"].trains == ("dense.hidden", "dense.logits")
    assert folded.box.checkState() is Qt.CheckState.Checked


def test_layers_of_the_selected_optimizer_are_highlighted(
    qtbot: QtBot, window: MainWindow, two_optimizers: Project
) -> None:
    def change(document: Document) -> Document:
        return edits.set_trains(edits.set_trains(document, "adam", ["hidden"]), "sgd", ["logits"])

    two_optimizers.store.edit("Choose", change)
    qtbot.waitUntil(lambda: two_optimizers.store.is_checked)

    def highlighted() -> set[str]:
        return {
            name
            for name, item in window.project_views[two_optimizers].canvas.canvas_scene.nodes.items()
            if item.state.highlighted
        }

    for selected, trained in {"sgd": {"logits"}, "adam": {"hidden"}, "relu": set[str]()}.items():
        two_optimizers.store.select([selected])
        assert highlighted() == trained


def test_schedule_shows_its_learning_rates(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    store = project.store

    def change(document: Document) -> Document:
        document = edits.add(document, "cosine", Node("lr_scheduler.CosineAnnealingLR", at=(1200, 176)))
        return edits.connect(document, Wire(Endpoint("adam", "optimizer"), Endpoint("cosine", "optimizer")))

    store.edit("Add a schedule", change)
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
