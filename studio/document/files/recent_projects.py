"""The list of recently opened files."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from engine.io import atomic_file
from engine.system.files import read_regular
from studio.document.files.state_folder import state_folder

MAX_FILES = 12
"""Default number of files."""
_MAX_BYTES = 2**20
"""Maximum size of the list file."""


class RecentFiles:
    """Paths, the last opened first, kept on disk and shared by all instances.

    A damaged list counts as empty, and write errors are ignored.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = (folder or state_folder()) / "recent.json"
        self.limit = MAX_FILES
        """Number of files that are remembered."""

    def paths(self) -> tuple[Path, ...]:
        """The files that still exist."""
        return tuple(path for path in self._read() if os.path.isfile(path))  # unlike Path.is_file, never raises

    def add(self, path: Path) -> None:
        """Put a file first."""
        path = Path(os.path.abspath(path))
        self._write([path, *(other for other in self._read() if other != path)])

    def remove(self, path: Path) -> None:
        """Remove a file from the list."""
        path = Path(os.path.abspath(path))
        self._write([other for other in self._read() if other != path])

    def clear(self) -> None:
        """Remove all files from the list."""
        self._write([])

    def _read(self) -> list[Path]:
        try:
            content: Any = json.loads(read_regular(self._file, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return []
        match content:
            case {"files": [*files]}:
                return [Path(name) for name in files if isinstance(name, str) and "\0" not in name][: self.limit]
            case _:
                return []

    def _write(self, paths: list[Path]) -> None:
        # ASCII-escaped (the default), so that file names that are not UTF-8 survive.
        text = json.dumps({"files": [str(path) for path in paths[: self.limit]]}, indent=2)
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_file.write(self._file, text.encode())
