"""Opens lessons as separate projects, and goes on where the learner left them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.document.document_errors import FileError
from studio.lessons import lesson_files
from studio.lessons.lesson import Lesson
from studio.lessons.progress import LessonProgress
from studio.lowering.user_code.document_code import allow_code
from studio.ui import dialogs
from studio.ui.project.lesson_session import LessonSession
from studio.ui.project.project import Project
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.help_page import HelpPage
from studio.ui.window.lessons.lesson_guide import LessonGuide
from studio.ui.window.lessons.lesson_terms import explanation_of

FIRST = "00-first-network"
"""The lesson that the start page offers to new users."""
_WIDTH = 300
"""Least width of the panels at the sides, in pixels: nothing in them is cut off."""


class LessonActions(QObject):
    """The lessons of a window."""

    progress_changed = Signal()
    """A lesson was opened, completed further or started again."""

    def __init__(self, window: CommandWindow, state: Path | None) -> None:
        super().__init__(window)
        self._window, self._state = window, state
        self._sessions: dict[Project, LessonSession] = {}
        self.guide = LessonGuide(window)
        window.open_projects.closed.connect(self._forget)

    @property
    def session(self) -> LessonSession | None:
        """The lesson of the current project."""
        return None if self._window.project is None else self._sessions.get(self._window.project)

    def progress_of(self, lesson: Lesson) -> LessonProgress:
        """The stored progress of a shipped lesson."""
        return LessonProgress(lesson, folder=self._state)

    def open_first(self) -> None:
        """Open the first lesson."""
        try:
            self.open(lesson_files.shipped_lesson(FIRST))
        except FileError as error:
            dialogs.message(self._window, "Could not open the first lesson", str(error))

    def open_file(self, path: Path) -> None:
        """Open a lesson file; show an error message if that fails."""
        try:
            lesson = lesson_files.load(path)
        except FileError as error:
            dialogs.message(self._window, f"Could not open {path.name}", str(error))
            return
        if self.open(lesson, path):
            self._window.open_projects.add_recent(path)

    def open(self, lesson: Lesson, source: Path | None = None) -> bool:
        """Open a lesson, or return to it if it is open. Returns False if its files cannot be used."""
        progress = LessonProgress(lesson, source, self._state)
        if source is None:
            allow_code(lesson.document)  # code of shipped lessons is part of Gradwire
        for project, session in self._sessions.items():
            if session.folder == progress.folder:
                self._window.open_projects.make_current(project)
                return True
        project = self._opened(lesson, progress)
        if project is None:
            return False
        session = self._sessions[project] = LessonSession(lesson, project, progress)
        session.changed.connect(self.progress_changed)
        session.step_changed.connect(self._show_panel)  # before the guide, whose target may be behind the panel
        session.step_completed.connect(self._show_explanation)
        panel = self._window.project_views[project].lesson
        panel.attend(session)
        panel.next_requested.connect(self.guide.go_on)
        panel.back_requested.connect(self.guide.go_back)
        panel.restart_requested.connect(session.start_again)
        panel.term_requested.connect(self._explain)
        self._show_panel()
        self.guide.attend(session)
        self.progress_changed.emit()
        return True

    def _opened(self, lesson: Lesson, progress: LessonProgress) -> Project | None:
        """The learner's project. If it is damaged, the learner can start again; None if that fails or is declined."""
        try:
            try:
                return self._window.open_projects.open_kept(progress.prepare(), lesson.title)
            except FileError as error:
                if not progress.project.exists():
                    raise
                if not dialogs.confirm_new_start(self._window, lesson.title, str(error)):
                    return None
                progress.start_again()
                return self._window.open_projects.open_kept(progress.prepare(), lesson.title)
        except FileError as error:
            dialogs.message(self._window, f"Could not open {lesson.title}", str(error))
            return None

    def start_again(self) -> None:
        if self.session is not None:
            self.session.start_again()

    def show_current(self, *_: object) -> None:
        """Show panel and card of the current project's lesson; hide them for other projects."""
        self._show_panel()
        self.guide.show_current()

    def _show_panel(self) -> None:
        """Show the Lesson panel for the project of a lesson, and hide it for others."""
        dock, window = self._window.docks["lesson"], self._window
        if window.project is None or window.docks.are_hidden:
            return
        if self.session is None:
            dock.hide()
        elif not dock.isVisible():
            dock.reveal()
            for name in ("lesson", "inspector"):
                window.docks.widen(name, _WIDTH)
        else:
            dock.raise_()

    def _show_explanation(self) -> None:
        if self.session is not None and self.session.step.explanation:
            self._show_panel()

    def _explain(self, term: str) -> None:
        """Show what a term means."""
        session = self.session
        if session is not None:
            HelpPage(term, explanation_of(term, session.lesson), self._window).show()

    def _forget(self, project: Project) -> None:
        session = self._sessions.pop(project, None)
        if session is not None:
            session.close()


__all__ = ["FIRST", "LessonActions"]
