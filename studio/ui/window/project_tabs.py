"""The tabs of the open projects."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTabWidget

from studio.ui.project.project import Project
from studio.ui.widgets.labels import shortened
from studio.ui.widgets.plain_keys import PlainKeyFilter
from studio.ui.window.project_view import ProjectView


class ProjectTabs(QTabWidget):
    """A tab with the canvas of each project. A dot marks unsaved changes."""

    chosen = Signal(object)
    """The user chose the tab of a project."""
    close_requested = Signal(object)
    """The user wants to close a project."""

    def __init__(self, views: Mapping[Project, ProjectView]) -> None:
        super().__init__()
        self._views = views
        self.tabBar().installEventFilter(PlainKeyFilter(self))
        self.tabBar().setAccessibleName("Projects")
        self.setDocumentMode(True)
        self.setTabsClosable(True)
        self.setMovable(True)
        self.setElideMode(Qt.TextElideMode.ElideNone)  # scroll buttons appear instead
        self.currentChanged.connect(self._choose)
        self.tabCloseRequested.connect(self._request_close)

    @property
    def current_project(self) -> Project | None:
        """The project of the current tab."""
        return self._project_at(self.currentIndex())

    def add(self, project: Project) -> None:
        """Add a tab for a project, whose view exists."""
        self.addTab(self._views[project].canvas, "")
        self.update_tab(project)
        project.store.saved_changed.connect(partial(self.update_tab, project))
        project.store.path_changed.connect(partial(self.update_tab, project))

    def remove(self, view: ProjectView) -> None:
        """Remove the tab of a view."""
        self.removeTab(self.indexOf(view.canvas))

    def show_project(self, project: Project) -> None:
        """Make the tab of a project the current one."""
        self.setCurrentWidget(self._views[project].canvas)

    def update_tab(self, project: Project, *_: object) -> None:
        """Show the name of a project, and whether it is saved."""
        store, index = project.store, self.indexOf(self._views[project].canvas)
        name = shortened(store.name)
        self.setTabText(index, name if store.is_saved else f"{name} •")
        self.setTabToolTip(index, str(store.path or "Not saved yet"))

    def _project_at(self, index: int) -> Project | None:
        shown = self.widget(index)
        return next((project for project, view in self._views.items() if view.canvas is shown), None)

    def _choose(self, index: int) -> None:
        project = self._project_at(index)
        if project is not None:
            self.chosen.emit(project)

    def _request_close(self, index: int) -> None:
        self.close_requested.emit(self._project_at(index))
