"""The open projects of a window. Dialogs that ask the user are in `file_actions` and `dialogs`."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.document.files import project_files
from studio.document.files.autosave import Recovery, clean_up_orphaned_runs, discard, recoverable
from studio.document.files.project_templates import Template
from studio.document.files.recent_projects import RecentFiles
from studio.document.model import Document, TrainingSettings
from studio.nodes.catalogue import Catalogue
from studio.ui.project.block_libraries import BlockLibraries
from studio.ui.project.project import Project


class OpenProjects(QObject):
    opened = Signal(object)
    """A Project, which becomes the current one."""
    closed = Signal(object)
    current_changed = Signal(object)
    """The current Project, or None."""
    recent_changed = Signal()

    def __init__(self, catalogue: Catalogue, *, state: Path | None = None, parent: QObject | None = None) -> None:
        """`state` is the folder for journals, recent files and the block library; None uses the defaults."""
        super().__init__(parent)
        self.catalogue = catalogue
        self.state = state
        self.projects: list[Project] = []
        self._current: Project | None = None
        self._recent = RecentFiles(state)
        self.libraries = BlockLibraries(state / "blocks" if state else None, self)
        self.new_training = TrainingSettings()
        """Training settings of new, empty projects."""
        self._backup_delay = 1
        self._journals = state / "autosave" if state else None

    @property
    def current(self) -> Project | None:
        return self._current

    @property
    def recent(self) -> tuple[Path, ...]:
        return self._recent.paths()

    def set_backup_delay(self, seconds: int) -> None:
        """Set the pause after an edit until it is backed up, in all projects."""
        self._backup_delay = seconds
        for project in self.projects:
            project.set_backup_delay(seconds)

    def set_recent_limit(self, limit: int) -> None:
        """Set the number of recent files that are remembered."""
        if limit != self._recent.limit:
            self._recent.limit = limit
            self.recent_changed.emit()

    def clear_recent(self) -> None:
        self._recent.clear()
        self.recent_changed.emit()

    def make_current(self, project: Project | None) -> None:
        if project is not self._current:
            self._current = project
            self.current_changed.emit(project)

    def new(self, document: Document | None = None, title: str = "Untitled") -> Project:
        """Open a new project without a file. Equal titles are numbered."""
        used_names = {project.store.name for project in self.projects}
        name, number = title, 2
        while name in used_names:
            name, number = f"{title} {number}", number + 1
        return self._add(self._project(document or Document(training=self.new_training), title=name))

    def from_template(self, template: Template) -> Project:
        return self.new(template.document, template.title)

    def open(self, path: Path) -> Project:
        """Open a project file, or make it current if it is already open. Raises FileError."""
        path = path.absolute()
        for project in self.projects:
            if project.store.path == path:
                self.make_current(project)
                return project
        document, stamp = project_files.load_stamped(path)
        self.add_recent(path)
        return self._add(self._project(document, path=path, stamp=stamp))

    def open_kept(self, path: Path, title: str) -> Project:
        """Open a project file that saves itself and is shown under a title, as that of a lesson. Raises FileError."""
        document, stamp = project_files.load_stamped(path)
        return self._add(self._project(document, path=path, stamp=stamp, title=title, saves_itself=True))

    def save(self, project: Project, path: Path) -> None:
        """Save a project to `path`. Raises FileError."""
        path = path.absolute()
        project.save(path)
        self.add_recent(path)

    def close(self, project: Project) -> None:
        project.close()
        index = self.projects.index(project)
        self.projects.remove(project)
        if project is self._current:
            next_project = self.projects[min(index, len(self.projects) - 1)] if self.projects else None
            self.make_current(next_project)
        self.closed.emit(project)
        project.deleteLater()

    # -- crash recovery

    def recoverable(self) -> list[Recovery]:
        clean_up_orphaned_runs(self._journals)
        return recoverable(self._journals)

    def recover(self, recovery: Recovery) -> Project | None:
        """Open the recovered work as a project. Returns None if another process has already recovered it."""
        project = self._project(recovery.document, path=recovery.path, title="Recovered")
        if not project.recover(recovery):
            project.close()
            return None
        return self._add(project)

    def discard(self, recovery: Recovery) -> None:
        discard(recovery)

    # -- helpers

    def _project(
        self,
        document: Document,
        *,
        path: Path | None = None,
        stamp: project_files.FileStamp | None = None,
        title: str | None = None,
        saves_itself: bool = False,
    ) -> Project:
        return Project(
            document,
            self.catalogue,
            path=path,
            stamp=stamp,
            title=title,
            journals=self._journals,
            backup_delay=self._backup_delay,
            saves_itself=saves_itself,
            parent=self,
        )

    def _add(self, project: Project) -> Project:
        self.projects.append(project)
        self._current = project
        self.opened.emit(project)
        self.current_changed.emit(project)
        return project

    def add_recent(self, path: Path) -> None:
        """List a file as the one opened last."""
        self._recent.add(path)
        self.recent_changed.emit()
