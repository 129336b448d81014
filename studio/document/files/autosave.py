"""Recovery of unsaved work after a crash: one journal file per open document.

The file name identifies the process that owns a journal: "<pid>-<start time>-<random>.json". To take over the work of
a terminated process, an instance renames its journal; this succeeds in only one instance.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from engine.io import atomic_file
from engine.system.files import read_regular
from studio.document.document_errors import FileError
from studio.document.files.project_format import dumps, loads
from studio.document.files.state_folder import state_folder
from studio.document.files.strict_json import MAX_FILE_BYTES
from studio.document.model import Document

_RUNS = ".runs"
_DESTINATION = ".owner"
"""Suffix of the file that contains the destination of the runs."""
_START_TOLERANCE = 5.0
"""Seconds. Start times depend on the system clock, which can be changed while a process runs."""


class Autosave:
    """The journal of one open document."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or _default_folder()
        start = psutil.Process().create_time()
        self._file = folder / f"{os.getpid()}-{start:.2f}-{secrets.token_hex(4)}.json"
        self._written: tuple[Document, Path | None] | None = None

    @property
    def runs(self) -> Path:
        """Folder for runs of a document without a file."""
        return _runs_of(self._file)

    def write(self, document: Document, path: Path | None) -> None:
        """Write `document`, the project at `path`, to the journal. Raises FileError."""
        if self._written is not None and document is self._written[0] and path == self._written[1]:
            return
        journal = {
            "path": None if path is None else os.path.abspath(path),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "project": dumps(document),
        }
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_file.write(self._file, json.dumps(journal, indent=2).encode())
        except OSError as error:
            raise FileError.from_os_error(self._file, "unsaved work cannot be kept", error) from error
        self._written = document, path

    def clear(self) -> None:
        """Delete the journal after saving or discarding the work."""
        self._written = None
        with contextlib.suppress(OSError):
            self._file.unlink()

    def delete_runs(self) -> None:
        """Delete the runs."""
        shutil.rmtree(self.runs, ignore_errors=True)

    def set_runs_destination(self, folder: Path) -> None:
        """Store the destination of the runs. If this process ends early, `clean_up_orphaned_runs` moves them there.

        Raises FileError.
        """
        destination_file = _destination_file(self.runs)
        try:
            destination_file.parent.mkdir(parents=True, exist_ok=True)
            atomic_file.write(destination_file, os.path.abspath(folder).encode())
        except OSError as error:
            raise FileError.from_os_error(destination_file, "the runs cannot be moved to the project", error) from error

    def move_runs_to_destination(self) -> None:
        """Move the remaining runs to their destination."""
        _move_to_destination(self.runs)

    def adopt(self, recovery: Recovery) -> bool:
        """Take over recovered work. False if another instance did so first or the journal is gone."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            os.rename(recovery.journal, self._file)
        except OSError:
            return False
        with contextlib.suppress(OSError):  # there may be none
            os.rename(_runs_of(recovery.journal), self.runs)
        self._written = recovery.document, recovery.path
        return True


@dataclass(frozen=True, slots=True)
class Recovery:
    """Unsaved work of a terminated instance."""

    journal: Path
    document: Document
    path: Path | None
    """The project it belongs to; None if it never had a file."""
    time: datetime
    """Time of the last write."""


def recoverable(folder: Path | None = None) -> list[Recovery]:
    """Unsaved work of terminated processes, latest first. Never raises: unreadable journals are skipped."""
    try:
        journals = sorted((folder or _default_folder()).glob("*.json"))
    except OSError:
        return []
    found = (_read(journal) for journal in journals if not _is_alive(journal.name))
    return sorted((recovery for recovery in found if recovery), key=lambda recovery: recovery.time, reverse=True)


def discard(recovery: Recovery) -> None:
    """Delete recovered work and its runs."""
    with contextlib.suppress(OSError):
        recovery.journal.unlink()
    shutil.rmtree(_runs_of(recovery.journal), ignore_errors=True)


def clean_up_orphaned_runs(folder: Path | None = None) -> None:
    """Move runs of terminated processes to their projects; delete those without a project."""
    folder = folder or _default_folder()
    for destination_file in folder.glob(f"*{_DESTINATION}"):
        if not _is_alive(destination_file.name):
            _move_to_destination(_runs_of(destination_file))
    for runs in folder.glob(f"*{_RUNS}"):
        if not (runs.with_suffix(".json").exists() or _destination_file(runs).exists() or _is_alive(runs.name)):
            shutil.rmtree(runs, ignore_errors=True)


def move_runs(before: Path, target: Path) -> dict[Path, Path]:
    """Move run folders. Returns the new path of each. After a FileError, some may have been moved."""
    moved: dict[Path, Path] = {}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for folder in sorted(before.iterdir()) if before.is_dir() else ():
            target_folder, number = target / folder.name, 2
            while target_folder.exists():
                target_folder, number = target / f"{folder.name}-{number}", number + 1
            shutil.move(folder, target_folder)
            moved[folder] = target_folder
        with contextlib.suppress(OSError):
            before.rmdir()
    except OSError as error:
        raise FileError.from_os_error(target, "the runs cannot be moved there", error) from None
    return moved


def _move_to_destination(runs: Path) -> None:
    """Move runs to their destination. If that is missing or cannot be written, the next start tries again."""
    destination_file = _destination_file(runs)
    try:
        target = Path(destination_file.read_bytes().decode())
    except (OSError, ValueError):
        return
    if runs.exists():
        if not target.parent.is_dir():
            return
        with contextlib.suppress(FileError):
            move_runs(runs, target)
        if runs.exists():
            return
    with contextlib.suppress(OSError):
        destination_file.unlink()


def _runs_of(journal: Path) -> Path:
    return journal.with_suffix(_RUNS)


def _destination_file(runs: Path) -> Path:
    return runs.with_suffix(_DESTINATION)


def _default_folder() -> Path:
    return state_folder() / "autosave"


def _is_alive(name: str) -> bool:
    """Whether the process that owns the journal `name` is running. Compares start times: process ids are reused."""
    pid, _, rest = name.partition("-")
    start = rest.partition("-")[0]
    try:
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(start)) < _START_TOLERANCE
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except (psutil.Error, ValueError, OverflowError):
        return False


def _read(journal: Path) -> Recovery | None:
    try:
        content: Any = json.loads(read_regular(journal, 8 * MAX_FILE_BYTES))  # its text is escaped
        match content:
            case {"path": str() | None as path, "time": str(time), "project": str(project)}:
                document = loads(project, str(journal))
                when = datetime.fromisoformat(time).astimezone(UTC)
                return Recovery(journal, document, None if path is None else Path(path), when)
            case _:
                return None
    except (OSError, ValueError, OverflowError, RecursionError, FileError):
        return None
