"""The Data panel."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtTest import QTest

from screenshots import open_template, until
from studio.document import edits
from studio.document.model import Node
from studio.ui.window.main_window import MainWindow
from window_states.registry import LATIN, State, add_state, state


def _data(template: str, node: str, page: str = "") -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window, template)
        project.scope.select([node])
        window.docks["data"].reveal()
        panel = window.project_views[project].data
        QTest.qWait(2500)
        if page:
            panel.header.pages[page].click()
            QTest.qWait(1500)

    return show


add_state("data_images", _data("digits-cnn", "digits"), "data")
add_state("data_statistics", _data("digits-cnn", "digits", "statistics"), "data")
add_state("data_table", _data("penguins-classification", "penguins"), "data")
add_state("data_table_statistics", _data("penguins-classification", "penguins", "statistics"), "data")
add_state("data_text", _data("shakespeare-gpt", "text"), "data")
add_state("data_series", _data("series-forecast", "series"), "data")


@state("data")
def data_sample(window: MainWindow, folder: Path) -> None:
    _data("digits-cnn", "digits")(window, folder)
    window.project_views[window.project].data._choose(3)  # type: ignore[index]
    QTest.qWait(1000)


@state("data")
def data_missing_file(window: MainWindow, folder: Path) -> None:
    project = window.open_projects.new()
    node = Node("data.CSV", {"path": f"{LATIN}.csv"}, (0.0, 0.0))
    project.store.edit("Add", lambda document: edits.add(document, "table", node))
    until(lambda: project.store.is_checked)
    project.scope.select(["table"])
    window.docks["data"].reveal()
    QTest.qWait(1000)


@state("data")
def data_opening(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    project.scope.select(["digits"])
    window.docks["data"].reveal()


@state("data")
def data_computing_statistics(window: MainWindow, folder: Path) -> None:
    _data("digits-cnn", "digits")(window, folder)
    window.project_views[window.project].data.header.pages["statistics"].click()  # type: ignore[index]
