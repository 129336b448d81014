"""Project files on disk: loading, saving, and detecting external changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from engine.io import atomic_file
from engine.system.files import open_regular
from studio.document.document_errors import FileError, printable
from studio.document.files.project_format import dumps, loads
from studio.document.files.strict_json import MAX_FILE_BYTES
from studio.document.model import Document


class FileStamp(NamedTuple):
    """Size, time and digest of a file when it was read or written."""

    size: int
    modified: int
    """In nanoseconds."""
    digest: bytes

    @classmethod
    def of(cls, status: os.stat_result, data: bytes) -> FileStamp:
        return cls(len(data), status.st_mtime_ns, hashlib.blake2b(data, digest_size=16).digest())

    def matches(self, path: Path) -> bool:
        """Whether the file still has this content. False if it is gone or cannot be read."""
        try:
            status = path.stat()
            if (status.st_size, status.st_mtime_ns) == (self.size, self.modified):
                return True
            # Copying and version control touch files without changing them.
            return status.st_size == self.size and FileStamp.of(*_read(path)).digest == self.digest
        except OSError:
            return False


def load(path: Path) -> Document:
    """The document in a project file. Raises FileError."""
    return load_stamped(path)[0]


def load_stamped(path: Path) -> tuple[Document, FileStamp]:
    """The document in a project file, and the stamp to compare the file with before saving. Raises FileError."""
    try:
        found, data = _read(path)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be opened", error) from error
    return loads(data, printable(path)), FileStamp.of(found, data)


def save(document: Document, path: Path) -> FileStamp:
    """Write a project file atomically. Raises FileError; then the old file is unchanged."""
    data = dumps(document).encode()
    if len(data) > MAX_FILE_BYTES:
        problem = f"cannot be saved: the project has {len(data):,} bytes, but at most {MAX_FILE_BYTES:,} can be opened"
        raise FileError(printable(path), "", problem, "Store data in separate files, not in parameters and notes.")
    try:
        return FileStamp.of(atomic_file.write(path, data), data)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be saved", error) from error


def _read(path: Path) -> tuple[os.stat_result, bytes]:
    """File status from before reading, to detect concurrent changes, and the content up to LARGEST + 1 bytes."""
    with open_regular(path) as file:
        return os.fstat(file.fileno()), file.read(MAX_FILE_BYTES + 1)
