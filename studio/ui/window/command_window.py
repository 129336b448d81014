"""Interface of the main window for its commands, so that commands and window do not import each other."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QMainWindow, QWidget

from studio.document.files.project_templates import Template
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.command_registry import CommandRegistry
from studio.ui.project.open_projects import OpenProjects
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.theme.theme import ThemeManager
from studio.ui.window.dock_area import DockArea
from studio.ui.window.file_actions import FileActions
from studio.ui.window.project_view import ProjectView
from studio.ui.window.top_bar import TopBar


class CommandWindow(QMainWindow):
    """State and handlers that commands use. `MainWindow` implements them."""

    commands: CommandRegistry
    docks: DockArea
    files: FileActions
    open_projects: OpenProjects
    project_views: dict[Project, ProjectView]
    settings: Settings
    themes: ThemeManager
    topbar: TopBar

    @property
    def project(self) -> Project | None:
        raise NotImplementedError

    @property
    def canvas(self) -> CanvasView | None:
        raise NotImplementedError

    @property
    def is_focused(self) -> bool:
        raise NotImplementedError

    def new_project(self) -> None:
        raise NotImplementedError

    def ask_and_open(self) -> None:
        raise NotImplementedError

    def show_welcome(self) -> None:
        raise NotImplementedError

    def open_settings(self, key: str = "") -> None:
        raise NotImplementedError

    def open_shortcuts(self) -> None:
        raise NotImplementedError

    def open_palette(self) -> None:
        raise NotImplementedError

    @property
    def templates(self) -> Sequence[Template]:
        raise NotImplementedError

    def open_template(self, template: Template, run: bool = False) -> None:
        raise NotImplementedError

    def show_training_settings(self) -> None:
        raise NotImplementedError

    def show_status(self, text: str) -> None:
        raise NotImplementedError

    def start_first_lesson(self) -> None:
        raise NotImplementedError

    def show_lessons(self) -> None:
        raise NotImplementedError

    def show_step_card(self) -> None:
        raise NotImplementedError

    def restart_lesson(self) -> None:
        raise NotImplementedError

    @property
    def has_lesson(self) -> bool:
        """Whether the current project is that of a lesson."""
        raise NotImplementedError

    @property
    def step_card(self) -> QWidget | None:
        """The card of a lesson's step while it is shown."""
        raise NotImplementedError

    def show_panels(self) -> None:
        """Leave focus mode."""
        raise NotImplementedError

    def toggle_focus(self) -> None:
        raise NotImplementedError

    def restore_layout(self) -> None:
        raise NotImplementedError

    def start_run(self) -> None:
        raise NotImplementedError

    def show_autograd_graph(self) -> None:
        raise NotImplementedError

    def explain_step(self) -> None:
        raise NotImplementedError

    def mend_break(self) -> None:
        raise NotImplementedError

    def profile_steps(self) -> None:
        raise NotImplementedError

    def find_rate(self) -> None:
        raise NotImplementedError

    def overfit(self) -> None:
        raise NotImplementedError

    def diagnose(self) -> None:
        raise NotImplementedError
