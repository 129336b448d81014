"""Files and folders into the system's trash, and back where the system says what has become of them."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QFile, QStandardPaths

from studio.document.errors import FileError

_DATA = QStandardPaths.StandardLocation.GenericDataLocation


@dataclass(frozen=True, slots=True)
class TrashedItem:
    """Something that lies in the trash."""

    path: Path
    """Where it was."""
    place: Path | None
    """Where it is; None if the system does not tell, so that only its own file manager can put it back."""


def throw_away(path: Path) -> TrashedItem:
    """Raises FileError if there is no trash, or it does not take that."""
    with suppress(OSError):  # Qt makes a trash in the user's data folder, but not that folder
        Path(QStandardPaths.writableLocation(_DATA)).mkdir(parents=True, exist_ok=True)
    file = QFile(str(path))
    if not file.moveToTrash():
        raise FileError(str(path), "", "cannot be moved to the trash", "Delete it in a file manager.")
    place = file.fileName()  # empty if the system does not tell
    return TrashedItem(path, Path(place) if place and Path(place) != path else None)


def put_back(thrown: TrashedItem) -> None:
    """Raises FileError if it is no longer in the trash, or something else has taken its place."""
    if thrown.place is None or not thrown.place.exists():
        raise FileError(str(thrown.path), "", "is no longer in the trash", "Look for it in a file manager.")
    if thrown.path.exists():
        raise FileError(str(thrown.path), "", "is there again already", "Move that away first.")
    try:
        thrown.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(thrown.place, thrown.path)
    except OSError as error:
        raise FileError.from_os_error(thrown.path, "cannot be put back", error) from None
    with suppress(OSError):  # the note that the trash of free desktops keeps of it
        (thrown.place.parent.parent / "info" / f"{thrown.place.name}.trashinfo").unlink()


__all__ = ["TrashedItem", "put_back", "throw_away"]
