"""The Data panel in the real window, and what a person does with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document.model import Document
from studio.ui.panels.data.data_panel import DataPanel
from studio.ui.window.main_window import MainWindow
from tests.studio.lowering import test_every_type

files = test_every_type.files
"""A folder with small data of every kind."""

LEFT = Qt.MouseButton.LeftButton

Show = Callable[[Document], DataPanel]


def click(widget: object) -> None:
    QTest.mouseClick(widget, LEFT)  # pyright: ignore[reportArgumentType, reportCallIssue]


def click_sample(panel: DataPanel, index: int) -> None:
    QTest.mouseClick(panel.grid.viewport(), LEFT, pos=panel.grid.cell_rect(index).center())


def is_filled(panel: DataPanel) -> bool:
    """Whether all samples in view are there."""
    return (
        panel.view.isVisible() and bool(panel.view.in_view) and None not in map(panel.view.sample, panel.view.in_view)
    )


@pytest.fixture
def show(qtbot: QtBot, window: MainWindow) -> Show:
    """Opens a document and looks at its data, by the key of the panel."""

    def open_document(document: Document) -> DataPanel:
        project = window.open_projects.new(document)
        window.commands.run("view.data")
        panel = window.project_views[project].data
        qtbot.waitUntil(lambda: panel._previewer.state in ("ready", "failed") or not document.nodes)
        if panel._previewer.state == "ready":
            qtbot.waitUntil(lambda: is_filled(panel))
        return panel

    return open_document
