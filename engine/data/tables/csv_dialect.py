"""Format of a CSV file, and the lines of files that pyarrow cannot read directly."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Literal, TypeAlias

from engine.system.files import open_regular

Separator: TypeAlias = Literal["comma", "semicolon", "tab", "space", "pipe"]
Decimal: TypeAlias = Literal["point", "comma"]
Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-16-le", "utf-16-be", "windows-1252"]
BadLines: TypeAlias = Literal["stop", "skip"]

SEPARATORS: dict[Separator, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "pipe": "|"}
DECIMALS: dict[Decimal, str] = {"point": ".", "comma": ","}

_SPACES = re.compile(r"[ \t]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Format of a CSV file."""

    separator: Separator = "comma"
    header: bool = True
    """Whether the first line has the column names."""
    missing: tuple[str, ...] = ()
    """Texts that mark a missing number, in addition to `MISSING`."""
    encoding: Encoding = "utf-8"
    decimal: Decimal = "point"
    comment: str = ""
    """Start of lines to skip."""
    skip_lines: int = 0
    """Number of lines before the column names."""
    skip_rows: int = 0
    """Number of lines to skip after the column names, such as units."""
    bad_lines: BadLines = "stop"
    """What to do with lines that have too many or too few columns."""

    @property
    def delimiter(self) -> str:
        return SEPARATORS[self.separator]

    @property
    def decimal_point(self) -> str:
        return DECIMALS[self.decimal]

    @property
    def is_plain(self) -> bool:
        """Whether pyarrow reads the file directly."""
        rewritten = self.skip_lines or self.skip_rows or self.comment or self.separator == "space"
        return self.encoding == "utf-8" and not rewritten


def numbered_lines(path: Path, dialect: Dialect) -> Generator[tuple[int, str], None, None]:
    """The lines of the table with their line ends and their numbers in the file, counted from 1.

    Skipped lines and, unless the dialect is plain, empty lines are left out. Invalid UTF-8 becomes surrogates.

    Raises:
        OSError: the file cannot be read.
        UnicodeError: the file is not in the encoding.
    """
    with _open_text(path, dialect.encoding) as file:
        lines = enumerate(file, 1)
        yield from lines if dialect.is_plain else _table_lines(lines, dialect)


def _open_text(path: Path, encoding: Encoding) -> TextIOWrapper:
    if encoding == "utf-8":
        return TextIOWrapper(open_regular(path), "utf-8-sig", "surrogateescape", newline="")
    errors = _UNDEFINED if encoding == "windows-1252" else "strict"
    return TextIOWrapper(open_regular(path), encoding, errors, newline="")


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    """Decode the five bytes that Windows-1252 leaves undefined as control characters, as browsers do."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


_UNDEFINED = "gradwire-latin-1"
codecs.register_error(_UNDEFINED, _as_latin_1)


def _table_lines(lines: Iterator[tuple[int, str]], dialect: Dialect) -> Iterator[tuple[int, str]]:
    is_quoted, tabled = False, 0
    for number, line in lines:
        if number <= dialect.skip_lines:
            continue
        was_quoted, is_quoted = is_quoted, is_quoted ^ (line.count('"') % 2 == 1)
        if not was_quoted and (not line.strip() or (dialect.comment and line.startswith(dialect.comment))):
            is_quoted = False
            continue
        starts_row = not was_quoted
        tabled += starts_row
        if dialect.header < tabled <= dialect.header + dialect.skip_rows:
            continue
        yield number, _single_spaces(line, is_quoted=was_quoted) if dialect.separator == "space" else line


def _single_spaces(line: str, *, is_quoted: bool) -> str:
    """Replace each run of spaces outside quotation marks by one space."""
    parts = line.split('"')
    parts[is_quoted::2] = [_SPACES.sub(" ", part) for part in parts[is_quoted::2]]
    text = '"'.join(parts)
    return text if is_quoted else text.strip(" \r\n") + "\n"


class LineStream(io.RawIOBase):
    """The lines of a table as a binary file in UTF-8."""

    def __init__(self, path: Path, dialect: Dialect) -> None:
        super().__init__()
        self._lines = numbered_lines(path, dialect)
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        parts, size = [self._pending], len(self._pending)
        while size < len(buffer):
            found = next(self._lines, None)
            if found is None:
                break
            parts.append(found[1].encode("utf-8", "surrogateescape"))
            size += len(parts[-1])
        content = b"".join(parts)
        count = min(len(content), len(buffer))
        buffer[:count], self._pending = content[:count], content[count:]
        return count

    def close(self) -> None:
        self._lines.close()
        super().close()
