"""The list of files that were opened last."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from engine.io import atomic_file
from engine.system.files import read_regular
from studio.document.state_folder import state_folder

MAX_FILES = 12
_MAX_BYTES = 2**20
"""Bytes of a list."""


class RecentFiles:
    """Paths, the last opened first, kept on disk and shared by all instances.

    The list is a convenience: if it is damaged it is empty, and if it cannot be written nothing is said.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = (folder or state_folder()) / "recent.json"

    def paths(self) -> tuple[Path, ...]:
        """The files that are still there."""
        return tuple(path for path in self._read() if os.path.isfile(path))  # unlike Path.is_file, never raises

    def add(self, path: Path) -> None:
        """Put a file first."""
        path = Path(os.path.abspath(path))
        self._write([path, *(other for other in self._read() if other != path)])

    def remove(self, path: Path) -> None:
        """Take a file off the list."""
        path = Path(os.path.abspath(path))
        self._write([other for other in self._read() if other != path])

    def clear(self) -> None:
        """Forget all files."""
        self._write([])

    def _read(self) -> list[Path]:
        try:
            content: Any = json.loads(read_regular(self._file, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return []
        match content:
            case {"files": [*files]}:
                return [Path(name) for name in files if isinstance(name, str) and "\0" not in name][:MAX_FILES]
            case _:
                return []

    def _write(self, paths: list[Path]) -> None:
        # Escaped, as JSON does by default, so that names that are not text survive too.
        text = json.dumps({"files": [str(path) for path in paths[:MAX_FILES]]}, indent=2)
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_file.write(self._file, text.encode())
