"""The main window: project tabs in the center, docks around them, toolbar above and status bar below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QStackedWidget, QToolBar, QVBoxLayout, QWidget

from studio.document import LESSON_SUFFIX, SUFFIX
from studio.document.files.project_templates import Template, templates
from studio.lowering.problems.problem_groups import grouped
from studio.ui import dialogs
from studio.ui.canvas.canvas_commands import canvas_commands
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.drop_handler import dropped_data_files
from studio.ui.command_registry import CommandRegistry
from studio.ui.data_import.data_imports import DataImports
from studio.ui.palette.node_usage import NodeUsage
from studio.ui.palette.palette_offers import PaletteOffers
from studio.ui.panels.runs.run_actions import RunActions
from studio.ui.panels.runs.run_commands import runs_commands
from studio.ui.project.block_library_actions import BlockLibraryActions
from studio.ui.project.open_projects import OpenProjects
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.theme.theme import ThemeManager
from studio.ui.trials.diagnosis_dialog import DiagnosisDialog
from studio.ui.trials.trial_dialog import TrialFactory
from studio.ui.widgets.choice_palette import ChoicePalette
from studio.ui.window import menu_bar
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.context_help import show_topic, topic_of
from studio.ui.window.diagnosis_offer import DiagnosisOffer
from studio.ui.window.dock_area import DockArea
from studio.ui.window.file_actions import FileActions
from studio.ui.window.import_actions import ImportActions
from studio.ui.window.lessons.lesson_actions import LessonActions
from studio.ui.window.lessons.lesson_list import LessonList
from studio.ui.window.library_commands import library_commands
from studio.ui.window.notification_area import NotificationArea
from studio.ui.window.palette_choices import palette_choices
from studio.ui.window.preference_effects import PreferenceEffects
from studio.ui.window.project_tabs import ProjectTabs
from studio.ui.window.project_view import ProjectView
from studio.ui.window.settings_dialog import SettingsDialog
from studio.ui.window.status_bar import StatusBar
from studio.ui.window.top_bar import TopBar
from studio.ui.window.welcome_page import WelcomePage
from studio.ui.window.window_commands import window_commands

_SIZE = QSize(1440, 900)
_COMPUTING_DOCKS = ("autograd", "compile", "data", "probes", "stepping")
"""Docks whose panels compute only while visible."""


class MainWindow(CommandWindow):
    restart_requested = Signal()
    """The user wants a new process, in which settings take effect."""

    def __init__(self, open_projects: OpenProjects, settings: Settings, themes: ThemeManager) -> None:
        super().__init__()
        self.open_projects, self.settings, self.themes = open_projects, settings, themes
        self.project_views: dict[Project, ProjectView] = {}
        self._node_usage = NodeUsage(settings)
        self._settings_dialog: SettingsDialog | None = None
        self.files = FileActions(open_projects, settings.preferences, self)
        self.imports = DataImports(self)
        self.docks = DockArea(self)
        self.lessons = LessonActions(self, open_projects.state)
        self.setWindowTitle("Gradwire")
        self.setAcceptDrops(True)

        self._preference_effects = PreferenceEffects(
            settings.preferences, themes, open_projects, lambda: [v.canvas for v in self.project_views.values()], self
        )
        self.commands = CommandRegistry(self, settings.bindings)
        self.tabs = ProjectTabs(self.project_views)
        self.notifications = NotificationArea(open_projects)
        self.commands.add(*window_commands(self), *canvas_commands(lambda: self.canvas, self.tabs))
        self.commands.add(*runs_commands(lambda: self.run_actions, self.docks["runs"]))
        self.commands.add(*library_commands(lambda: self.block_library, self))
        self.command_palette = ChoicePalette(
            self, "Search commands", "Type a command, a setting or a node name", "No matching commands or nodes"
        )
        self.status = StatusBar()
        self.setStatusBar(self.status)
        self._add_central_widget()
        self._add_toolbar()
        self._recent = menu_bar.build_menus(self.menuBar(), self.commands)["File/Recent"]
        self._connect()
        self.resize(_SIZE)
        self._restore()
        self._show(None)

    # -- current project

    @property
    def project(self) -> Project | None:
        return self.open_projects.current

    @property
    def canvas(self) -> CanvasView | None:
        return self.project_views[self.project].canvas if self.project else None

    @property
    def block_library(self) -> BlockLibraryActions | None:
        """Actions between the current project and the libraries of blocks."""
        return self.project_views[self.project].block_library if self.project else None

    @property
    def run_actions(self) -> RunActions | None:
        """Actions on the selected runs."""
        return self.project_views[self.project].runs.run_actions if self.project else None

    @property
    def is_focused(self) -> bool:
        """Whether focus mode is on, which hides everything except the canvas."""
        return self.project is not None and self.docks.are_hidden

    # -- command handlers

    @property
    def templates(self) -> Sequence[Template]:
        return self.welcome.templates

    def show_status(self, text: str) -> None:
        """Show a message in the status bar."""
        self.status.show_status(text)

    def show_training_settings(self) -> None:
        """Show the training settings in the inspector, and focus the first."""
        if self.project is not None:
            self.project.scope.go(())
            self.project.scope.select(())
            self._edit_parameters(self.project_views[self.project])

    def start_first_lesson(self) -> None:
        """Start the first lesson, or go on with it. It is not offered again."""
        self._answer_offer()
        self.lessons.open_first()

    def show_lessons(self) -> None:
        self.open_projects.make_current(None)
        self.welcome.show_lessons()

    def show_step_card(self) -> None:
        self.lessons.guide.show_card()

    def restart_lesson(self) -> None:
        self.lessons.start_again()

    @property
    def has_lesson(self) -> bool:
        return self.lessons.session is not None

    @property
    def step_card(self) -> QWidget | None:
        card = self.lessons.guide.card
        return card if card.isVisible() else None

    def _answer_offer(self) -> None:
        self.settings.answered_offer = True
        self.welcome.offer_first_lesson(False)

    def show_panels(self) -> None:
        if self.project is not None and self.docks.are_hidden:
            self._set_chrome(True)

    def toggle_focus(self) -> None:
        """Toggle focus mode."""
        if self.project is not None:
            self._set_chrome(self.docks.are_hidden)

    def restore_layout(self) -> None:
        self.docks.restore_default()
        self._set_chrome(self.project is not None)

    def show_problems(self) -> None:
        self.docks["problems"].reveal()

    def show_compile(self) -> None:
        self.docks["compile"].reveal()

    def explain_step(self) -> None:
        """Explain the compiled training step and show the result."""
        if self.project is not None:
            self.docks["compile"].reveal()
            self.project.explainer.explain()

    def profile_steps(self) -> None:
        """Profile training steps and show the result."""
        if self.project is not None:
            self.docks["profiler"].reveal()
            self.project_views[self.project].profiler.start()

    def mend_break(self) -> None:
        """Show the next graph break on the canvas."""
        if self.project is not None:
            self.project_views[self.project].break_mending.open_next()

    def show_welcome(self) -> None:
        """Show the welcome page without closing the open projects."""
        self.open_projects.make_current(None)

    def new_project(self) -> None:
        self.open_projects.new()

    def open_file(self, path: Path) -> None:
        """Open a project or a lesson; show an error message if that fails."""
        if path.suffix == LESSON_SUFFIX:
            self.lessons.open_file(path)
        else:
            self.files.open(path)

    def ask_and_open(self) -> None:
        for path in dialogs.paths_to_open(self, self.project.store.base if self.project else None):
            self.open_file(path)

    def open_palette(self) -> None:
        """Open the command palette."""
        self.commands.refresh()
        self.command_palette.open(palette_choices(self))

    def open_settings(self, key: str = "") -> None:
        """Open the settings, at a setting if a key is given."""
        self._shown_settings().show_setting(key)

    def open_shortcuts(self) -> None:
        """Open the settings at the keyboard shortcuts."""
        self._shown_settings().show_shortcuts()

    def _shown_settings(self) -> SettingsDialog:
        if self._settings_dialog is None:
            dialog = self._settings_dialog = SettingsDialog(self.settings, self.commands, self)
            dialog.restart_requested.connect(self.restart_requested)
            dialog.destroyed.connect(self._forget_settings)
        self._settings_dialog.show()
        return self._settings_dialog

    def _forget_settings(self) -> None:
        self._settings_dialog = None

    def start_run(self) -> None:
        """Start training and show the curves. A paused run goes on, and the panel in front stays there."""
        if self.project is not None:
            was_active = self.project.runner.is_active
            self.project.runner.start()
            if self.project.runner.is_active and not was_active:
                self.docks["runs"].reveal()

    def show_autograd_graph(self) -> None:
        """Run one training step and show its autograd graph."""
        if self.project is not None:
            self.docks["autograd"].reveal()
            self.project.runner.request_snapshot()

    def find_rate(self) -> None:
        self._open_trial(partial(DiagnosisDialog, only=("rate",)))

    def overfit(self) -> None:
        self._open_trial(partial(DiagnosisDialog, only=("overfit",)))

    def diagnose(self) -> None:
        self._open_trial(DiagnosisDialog)

    def _open_trial(self, make: TrialFactory) -> None:
        trial = None if self.project is None else self.project_views[self.project].open_trial(make)
        if trial is not None:
            trial.other_trial_requested.connect(self.commands.run)

    # -- Qt events

    def closeEvent(self, event: QCloseEvent) -> None:
        layout = self.docks.layout()
        if not self.files.close_all():
            event.ignore()
            return
        self.settings.geometry = self.saveGeometry()
        if not self._was_narrow:
            self.settings.layout = layout
        self.settings.sync()
        event.accept()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            for project in self.open_projects.projects:
                project.check_disk()
                project.store.recheck()  # data files may have changed

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Focus the canvas on Escape that no widget handled."""
        if event.key() == Qt.Key.Key_Escape and self.canvas is not None:
            self.activateWindow()
            self.canvas.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _project_files(event) or dropped_data_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for path in _project_files(event):
            self.open_file(path)
        ImportActions(self).start(dropped_data_files(event))

    # -- widgets

    def _add_central_widget(self) -> None:
        """Widgets are made inside their containers, because Qt applies the style sheet again to those that move."""
        middle = QWidget(self)
        self.setCentralWidget(middle)
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.notifications)
        self._central = QStackedWidget(middle)
        column.addWidget(self._central, 1)
        lessons = LessonList(self.open_projects.state)
        self.welcome = WelcomePage(templates(), self.open_projects.catalogue, lessons, self._central)
        self._central.addWidget(self.welcome)
        self._central.addWidget(self.tabs)

    def _add_toolbar(self) -> None:
        bar = self._toolbar = QToolBar("Run", self)
        bar.setObjectName("topbar")
        bar.setMovable(False)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.addToolBar(bar)
        self.topbar = TopBar(self.commands, bar)
        bar.addWidget(self.topbar)

    def _connect(self) -> None:
        self.open_projects.opened.connect(self._add)
        self.open_projects.closed.connect(self._remove)
        self.open_projects.current_changed.connect(self._show)
        self.open_projects.current_changed.connect(self.lessons.show_current)
        self.open_projects.recent_changed.connect(self._show_recent)
        self.imports.refused.connect(self.notifications.show_warning)
        self.files.notification_ready.connect(self.notifications.show_bar)
        self.files.status_message.connect(self.status.show_status)
        self.open_projects.libraries.changed.connect(self.commands.refresh)
        self.tabs.chosen.connect(self._choose_tab)
        self.tabs.close_requested.connect(self.files.close)
        self.status.problems_requested.connect(self.show_problems)
        self.status.compile_panel_requested.connect(self.show_compile)
        for name in _COMPUTING_DOCKS:
            self.docks[name].visibilityChanged.connect(partial(self._set_panel_visible, name))
        self.welcome.new_project_requested.connect(self.new_project)
        self.welcome.open_dialog_requested.connect(self.ask_and_open)
        self.welcome.file_requested.connect(self.open_file)
        self.welcome.template_requested.connect(self.open_template)
        self.welcome.first_lesson_requested.connect(self.start_first_lesson)
        self.welcome.first_lesson_declined.connect(self._answer_offer)
        self.welcome.lesson_requested.connect(self.lessons.open)
        self.welcome.offer_first_lesson(not self.settings.answered_offer)
        self.lessons.progress_changed.connect(self.welcome.lesson_list.refresh)
        self.welcome.left.connect(lambda: self.open_projects.make_current(self.tabs.current_project))
        self._show_recent()

    def _restore(self) -> None:
        geometry, layout = self.settings.geometry, self.settings.layout
        if geometry is not None:
            self.restoreGeometry(geometry)
        if layout is not None:
            self.docks.restore(layout)
        self._fit_screen()
        self._was_narrow = self.docks.make_room(self.size())

    def _fit_screen(self) -> None:
        """Make the window no larger than the screen, for example after the interface scale was increased."""
        room = self.screen().availableGeometry()
        if not room.contains(self.geometry()):
            self.resize(self.size().boundedTo(room.size()))
            self.move(max(min(self.x(), room.right() + 1 - self.width()), room.left()), max(self.y(), room.top()))

    # -- opening, closing and switching projects

    def _add(self, project: Project) -> None:
        offers = PaletteOffers(project.scope, self._node_usage, self.open_projects.libraries)
        project_view = ProjectView(
            project, self.settings, self.themes, offers, self.open_projects.libraries, self.docks
        )
        self._preference_effects.apply_to(project_view.canvas)
        project_view.block_library.notified.connect(self.notifications.show_library_change)
        project_view.block_library.failed.connect(self.notifications.show_warning)
        self.open_projects.libraries.refresh()
        self.project_views[project] = project_view
        self.notifications.report_untrusted_code(project)
        for name, panel in project_view.panels.items():
            self.docks[name].add(project, panel)
        self.tabs.add(project)
        project.store.saved_changed.connect(self._update_title)
        project.store.path_changed.connect(self._update_title)
        project.store.report_changed.connect(partial(self._count_problems, project))
        project.runner.state_changed.connect(self.commands.refresh)
        project.store.document_changed.connect(self.commands.refresh)
        project.store.selection_changed.connect(self.commands.refresh)
        project.scope.location_changed.connect(self.commands.refresh)
        project_view.canvas.find_action = self._find_action
        project_view.canvas.import_requested.connect(partial(self.imports.start, project_view.canvas))
        project_view.canvas.template_requested.connect(self.show_welcome)
        project_view.lesson.lessons_requested.connect(self.show_lessons)
        project_view.canvas.parameters_requested.connect(partial(self._edit_parameters, project_view))
        project_view.zoomed.connect(self.status.show_zoom)
        project_view.status_message.connect(self.status.show_status)
        project_view.graph_break_requested.connect(self.show_compile)
        project_view.breakpoints_requested.connect(self.docks["breakpoints"].reveal)
        project_view.hit_bar.step_through_requested.connect(partial(self.commands.run, "step.record"))
        project_view.problems_requested.connect(self.show_problems)
        project_view.problems.diagnosis_requested.connect(self.diagnose)
        DiagnosisOffer(project.runner, self.notifications.show_bar, self.diagnose)
        project_view.problems.help_requested.connect(lambda row: show_topic(self, topic_of(self, row)))
        project_view.color_by.changed.connect(self.commands.refresh)
        project_view.step_recordings.changed.connect(self.commands.refresh)
        project_view.comparison.changed.connect(self.commands.refresh)
        project_view.runs.list.chosen.connect(self.commands.refresh)
        project.library.runs_changed.connect(self.commands.refresh)
        project.library.metadata_changed.connect(self.commands.refresh)
        project_view.runs.run_actions.jobs.changed.connect(self.commands.refresh)
        project_view.runs.run_actions.project_requested.connect(self.files.open)

    def _edit_parameters(self, project_view: ProjectView) -> None:
        self.docks["inspector"].reveal()
        project_view.inspector.activateWindow()
        project_view.inspector.edit()

    def _remove(self, project: Project) -> None:
        project_view = self.project_views.pop(project)
        for name in project_view.panels:
            self.docks[name].remove(project)
        self.tabs.remove(project_view)
        project_view.close()

    def _show(self, project: Project | None) -> None:
        """Show a project, or the welcome page for None."""
        if project is None:
            covered = self.tabs.current_project  # its tab is removed after this if it was closed
            is_open = covered in self.open_projects.projects
            self.welcome.offer_return(covered.store.name if covered and is_open else "")
            self._central.setCurrentWidget(self.welcome)
            self.welcome.setFocus()
        else:
            project_view = self.project_views[project]
            self._central.setCurrentWidget(self.tabs)
            self.tabs.show_project(project)
            for dock in self.docks:
                dock.show_for(project)
            self.status.show_zoom(project_view.zoom)
            project_view.canvas.setFocus()
        self._update_title()
        self._set_chrome(project is not None)
        if project is not None:
            QTimer.singleShot(0, self.project_views[project].fit_once)
        for name in _COMPUTING_DOCKS:
            self._set_panel_visible(
                name, self.docks[name].isVisible() and not self.docks[name].visibleRegion().isEmpty()
            )
        self.topbar.watch(project)
        self.status.watch(project)
        self._count_problems(project)
        self.commands.refresh()

    def _set_panel_visible(self, dock: str, visible: bool) -> None:
        """Tell a panel whether it is visible, so that hidden panels do not compute."""
        for project, project_view in self.project_views.items():
            panel = {
                "autograd": project_view.autograd,
                "compile": project_view.compile,
                "data": project_view.data,
                "probes": project_view.probes,
                "stepping": project_view.stepping,
            }[dock]
            panel.set_in_sight(visible and project is self.project)

    def _set_chrome(self, visible: bool) -> None:
        """Show or hide the docks, the toolbar and the status bar."""
        if visible:
            self.docks.show()
        else:
            self.docks.hide()
        self._toolbar.setVisible(visible)
        self.status.setVisible(visible)

    def _choose_tab(self, project: Project) -> None:
        if self._central.currentWidget() is self.tabs:
            self.open_projects.make_current(project)

    def _update_title(self, *_: object) -> None:
        project = self.project
        self.setWindowTitle(f"{project.store.name}[*] – Gradwire" if project else "Gradwire")
        self.setWindowModified(project is not None and not project.store.is_saved)

    def _count_problems(self, project: Project | None, *_: object) -> None:
        if project is self.project:
            has_nodes = project is not None and bool(project.store.document.nodes)
            problem_groups = (
                grouped(project.store.report.problems, project.store.document.nodes) if project and has_nodes else ()
            )
            self.docks["problems"].set_count(len(problem_groups))

    def open_template(self, template: Template, run: bool = False) -> None:
        """Open a template as a new project, and train it if `run`."""
        project = self.open_projects.from_template(template)
        if run:
            self.project_views[project].run_when_checked()

    def _find_action(self, id: str) -> QAction | None:
        return self.commands.current_action(id) if id in self.commands else None

    def _show_recent(self) -> None:
        recent = self.open_projects.recent
        self.welcome.show_recent(recent)
        menu_bar.fill_recent(self._recent, recent, self.open_file, self.open_projects.clear_recent)


def _project_files(event: QDropEvent) -> list[Path]:
    paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix in (SUFFIX, LESSON_SUFFIX)]
