"""Start the studio again in a new process, with the projects that were open."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QProcess
from PySide6.QtWidgets import QApplication

from studio.ui.window.main_window import MainWindow


class Restarter:
    def __init__(self, command: Sequence[str]) -> None:
        """`command` starts the studio; paths of projects are appended to it."""
        self._command = list(command)
        self._paths: list[str] | None = None

    def request(self, window: MainWindow) -> None:
        """Close the window, and start again when this process ends. Does nothing if the user cancels closing."""
        paths = [str(project.store.path) for project in window.open_projects.projects if project.store.path]
        if window.close():
            self._paths = paths
            QApplication.quit()

    def start_if_requested(self) -> None:
        if self._paths is not None:
            program, *arguments = self._command
            QProcess.startDetached(program, [*arguments, *self._paths])
