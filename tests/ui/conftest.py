"""A studio for tests: empty settings and state folder, no animations, windows closed at the end."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.document.files.project_templates import template
from studio.ui import app, dialogs
from studio.ui.garbage_collector import collect_if_needed
from studio.ui.preferences.declarations import REDUCE_MOTION, THEME
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.theme import motion
from studio.ui.window.main_window import MainWindow

MakeWindow = Callable[[], MainWindow]


class PatientBot(QtBot):
    """Waits longer than the default of pytest-qt, because test machines can be busy."""

    def waitUntil(self, callback: Callable[[], object], *, timeout: int = 100_000) -> None:
        super().waitUntil(callback, timeout=timeout)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture(autouse=True)
def collect_in_main_thread() -> Iterator[None]:
    """Collect garbage only in the main thread, as the studio does; a worker thread could destroy widgets or hang."""
    gc.disable()
    yield
    collect_if_needed()


@pytest.fixture(autouse=True)
def released_buttons(qapp: QApplication) -> Iterator[None]:
    """Qt remembers a button that a test left pressed, and panels defer their changes until its release."""
    yield
    surface = QWidget()
    for button in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton, Qt.MouseButton.RightButton):
        QTest.mouseRelease(surface, button)
    assert qapp.mouseButtons() == Qt.MouseButton.NoButton


@pytest.fixture(scope="session")
def qapp_cls() -> Callable[[list[str]], QApplication]:
    """The studio's own application: its fonts and its style."""
    return app.make_application


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(tmp_path / "settings.ini")
    settings.preferences.set(THEME, "light")
    settings.preferences.set(REDUCE_MOTION, True)
    settings.answered_offer = True
    return settings


@pytest.fixture
def make_window(qtbot: QtBot, qapp: QApplication, settings: Settings, tmp_path: Path) -> Iterator[MakeWindow]:
    """Creates windows that share settings and state, like successive starts of the studio."""
    made: list[MainWindow] = []

    def make() -> MainWindow:
        window = app.make_window(settings, tmp_path / "state")
        window.resize(1400, 900)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        made.append(window)
        return window

    yield make
    for window in made:
        for project in tuple(window.open_projects.projects):
            window.open_projects.close(project)
        window.close()
        window.deleteLater()
    motion.set_reduced(False)
    qapp.processEvents()


@pytest.fixture
def window(make_window: MakeWindow) -> MainWindow:
    return make_window()


@pytest.fixture
def project(qtbot: QtBot, window: MainWindow) -> Project:
    """The digits template, open and checked."""
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    return project


@pytest.fixture(autouse=True)
def no_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make unexpected dialogs fail, because they would block the test."""

    def unexpected(*arguments: object, **names: object) -> None:
        pytest.fail(f"a dialog was opened: {arguments[1:]} {names}")

    for name in (
        "message",
        "save_before_closing",
        "save_before_quitting",
        "confirm_overwrite",
        "confirm_stop",
        "paths_to_open",
        "path_to_save",
    ):
        monkeypatch.setattr(dialogs, name, unexpected)
