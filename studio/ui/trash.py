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
    place: Path | None
    """Path in the trash; None if the platform does not report it, so that only a file manager can restore the item."""


def move_to_trash(path: Path) -> TrashedItem:
    """Move a path to the trash. Raises FileError if the platform has no trash or refuses."""
    with suppress(OSError):  # Qt creates the trash folder, but not the user data folder around it
        Path(QStandardPaths.writableLocation(_DATA)).mkdir(parents=True, exist_ok=True)
    file = QFile(str(path))
    if not file.moveToTrash():
        raise FileError(str(path), "", "cannot be moved to the trash", "Delete it in a file manager.")
    place = file.fileName()  # empty if the platform does not report it
    return TrashedItem(path, Path(place) if place and Path(place) != path else None)


def restore_from_trash(thrown: TrashedItem) -> None:
    """Restore an item. Raises FileError if it is no longer in the trash, or its original path is taken."""
    if thrown.place is None or not thrown.place.exists():
        raise FileError(str(thrown.path), "", "is no longer in the trash", "Look for it in a file manager.")
    if thrown.path.exists():
        raise FileError(str(thrown.path), "", "already exists", "Move or rename it first.")
    try:
        thrown.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(thrown.place, thrown.path)
    except OSError as error:
        raise FileError.from_os_error(thrown.path, "cannot be restored", error) from None
    with suppress(OSError):  # metadata file of the freedesktop.org trash
        (thrown.place.parent.parent / "info" / f"{thrown.place.name}.trashinfo").unlink()


__all__ = ["TrashedItem", "restore_from_trash", "move_to_trash"]
