"""The window without a project, dialogs, and panels of empty and untrained projects."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from screenshots import open_template, settle, until
from studio.ui import dialogs
from studio.ui.window.main_window import MainWindow
from studio.ui.window.settings_dialog import SettingsDialog
from window_states.registry import ARABIC, CHINESE, DOCKS, EMOJI, LATIN, State, add_state, state

_STEPS = 9
"""Number of steps of the first lesson."""


@state()
def welcome(window: MainWindow, folder: Path) -> None:
    settle(window)


@state()
def welcome_recent(window: MainWindow, folder: Path) -> None:
    names = ["digits", LATIN, ARABIC, "用于图像分类的卷积神经网络", "🧠 emoji"]
    for name in names:
        project = window.open_projects.new()
        window.open_projects.save(project, folder / f"{name}.gradwire")
    window.show_welcome()


@state()
def settings_dialog(window: MainWindow, folder: Path) -> None:
    window.open_settings()


@state()
def settings_without_match(window: MainWindow, folder: Path) -> None:
    window.open_settings()
    QTest.keyClicks(_dialog().search, "zzzz" + LATIN)


@state()
def settings_search(window: MainWindow, folder: Path) -> None:
    window.open_settings()
    QTest.keyClicks(_dialog().search, "zoom")


@state()
def settings_shortcuts(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.open_settings()
    _dialog().show_shortcuts()


@state()
def settings_reset(window: MainWindow, folder: Path) -> None:
    window.open_settings()
    _dialog()._reset()


def _dialog() -> SettingsDialog:
    return next(
        each for each in QApplication.topLevelWidgets() if isinstance(each, SettingsDialog) and each.isVisible()
    )


@state()
def command_palette(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.open_palette()


@state()
def command_palette_disabled(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.open_palette()
    QTest.keyClicks(window.command_palette.edit, "stop")


@state()
def first_lesson_offer(window: MainWindow, folder: Path) -> None:
    window.welcome.offer_first_lesson(True)


@state()
def lesson_list(window: MainWindow, folder: Path) -> None:
    window.show_lessons()


def _lesson_step(index: int) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        window.start_first_lesson()
        for _ in range(index):
            window.lessons.guide.go_on()
        settle(window)

    return show


for _index in range(_STEPS):
    add_state(f"first_lesson_{_index + 1}", _lesson_step(_index))


@state()
def lesson_feedback(window: MainWindow, folder: Path) -> None:
    window.start_first_lesson()
    session = window.lessons.session
    assert session is not None
    for _ in session.step.hints:
        session.show_hint()
    settle(window)
    view = window.project_views[session.project].lesson.view
    assert view is not None
    view.check.click()


@state()
def command_palette_without_match(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.open_palette()
    QTest.keyClicks(window.command_palette.edit, "zzzz" + LATIN)


@state()
def about(window: MainWindow, folder: Path) -> None:
    with _shown_boxes():
        dialogs.about(window, "1.2.3")


@state()
def question_with_long_names(window: MainWindow, folder: Path) -> None:
    with _shown_boxes():
        dialogs.save_before_quitting(window, [LATIN, CHINESE, ARABIC, EMOJI], is_running=True, runs=12)


@state()
def error_message(window: MainWindow, folder: Path) -> None:
    with _shown_boxes():
        dialogs.message(window, f"Could not open {LATIN}.gradwire", "It is not JSON.", traceback="Traceback\n" * 30)


def _shown_boxes() -> AbstractContextManager[object]:
    """Message boxes open without waiting for an answer."""
    return patch.object(QMessageBox, "exec", QMessageBox.open)


def _empty(dock: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = window.open_projects.new()
        until(lambda: project.store.is_checked)
        window.docks[dock].reveal()

    return show


for _dock in DOCKS:
    add_state(f"empty_{_dock}", _empty(_dock), _dock)


def _unselected(dock: str) -> State:
    """The panel of a project that was not trained."""

    def show(window: MainWindow, folder: Path) -> None:
        open_template(window)
        window.docks[dock].reveal()
        settle(window)
        QTest.qWait(1500)

    return show


for _dock in DOCKS:
    add_state(f"untrained_{_dock}", _unselected(_dock), _dock)
