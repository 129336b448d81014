"""The shipped blocks and the user's library, read in the background."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.document.blocks.block_library import LibraryBlock, UserLibrary, shipped_blocks
from studio.document.document_errors import FileError
from studio.ui.background_task import BackgroundTask


class BlockLibraries(QObject):
    """All windows and projects share one. `refresh` reads files that have changed."""

    changed = Signal()
    """`blocks` or `problems` changed."""

    def __init__(self, folder: Path | None = None, parent: QObject | None = None) -> None:
        """`folder` is that of the user's library; None uses the default."""
        super().__init__(parent)
        self.user = UserLibrary(folder)
        self.blocks: tuple[LibraryBlock, ...] = ()
        """The user's blocks, then the shipped ones."""
        self.problems: tuple[FileError, ...] = ()
        """Why files of the user's library are not listed."""
        self._task: BackgroundTask | None = None
        self._is_outdated = False

    @property
    def is_reading(self) -> bool:
        return self._task is not None

    def refresh(self) -> None:
        """Read the libraries again, in a thread."""
        if self._task is not None:
            self._is_outdated = True
            return
        self._is_outdated = False
        self._task = BackgroundTask(self._read(), self)
        self._task.item_ready.connect(self._show)
        self._task.ended.connect(self._end)
        self._task.start()

    def close(self) -> None:
        if self._task is not None:
            self._task.close()

    def _read(self) -> Iterator[object]:
        problems: tuple[FileError, ...] = ()
        try:
            shipped = shipped_blocks()
        except FileError as error:
            shipped, problems = (), (error,)
        except FileNotFoundError as error:
            shipped, problems = (), (FileError("assets/blocks", "", str(error), ""),)
        yield (*self.user.blocks(), *shipped), (*self.user.problems(), *problems)

    def _show(self, found: tuple[tuple[LibraryBlock, ...], tuple[FileError, ...]]) -> None:
        if [each.digest for each in found[0]] != [each.digest for each in self.blocks] or (
            [each.origin for each in found[0]] != [each.origin for each in self.blocks]
            or list(map(str, found[1])) != list(map(str, self.problems))
        ):
            self.blocks, self.problems = found
            self.changed.emit()

    def _end(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.deleteLater()
        if self._is_outdated:
            self.refresh()
