"""The keyboard focus in each area of the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from screenshots import open_template, settle
from studio.ui.window.keyboard_focus import focus_panel
from studio.ui.window.main_window import MainWindow
from window_states.registry import State, add_state, focused


def _focus(dock: str, tabs: int = 0) -> State:
    """The focus in a panel, after some presses of Tab."""

    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window)
        project.scope.select(["hidden"])
        window.docks[dock].reveal()
        settle(window)
        focus_panel(window.docks[dock])
        for _ in range(tabs):
            QTest.keyClick(focused(), Qt.Key.Key_Tab)

    return show


def _canvas(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.scope.select(["hidden"])
    settle(window)
    focus_panel(window.canvas)  # type: ignore[arg-type]


def _top_bar(window: MainWindow, folder: Path) -> None:
    _canvas(window, folder)
    focus_panel(window.topbar)


add_state("focus_canvas", _canvas)
add_state("focus_top_bar", _top_bar)
_TABS = {"inspector": 1, "palette": 2, "problems": 1, "data": 1, "code": 1, "history": 0}
for _dock, _tabs in _TABS.items():
    add_state(f"focus_{_dock}", _focus(_dock, _tabs))
