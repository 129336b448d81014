"""Open, save and close projects, with the dialogs and notifications that this needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.files.autosave import Recovery
from studio.document.files.project_format import SUFFIX
from studio.document.model import Document
from studio.ui import dialogs
from studio.ui.canvas.picture_export import save_picture
from studio.ui.preferences.declarations import CONFIRM_STOP
from studio.ui.preferences.preferences import Preferences
from studio.ui.project.open_projects import OpenProjects
from studio.ui.project.project import Project
from studio.ui.theme import theme
from studio.ui.window.notification_bar import NotificationBar


class FileActions(QObject):
    notification_ready = Signal(object)
    """A NotificationBar to show in the window."""
    status_message = Signal(str)
    """A status-line message."""

    def __init__(self, open_projects: OpenProjects, preferences: Preferences, parent: QWidget) -> None:
        super().__init__(parent)
        self._open_projects = open_projects
        self._preferences = preferences
        self._window = parent
        open_projects.opened.connect(self._watch_disk)

    def open(self, path: Path) -> Project | None:
        """Open a project file; show an error message if that fails."""
        try:
            return self._open_projects.open(path)
        except FileError as error:
            dialogs.message(self._window, f"Could not open {path.name}", str(error))
            return None

    def ask_for_comparison(self, project: Project) -> tuple[str, Document] | None:
        """Ask for another project file. Returns its name and document; None if there is none."""
        path = dialogs.path_to_compare(self._window, project.store.base)
        if path is None:
            return None
        try:
            return path.stem, project_files.load(path)
        except FileError as error:
            self.notification_ready.emit(NotificationBar(str(error), []))
            return None

    def save(self, project: Project) -> bool:
        """Save to the project's file, or ask for a file. Returns False if the project was not saved."""
        path = project.store.path
        if path is None:
            return self.save_as(project)
        if project.changed_on_disk and not dialogs.confirm_overwrite(self._window, path):
            return False
        return self._write(project, path)

    def save_as(self, project: Project) -> bool:
        """Ask for a file and save to it. Returns False if the project was not saved."""
        suggestion = project.store.path or Path.home() / f"{_file_name(project.store.name)}{SUFFIX}"
        path = dialogs.path_to_save(self._window, suggestion)
        return path is not None and self._write(project, path)

    def close(self, project: Project) -> bool:
        """Close a project; ask first if unsaved work would be lost. Returns False if the user cancels."""
        if project.needs_saving:
            self._open_projects.make_current(project)
            answer = dialogs.save_before_closing(
                self._window, project.store.name, is_running=project.runner.is_active, runs=project.unsaved_runs
            )
            if answer == "cancel" or (answer == "save" and not self.save(project)):
                return False
        elif not self._may_stop([project]):
            return False
        self._open_projects.close(project)
        return True

    def close_all(self) -> bool:
        """Close all projects after one question about unsaved work. Returns False if the user cancels."""
        projects = tuple(self._open_projects.projects)
        unsaved = [project for project in projects if project.needs_saving]
        if len(unsaved) == 1:
            return self.close(unsaved[0]) and self.close_all()
        if unsaved:
            answer = dialogs.save_before_quitting(
                self._window,
                [project.store.name for project in unsaved],
                is_running=any(project.runner.is_active for project in unsaved),
                runs=sum(project.unsaved_runs for project in unsaved),
            )
            if answer == "cancel" or (answer == "save" and not all(map(self._show_and_save, unsaved))):
                return False
        elif not self._may_stop(projects):
            return False
        for project in projects:
            self._open_projects.close(project)
        return True

    def _may_stop(self, projects: Sequence[Project]) -> bool:
        """Ask before training runs are stopped, if the user wants to be asked."""
        names = [project.store.name for project in projects if project.runner.is_active]
        return not names or not self._preferences.get(CONFIRM_STOP) or dialogs.confirm_stop(self._window, names)

    def export_picture(self, project: Project, *, selected: bool = False) -> None:
        """Ask for a file and save a picture of the shown graph in the light theme, or of its selected nodes."""
        name = project.scope.block or project.store.name
        folder = project.store.path.parent if project.store.path else Path.home()
        path = dialogs.picture_to_save(self._window, folder / f"{_file_name(name)}.svg")
        if path is None:
            return
        try:
            save_picture(project.scope, theme.load("light"), path, selected=selected)
        except (OSError, ValueError) as error:
            dialogs.message(self._window, f"Could not export {path.name}", str(error))
            return
        self.status_message.emit(f"Exported {path.name}")

    def _show_and_save(self, project: Project) -> bool:
        """Make a project current before a dialog asks about it."""
        self._open_projects.make_current(project)
        return self.save(project)

    def offer_recovery(self) -> None:
        """Offer to recover unsaved work after a crash: one notification for all projects."""
        recoveries = self._open_projects.recoverable()
        if not recoveries:
            return
        names = [recovery.path.name if recovery.path else "an unsaved project" for recovery in recoveries]
        count, suffix = len(names), " all" if len(names) > 1 else ""
        subject = f"{names[0]} was" if count == 1 else f"{count} projects were"
        when = f"{recoveries[0].time.astimezone():%d %b, %H:%M}"
        notification = NotificationBar(
            f"Gradwire closed before {subject} saved. Unsaved changes from {when} were recovered.",
            [
                (f"Restore{suffix}", partial(self._recover, recoveries)),
                (f"Discard{suffix}", partial(self._discard, recoveries)),
            ],
        )
        notification.text.setToolTip("\n".join(names) if count > 1 else "")
        self.notification_ready.emit(notification)

    def _write(self, project: Project, path: Path) -> bool:
        try:
            self._open_projects.save(project, path)
        except FileError as error:
            dialogs.message(self._window, f"Could not save {path.name}", str(error))
            return False
        self.status_message.emit(f"Saved {path.name}")
        return True

    def _recover(self, recoveries: list[Recovery]) -> None:
        """Open the projects so that the one changed last is current."""
        if None in [self._open_projects.recover(recovery) for recovery in reversed(recoveries)]:
            self.status_message.emit("Another Gradwire window has already restored this work.")

    def _discard(self, recoveries: list[Recovery]) -> None:
        for recovery in recoveries:
            self._open_projects.discard(recovery)

    def _watch_disk(self, project: Project) -> None:
        project.disk_changed.connect(partial(self._show_disk_change, project))

    def _show_disk_change(self, project: Project) -> None:
        path = project.store.path
        if path is None:
            return
        if not path.exists():
            text, choices = f"{path.name} was moved or deleted on disk. Your version is still open here.", []
        else:
            text = f"{path.name} was changed on disk by another program."
            choices = [("Reload", partial(self._reload, project))]
        self.notification_ready.emit(
            NotificationBar(text, [*choices, ("Keep my version", project.keep_current_version)])
        )

    def _reload(self, project: Project) -> None:
        try:
            project.reload()
        except FileError as error:
            dialogs.message(self._window, f"Could not reload {project.store.name}", str(error))


def _file_name(title: str) -> str:
    return "_".join("".join(letter if letter.isalnum() else " " for letter in title.lower()).split()) or "untitled"
