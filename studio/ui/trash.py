"""Move files and folders to the system trash and restore them."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QFile, QStandardPaths

from studio.document.document_errors import FileError

_DATA = QStandardPaths.StandardLocation.GenericDataLocation


@dataclass(frozen=True, slots=True)
class TrashedItem:
    """A file or folder in the trash."""

    path: Path
    """Original path."""
    trash_path: Path | None
    """Path in the trash; None if the platform does not report it, so that only a file manager can restore the item."""


def move_to_trash(path: Path) -> TrashedItem:
    """Move a path to the trash. Raises FileError if the platform has no trash or refuses."""
    with suppress(OSError):  # Qt creates the trash folder, but not the user data folder around it
        Path(QStandardPaths.writableLocation(_DATA)).mkdir(parents=True, exist_ok=True)
    file = QFile(str(path))
    if not file.moveToTrash():
        raise FileError(str(path), "", "cannot be moved to the trash", "Delete it in a file manager.")
    trash_path = file.fileName()  # empty if the platform does not report it
    return TrashedItem(path, Path(trash_path) if trash_path and Path(trash_path) != path else None)


def restore_from_trash(item: TrashedItem) -> None:
    """Restore an item. Raises FileError if it is no longer in the trash, or its original path is taken."""
    if item.trash_path is None or not item.trash_path.exists():
        raise FileError(str(item.path), "", "is no longer in the trash", "Look for it in a file manager.")
    if item.path.exists():
        raise FileError(str(item.path), "", "already exists", "Move or rename it first.")
    try:
        item.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(item.trash_path, item.path)
    except OSError as error:
        raise FileError.from_os_error(item.path, "cannot be restored", error) from None
    with suppress(OSError):  # metadata file of the freedesktop.org trash
        (item.trash_path.parent.parent / "info" / f"{item.trash_path.name}.trashinfo").unlink()


__all__ = ["TrashedItem", "restore_from_trash", "move_to_trash"]
