"""Lists of ports and wires, and the values on a wire."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtTest import QTest

from screenshots import open_template, settle, until
from studio.document import edits
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from window_states.registry import ARABIC, LATIN, State, add_state, focused, state


def _ports(command: str, *names: str, typed: str = "") -> State:
    """The list that a command opens for the selected nodes, filtered by typed text."""

    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window)
        settle(window)
        project.scope.select(names)
        settle(window)
        window.commands.run(command)
        if typed:
            QTest.keyClicks(focused(), typed)

    return show


add_state("connect_port", _ports("canvas.connect", "cross_entropy"))
add_state("connect_two", _ports("canvas.connect", "hidden", "logits"))
add_state("connect_without_match", _ports("canvas.connect", "cross_entropy", typed="zzzz" + LATIN))
add_state("disconnect", _ports("canvas.disconnect", "hidden"))
add_state("select_wire", _ports("canvas.select-wire"))


@state()
def connect_long_names(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    for old, new in (("hidden", LATIN), ("logits", ARABIC)):
        project.store.edit("Rename", lambda document, old=old, new=new: edits.rename(document, old, new))
    until(lambda: project.store.is_checked)
    project.scope.select([LATIN])
    settle(window)
    window.commands.run("canvas.connect")


def _values(window: MainWindow, project: Project, node: str) -> None:
    """Ask with the key for the values on the wire that leaves a node."""
    settle(window)
    canvas = window.project_views[project].canvas
    wire = next(wire for wire in project.store.document.wires if wire.source.node == node)
    canvas.values_requested.emit(wire)


@state()
def values_on_wire_computing(window: MainWindow, folder: Path) -> None:
    _values(window, open_template(window, "digits-resnet18"), "logits")


@state()
def values_on_wire(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    _values(window, project, "hidden")
    until(lambda: not window.project_views[project].wire_statistics.is_busy)
    QTest.qWait(200)


@state()
def values_on_wire_failed(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: project.store.is_checked and bool(project.store.report.errors))
    _values(window, project, "logits")
    until(lambda: not window.project_views[project].wire_statistics.is_busy)
    QTest.qWait(200)
