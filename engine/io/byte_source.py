"""Bytes of a file or in memory, read in parts: readers check sizes before they read data."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from engine.errors import WeightsError
from engine.system.files import open_regular


class ByteSource(Protocol):
    """A file, or its content."""

    @property
    def name(self) -> str:
        """Path or other name in errors."""
        ...

    @property
    def size(self) -> int: ...

    def open(self) -> BinaryIO:
        """Open for reading. The caller closes it."""
        ...


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file on a disk. It is opened for each read, so that nothing stays open between two reads."""

    path: Path
    size: int
    _modified: int

    @classmethod
    def of(cls, path: str | Path) -> FileSource:
        """Raises OSError if the file is missing or not a regular file."""
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
        return cls(Path(path), status.st_size, status.st_mtime_ns)

    @property
    def name(self) -> str:
        return str(self.path)

    def open(self) -> BinaryIO:
        file = open_regular(self.path)
        status = os.fstat(file.fileno())
        if (status.st_size, status.st_mtime_ns) != (self.size, self._modified):
            file.close()
            raise WeightsError(f"{self.path}: changed after it was opened. Open it again.")
        return file


@dataclass(frozen=True, slots=True)
class MemorySource:
    """The content of a file."""

    content: bytes
    name: str

    @property
    def size(self) -> int:
        return len(self.content)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.content)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a source that lies within it."""

    source: ByteSource
    offset: int
    size: int

    def read(self) -> bytearray:
        """Raises OSError, and WeightsError if the file has changed."""
        content = bytearray(self.size)
        with self.source.open() as file:
            file.seek(self.offset)
            if _read_into(file, memoryview(content)) != self.size:
                raise WeightsError(f"{self.source.name}: changed while it was read. Read it again.")
        return content


def _read_into(file: BinaryIO, target: memoryview) -> int:
    done = 0
    while done < len(target) and (count := file.readinto(target[done:])):  # type: ignore[attr-defined]
        done += count
    return done


__all__ = ["ByteRange", "ByteSource", "FileSource", "MemorySource"]
