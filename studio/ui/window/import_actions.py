"""Import data files, folders and Python modules into the open project, or into a new one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studio.ui import dialogs
from studio.ui.window.command_window import CommandWindow


class ImportActions:
    def __init__(self, window: CommandWindow) -> None:
        self._window = window

    def ask_for_data(self) -> None:
        """Ask for data files, and import them."""
        self.start(dialogs.data_files_to_import(self._window, self._folder))

    def ask_for_folder(self) -> None:
        """Ask for a folder of images or other data files, and import it as one data source."""
        folder = dialogs.folder_to_import(self._window, self._folder)
        self.start([] if folder is None else [folder])

    def ask_for_module(self) -> None:
        """Ask for Python files, and add their module classes as blocks."""
        self.start(dialogs.modules_to_import(self._window, self._folder))

    @property
    def _folder(self) -> Path | None:
        return self._window.project.store.base if self._window.project else None

    def start(self, chosen: Sequence[Path]) -> None:
        """Import files or folders."""
        if not chosen:
            return
        if self._window.canvas is None:
            self._window.new_project()
        assert self._window.canvas is not None
        self._window.canvas.import_files(chosen)
