"""Actions and conditions on the current project, for the commands of a window."""

from __future__ import annotations

from collections.abc import Callable

from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.project.project import Project
from studio.ui.window.command_window import CommandWindow


def on_project(window: CommandWindow, act: Callable[[Project], object]) -> Callable[[], None]:
    """Wrap an action on the current project; do nothing if no project is open."""

    def run() -> None:
        if window.project is not None:
            act(window.project)

    return run


def on_canvas(window: CommandWindow, act: Callable[[CanvasView], object]) -> Callable[[], None]:
    """Wrap an action on the shown canvas; do nothing if no project is open."""

    def run() -> None:
        if window.canvas is not None:
            act(window.canvas)

    return run


def when(window: CommandWindow, holds: Callable[[Project], bool]) -> Callable[[], bool]:
    return lambda: window.project is not None and holds(window.project)
