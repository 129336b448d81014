"""Start the studio: the QApplication, the main window and the handler of uncaught exceptions."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication

from engine.system.syntax import format_traceback
from studio.nodes.catalogue import catalogue
from studio.ui import dialogs
from studio.ui.canvas.accessibility import accessible_canvas
from studio.ui.garbage_collector import GarbageCollector
from studio.ui.kernel_precompiler import KernelPrecompiler
from studio.ui.preferences.declarations import INTERFACE_SCALE
from studio.ui.project.open_projects import OpenProjects
from studio.ui.restarter import Restarter
from studio.ui.settings import Settings
from studio.ui.theme import fonts, icons, interface_scale, stylesheet, theme
from studio.ui.widgets.focus_ring import FocusRings
from studio.ui.window.main_window import MainWindow

NO_DISPLAY = 2
_log = logging.getLogger(__name__)


def main(paths: Sequence[Path] = ()) -> int:
    """Open the studio with these project files. Returns the exit code of the process."""
    if (problem := display_problem()) is not None:
        sys.stderr.write(f"{problem}\n")
        return NO_DISPLAY
    settings = Settings()
    with interface_scale.environment(settings.preferences.get(INTERFACE_SCALE)):
        application = make_application(sys.argv[:1])
    restarter = Restarter([sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - len(paths)]])
    window = make_window(settings)
    window.restart_requested.connect(partial(restarter.request, window))
    collector = GarbageCollector(window)
    sys.excepthook = ExceptionHandler(window)
    window.show()
    window.files.offer_recovery()
    for path in paths:
        window.open_file(path)
    precompiler = KernelPrecompiler(window)
    try:
        code = application.exec()
    finally:
        precompiler.stop()
        collector.stop()
    restarter.start_if_requested()
    return code


def display_problem() -> str | None:
    """Why no window can be opened (no display on Linux), or None. Without this check Qt aborts the process."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return None
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return None
    return (
        "Gradwire: no display found (DISPLAY and WAYLAND_DISPLAY are not set). Start it from a desktop session, "
        "or train without a window: gradwire run FILE."
    )


def make_application(arguments: Sequence[str]) -> QApplication:
    """Create the QApplication and set fonts, style and theme."""
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    application = QApplication(list(arguments))
    application.setApplicationName("Gradwire")
    application.setOrganizationName("Gradwire")
    application.setStyle("Fusion")
    font = fonts.interface()
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    application.setFont(font)
    application.setWindowIcon(icons.themed("app", "accent"))
    accessible_canvas.install()
    FocusRings(application)
    stylesheet.apply(application, theme.current())
    theme.manager().changed.connect(partial(stylesheet.apply, application))
    return application


def make_window(settings: Settings, state: Path | None = None) -> MainWindow:
    """Create the main window. `state` is the folder for journals and recent files; None uses the default."""
    return MainWindow(OpenProjects(catalogue(), state=state), settings, theme.manager())


class ExceptionHandler:
    """Handle uncaught exceptions: save the journals of all projects, show the traceback, keep running."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._is_showing = False

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = format_traceback(error)
        if issubclass(kind, KeyboardInterrupt):
            self._window.close()
            return
        _log.error("%s", text)
        sys.stderr.write(text)
        for project in self._window.open_projects.projects:
            project.write_journal()
        if not self._is_showing:
            self._is_showing = True
            QTimer.singleShot(0, lambda: self._show_error(text))

    def _show_error(self, text: str) -> None:
        dialogs.message(
            self._window,
            "Internal error",
            (
                "Gradwire hit an unexpected error. Your work was backed up and you can continue. Save it, and "
                "restart Gradwire if something looks wrong."
            ),
            traceback=text,
        )
        self._is_showing = False
