"""Freeze is offered where there are parameters."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from studio.ui.panels.inspector.node_header import NodeHeader
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow


@pytest.mark.parametrize(("name", "is_offered"), [("hidden", True), ("relu", False), ("flatten", False)])
def test_freeze_is_offered_where_there_are_parameters(
    qtbot: QtBot, window: MainWindow, project: Project, name: str, is_offered: bool
) -> None:
    project.store.select([name])
    qtbot.waitUntil(lambda: any(header.isVisible() for header in window.findChildren(NodeHeader)))
    [header] = [header for header in window.findChildren(NodeHeader) if header.isVisible()]
    shown = [button.text() for button in header.findChildren(QToolButton) if button.isVisible()]
    assert ("Freeze" in shown) is is_offered
    assert window.commands.current_action("canvas.freeze").isEnabled() is is_offered
