"""Places of the window that a keyboard or a screen reader goes through: panels in their states, and dialogs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from PySide6.QtWidgets import QDialog, QInputDialog, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_grouping import group
from studio.document.files.project_templates import template
from studio.document.model import Document, Node
from studio.nodes.python_node import PYTHON
from studio.ui import dialogs
from studio.ui.project.project import Project
from studio.ui.window.context_help import show_context_help
from studio.ui.window.import_actions import ImportActions
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar

SOURCE = "def doubled(x):\n    return 2 * x\n"


@dataclass(frozen=True)
class Visit:
    """The window, and what a place needs to be reached."""

    window: MainWindow
    qtbot: QtBot
    folder: Path

    def open(self, name: str = "digits-mlp") -> Project:
        project = self.window.open_projects.from_template(template(name))
        self.wait(lambda: project.store.is_checked)
        return project

    def wait(self, holds: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(holds()))

    def edit(self, project: Project, change: Callable[[Document], Document]) -> None:
        assert project.scope.edit("Change", change)
        self.wait(lambda: project.store.is_checked)


Place = Callable[[Visit], QWidget]
PLACES: dict[str, Place] = {}


def place(function: Place) -> Place:
    """Register a function that brings a new window to a place, and returns the widget to look at."""
    PLACES[function.__name__] = function
    return function


@place
def start_page(visit: Visit) -> QWidget:
    project = visit.window.open_projects.new()
    visit.window.open_projects.save(project, visit.folder / "saved.gradwire")
    visit.window.show_welcome()
    return visit.window


@place
def project_settings(visit: Visit) -> QWidget:
    visit.open()
    notice = NotificationBar("Something happened.", [("Undo", lambda: None)])
    visit.window.notifications.show_bar(notice)
    return visit.window


def _node(visit: Visit, name: str, project_name: str = "digits-mlp") -> QWidget:
    visit.open(project_name).store.select([name])
    return visit.window


@place
def layer(visit: Visit) -> QWidget:
    return _node(visit, "hidden")


@place
def optimizer(visit: Visit) -> QWidget:
    return _node(visit, "adam")


@place
def loader(visit: Visit) -> QWidget:
    return _node(visit, "batches")


@place
def several_nodes(visit: Visit) -> QWidget:
    visit.open().store.select(["hidden", "relu"])
    return visit.window


@place
def python_node(visit: Visit) -> QWidget:
    project = visit.open()
    visit.edit(project, lambda document: edits.add(document, "own", Node(PYTHON, {"source": SOURCE}, at=(0, 400))))
    project.store.select(["own"])
    return visit.window


@place
def inside_a_block(visit: Visit) -> QWidget:
    project = visit.open()
    visit.edit(project, lambda document: group(document, ["relu", "dropout"], "stage")[0])
    assert project.scope.enter("stage")
    return visit.window


@place
def find_bar(visit: Visit) -> QWidget:
    visit.open()
    visit.window.commands.run("edit.find")
    return visit.window


@place
def problems(visit: Visit) -> QWidget:
    project = visit.open()
    visit.edit(project, lambda document: edits.set_param(document, "logits", "in_features", 100))
    visit.window.docks["problems"].reveal()
    return visit.window.docks["problems"]


@place
def runs(visit: Visit) -> QWidget:
    project = visit.open()
    visit.edit(project, lambda document: edits.set_training(document, steps=3, compile=False))
    visit.window.commands.run("run.start")
    visit.wait(lambda: project.runner.state == "done")
    view = visit.window.project_views[project].runs.list.view
    visit.wait(lambda: view.model().rowCount() == 1)
    view.setCurrentIndex(view.model().index(0, 0))
    return visit.window.docks["runs"]


@place
def data(visit: Visit) -> QWidget:
    project = visit.open("penguins-classification")
    visit.window.docks["data"].reveal()
    previewer = visit.window.project_views[project].previewer
    visit.wait(lambda: previewer.state == "ready")
    return visit.window.docks["data"]


@place
def autograd(visit: Visit) -> QWidget:
    project = visit.open()
    visit.window.show_autograd_graph()
    visit.wait(lambda: visit.window.project_views[project].autograd.shown is not None)
    return visit.window.docks["autograd"]


@place
def step_through(visit: Visit) -> QWidget:
    project = visit.open()
    recordings = visit.window.project_views[project].step_recordings
    visit.window.docks["stepping"].reveal()
    recordings.record()
    visit.wait(lambda: recordings.state == "ready")
    return visit.window.docks["stepping"]


@place
def compiled_step(visit: Visit) -> QWidget:
    project = visit.open()
    visit.window.explain_step()
    visit.wait(lambda: project.explainer.explanation)
    return visit.window.docks["compile"]


@place
def profiler(visit: Visit) -> QWidget:
    project = visit.open()
    visit.window.project_views[project].profiler.header.steps.setValue(2)
    visit.window.profile_steps()
    visit.wait(lambda: project.profiler.state == "ready")
    return visit.window.docks["profiler"]


@place
def code(visit: Visit) -> QWidget:
    project = visit.open()
    visit.window.docks["code"].reveal()
    editor = visit.window.project_views[project].code.editor
    visit.wait(editor.toPlainText)
    editor.setPlainText(editor.toPlainText() + "\n# draft")
    return visit.window.docks["code"]


@place
def log(visit: Visit) -> QWidget:
    visit.open()
    visit.window.docks["log"].reveal()
    return visit.window.docks["log"]


@place
def history(visit: Visit) -> QWidget:
    project = visit.open()
    visit.edit(project, lambda document: edits.set_training(document, epochs=99))
    visit.window.docks["history"].reveal()
    return visit.window.docks["history"]


@place
def comparison(visit: Visit) -> QWidget:
    project = visit.open()
    saved = project.store.document
    visit.edit(project, lambda document: edits.remove(document, ["relu"]))
    visit.window.project_views[project].compare_with("saved", saved)
    return visit.window


@place
def settings(visit: Visit) -> QWidget:
    visit.window.open_settings()
    return _dialog(visit)


@place
def keyboard_shortcuts(visit: Visit) -> QWidget:
    visit.window.open_shortcuts()
    return _dialog(visit)


@place
def trust_dialog(visit: Visit) -> QWidget:
    python_node(visit)
    visit.window.commands.run("file.trust")
    return _dialog(visit)


@place
def first_lesson(visit: Visit) -> QWidget:
    visit.window.start_first_lesson()
    return visit.window


@place
def lessons(visit: Visit) -> QWidget:
    visit.window.show_lessons()
    return visit.window.welcome


@place
def question(visit: Visit) -> QWidget:
    visit.open()
    return _asked(visit, lambda: dialogs.about(visit.window, "1.2"))


@place
def choice_of_a_class(visit: Visit) -> QWidget:
    return _asked(visit, lambda: dialogs.class_to_import(visit.window, Path("net.py"), ["Net", "Head"]))


def _asked(visit: Visit, ask: Callable[[], object]) -> QDialog:
    """The dialog of a function that waits for an answer; it stays open after the function."""
    with patch.object(QMessageBox, "exec", QMessageBox.open), patch.object(QInputDialog, "exec", QInputDialog.open):
        ask()
    return _dialog(visit)


@place
def import_page(visit: Visit) -> QWidget:
    table = visit.folder / "people.csv"
    table.write_text("age,sex,survived\n" + "".join(f"{age},{'fm'[age % 2]},{age % 3 == 0:d}\n" for age in range(60)))
    ImportActions(visit.window).start([table])
    dialog = visit.window.imports.dialog
    assert dialog is not None
    visit.wait(lambda: dialog.stack.currentWidget() is not dialog.reading)
    return dialog


@place
def help_page(visit: Visit) -> QWidget:
    visit.open().store.select(["relu"])
    show_context_help(visit.window)
    return _dialog(visit)


@place
def learning_rate(visit: Visit) -> QWidget:
    project = visit.open()
    visit.edit(project, lambda document: edits.set_training(document, compile=False))
    visit.window.find_rate()
    trial = visit.window.project_views[project].trial
    assert trial is not None
    visit.wait(lambda: not trial.is_running)
    return trial


@place
def overfitting(visit: Visit) -> QWidget:
    project = visit.open()
    visit.edit(project, lambda document: edits.set_training(document, compile=False))
    visit.window.overfit()
    trial = visit.window.project_views[project].trial
    assert trial is not None
    return trial


@place
def diagnosing(visit: Visit) -> QWidget:
    project = visit.open()
    visit.window.diagnose()
    trial = visit.window.project_views[project].trial
    assert trial is not None
    return trial


def _dialog(visit: Visit) -> QDialog:
    """The dialog of the window that is open."""
    [dialog] = [each for each in visit.window.findChildren(QDialog) if each.isVisible()]
    return dialog
