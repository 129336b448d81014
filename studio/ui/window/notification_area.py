"""The notifications above the canvas, and what the window reports there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.ui.project.open_projects import OpenProjects
from studio.ui.project.project import Project
from studio.ui.widgets.announcement import announce
from studio.ui.window.notification_bar import NotificationBar
from studio.ui.window.trust_dialog import TrustDialog, untrusted_in


class NotificationArea(QWidget):
    """Takes no room while there are no notifications."""

    def __init__(self, open_projects: OpenProjects) -> None:
        super().__init__()
        self._open_projects = open_projects
        self._library_problems: list[str] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        open_projects.libraries.changed.connect(self._show_library_problems)

    def show_bar(self, notification: NotificationBar) -> None:
        """Show a notification below the others."""
        self._column.addWidget(notification)
        announce(notification, notification.text.text())

    def show_warning(self, text: str) -> None:
        """Show a warning without choices."""
        self.show_bar(NotificationBar(text, []))

    def show_library_change(self, text: str, undo: Callable[[], None] | None) -> None:
        """Report a change of a library of blocks, which can be undone unless `undo` is None."""
        self.show_bar(NotificationBar(text, [("Undo", undo)] if undo else [], icon="ok"))

    def report_untrusted_code(self, project: Project) -> None:
        """Say that a project contains code that does not run yet, if it does."""
        if untrusted_in(project):
            text = f"{project.store.name} contains Python code. It does not run until you trust it."
            bar = NotificationBar(text, [("Review code…", partial(self._review_code, project))])
            bar.close_when(project.store.report_changed, lambda: not untrusted_in(project))
            self.show_bar(bar)

    def _review_code(self, project: Project) -> None:
        if project in self._open_projects.projects:
            TrustDialog(project, self.window()).show()

    def _show_library_problems(self) -> None:
        """Name unreadable files of the user's library, each once."""
        problems = [str(each) for each in self._open_projects.libraries.problems]
        for text in problems:
            if text not in self._library_problems:
                self.show_warning(f"A block of your library was skipped: {text}")
        self._library_problems = problems
