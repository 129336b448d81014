"""The History panel, with mouse and key events in the window."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.edit_history import History
from studio.document.model import Document, Node
from studio.ui.panels.history.history_model import IS_CURRENT, IS_SAVED, IS_UNDONE
from studio.ui.panels.history.history_panel import HistoryPanel
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.test_fields import WindowUser, rows


@pytest.fixture
def panel(window: MainWindow, project: Project) -> HistoryPanel:
    for value in (100, 200, 300):
        change = partial(edits.set_param, name="hidden", param="out_features", value=value)
        project.store.edit(f"Set hidden.out_features to {value}", change)
    window.docks["history"].reveal()
    return project_panel(window, project)


def project_panel(window: MainWindow, project: Project) -> HistoryPanel:
    return window.project_views[project].history


def index(panel: HistoryPanel, row: int) -> QModelIndex:
    return panel.model().index(row, 0)


def flags(panel: HistoryPanel, role: int) -> list[int]:
    return [row for row in range(panel.model().rowCount()) if index(panel, row).data(role)]


def click(panel: HistoryPanel, row: int) -> None:
    QTest.mouseClick(panel.viewport(), Qt.MouseButton.LeftButton, pos=panel.visualRect(index(panel, row)).center())


def test_a_click_goes_to_a_state_and_back(panel: HistoryPanel, project: Project) -> None:
    click(panel, 1)
    assert project.store.document.nodes["hidden"].params["out_features"] == 100
    assert flags(panel, IS_CURRENT) == [1]
    assert flags(panel, IS_UNDONE) == [2, 3]
    click(panel, 3)
    assert project.store.document.nodes["hidden"].params["out_features"] == 300
    assert flags(panel, IS_UNDONE) == []
    click(panel, 0)
    assert project.store.history.position == 0


def test_enter_goes_to_the_state_chosen_with_the_arrow_keys(panel: HistoryPanel, project: Project) -> None:
    panel.setFocus()
    QTest.keyClick(panel, Qt.Key.Key_Up)
    QTest.keyClick(panel, Qt.Key.Key_Up)
    assert project.store.history.position == 3
    QTest.keyClick(panel, Qt.Key.Key_Return)
    assert project.store.history.position == 1
    assert panel.currentIndex().row() == 1


def test_the_saved_state_is_marked(panel: HistoryPanel, project: Project, tmp_path: Path) -> None:
    assert flags(panel, IS_SAVED) == []  # without a file
    project.store.mark_saved(project.store.document, tmp_path / "saved.gradwire")
    assert flags(panel, IS_SAVED) == [3]
    click(panel, 1)
    assert flags(panel, IS_SAVED) == [3]
    assert "saved state" in index(panel, 3).data(Qt.ItemDataRole.AccessibleTextRole)


def test_an_edit_after_undo_says_what_it_replaced(panel: HistoryPanel, project: Project) -> None:
    click(panel, 1)
    project.store.edit("Mute relu", lambda document: edits.set_flag(document, ["relu"], muted=True))
    assert panel.model().rowCount() == 3
    assert "replaced 2 undone edits" in index(panel, 2).data(Qt.ItemDataRole.ToolTipRole)


def test_typing_is_one_readable_step(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    user = WindowUser(window, qtbot)
    project.store.select(["hidden"])
    user.enter(rows(window, project)["out_features"].field)
    user.type("48")
    user.key(Qt.Key.Key_Return)
    panel = project_panel(window, project)
    titles = [index(panel, row).data() for row in range(panel.model().rowCount())]
    assert titles == ["New project", "Set hidden.out_features to 48"]


def test_thousands_of_edits_can_be_undone() -> None:
    history = History(Document())
    for number in range(5000):
        history.push(str(number), edits.set_description(history.document, str(number)))
    while history.can_undo:
        history.undo()
    assert history.document == Document()


def test_large_documents_keep_fewer_states_but_a_thousand_at_least() -> None:
    history = History(Document(dict.fromkeys((f"n{number}" for number in range(20_000)), Node("nn.ReLU"))))
    for number in range(1100):
        history.push(str(number), edits.set_description(history.document, str(number)))
    assert len(history) == 1000
