"""Guess the format of a CSV file from its first lines."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.data.file_access import ReadErrorContext
from engine.data.tables.csv_columns import MISSING
from engine.data.tables.csv_dialect import SEPARATORS, Decimal, Dialect, Encoding, Separator
from engine.errors import DataError
from engine.system.files import open_regular

SAMPLE_BYTES = 2**18
_MAX_LINES = 1000
_MAX_PREAMBLE = 50

_COMMENTS = ("#", "%", "//", ";")
_PREFERENCE: tuple[Separator, ...] = ("tab", "semicolon", "pipe", "comma", "space")
"""Separators in the order of preference where several split the lines equally well."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+\s*\D{0,4}")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+\s*")
_GROUPED = re.compile(r"\s*[-+]?\d{1,3}(,\d{3})+(\.\d+)?\s*")
_ALIGNED = re.compile(r"\S {2,}\S")
"""Columns that are aligned by spaces."""
_UNIT = re.compile(r"\s*[\[(]?\s*[-A-Za-zµμ°Ω%‰²³/^.·*\d ]{0,12}\s*[\])]?\s*")
_VALUE = re.compile(
    r"[\s$€£]*[-+]?[\d.,]*\d[\d.,]*(\s*%|e[-+]?\d+)?|\d{1,4}[-/.:]\d{1,2}([-/.:]\d{1,4})?([ T].*)?", re.IGNORECASE
)
"""A number, amount or date: a text that is not the name of a column."""


@dataclass(frozen=True, slots=True)
class DialectGuess:
    """The guessed format of a CSV file."""

    dialect: Dialect
    columns: int = 1
    regular: float = 1.0
    """Fraction of the lines that have this number of columns."""
    notes: tuple[str, ...] = ()
    """What was found besides commas, a header and UTF-8, as sentences."""


def guess_dialect(path: Path) -> DialectGuess:
    """Guess the format from the first 256 KiB.

    Raises:
        DataError: the file is empty, cannot be read or is not text.
    """
    with ReadErrorContext(path), open_regular(path) as file:
        content = file.read(SAMPLE_BYTES)
    if not content.strip():
        raise DataError(f"{path}: the file is empty. The first line must have the column names.")
    encoding = _guess_encoding(path, content)
    text = _decode(content, encoding)
    lines = text.splitlines()
    if len(content) == SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # incomplete
    return _guess_from_lines(lines[:_MAX_LINES], encoding, is_complete=len(content) < SAMPLE_BYTES)


def _guess_encoding(path: Path, content: bytes) -> Encoding:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in content:
        first, second = content[::2].count(0), content[1::2].count(0)  # ASCII characters have one zero byte
        if max(first, second) > len(content) // 4 and not min(first, second):
            return "utf-16-le" if second else "utf-16-be"
        raise DataError(f"{path}: is not text: it has zero bytes. Save the table as CSV in UTF-8.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content)
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _decode(content: bytes, encoding: Encoding) -> str:
    if encoding == "windows-1252":
        return content.decode("windows-1252", "replace")
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)("replace")
    return decoder.decode(content)


def _guess_from_lines(lines: list[str], encoding: Encoding, *, is_complete: bool) -> DialectGuess:
    comment = _guess_comment(lines)
    kept = [(number, line) for number, line in enumerate(lines) if line.strip() and not _starts(line, comment)]
    if not kept:
        kept, comment = [(number, line) for number, line in enumerate(lines) if line.strip()], ""
    separator, width = _guess_separator([line for _, line in kept])
    start = _table_start(kept, separator, width)
    rows = [row for _, row in _rows([line for _, line in kept[start:]], separator)]
    notes = [f"Lines that start with {comment} are skipped."] if comment else []
    counted = _is_count_line(rows, is_complete=is_complete)
    if counted:
        start, rows = start + 1, rows[1:]
    skipped = kept[start][0] if start < len(kept) and (start or (not comment and kept[0][0])) else 0
    if skipped:
        noun = "The first line is" if skipped == 1 else f"The first {skipped} lines are"
        notes.append(f"{noun} skipped: the table starts in line {skipped + 1}.")
    header = not counted and has_header(rows)
    count = max(len(rows), 1)
    rows = [row for row in rows if len(row) == width]
    has_units = header and _has_units(rows)
    if has_units:
        notes.append("The line after the column names has units and is skipped.")
    if not header:
        notes.append("The table has no column names: columns are numbered.")
    if encoding != "utf-8":
        notes.append(f"The text encoding is {'UTF-16' if encoding.startswith('utf-16') else 'Windows-1252'}.")
    decimal = _guess_decimal(rows[header + has_units :], separator)
    if decimal == "comma":
        notes.append("Numbers have a decimal comma.")
    dialect = Dialect(separator, header, (), encoding, decimal, comment, skipped, int(has_units))
    return DialectGuess(dialect, width, len(rows) / count, tuple(notes))


# -- lines -------------------------------------------------------------------------------------


def _starts(line: str, comment: str) -> bool:
    return bool(comment) and line.startswith(comment)


def _guess_comment(lines: Sequence[str]) -> str:
    """The start of comment lines; empty if there are none, or if the only one is the line of column names."""
    for comment in _COMMENTS:
        marked = [number for number, line in enumerate(lines) if line.startswith(comment)]
        others = [line for line in lines if line.strip() and not line.startswith(comment)]
        if not marked or 2 * len(marked) > len(lines) + _MAX_PREAMBLE or not others:
            continue
        if len(marked) == 1 and _has_as_many_fields(lines[marked[0]], others):
            continue
        return comment
    return ""


def _has_as_many_fields(line: str, others: Sequence[str]) -> bool:
    separator, width = _guess_separator(others)
    return width > 1 and len(next(_rows([line], separator), (1, []))[1]) == width


def _rows(lines: Sequence[str], separator: Separator) -> Iterator[tuple[int, list[str]]]:
    """The index of the last line of each row, and its fields."""
    texts = (" ".join(line.split()) if separator == "space" else line for line in lines)
    reader = csv.reader((f"{text}\n" for text in texts), delimiter=SEPARATORS[separator])
    try:
        for row in reader:
            yield reader.line_num - 1, row
    except csv.Error:
        return


def _guess_separator(lines: Sequence[str]) -> tuple[Separator, int]:
    """The separator that splits most lines into the same number of fields, and that number."""
    best: tuple[float, Separator, int] = (0.0, "comma", 1)
    for separator in _PREFERENCE:
        widths = Counter(len(row) for _, row in _rows(lines, separator) if row)
        several = {width: count for width, count in widths.items() if width > 1}
        if not several:
            continue
        width = max(several, key=lambda each: (several[each], each))
        share = several[width] / widths.total()
        if share > best[0] + (0.2 if separator == "space" else 1e-9):
            best = share, separator, width
    share, separator, width = best
    if separator == "tab" and 2 * sum(bool(_ALIGNED.search(line)) for line in lines) > len(lines):
        separator, width = _guess_separator([line.replace("\t", " ") for line in lines])
    return (separator, width) if share >= (0.8 if separator == "space" else 0.4) else ("comma", 1)


def _table_start(kept: Sequence[tuple[int, str]], separator: Separator, width: int) -> int:
    """Index of the first line of the table: the first of this width that lines of this width follow."""
    lines = [line for _, line in kept]
    if width == 1:
        return 0
    rows = [(number, len(row)) for number, row in _rows(lines, separator)]
    for index, (_, found) in enumerate(rows[:_MAX_PREAMBLE]):
        following = [next_width == width for _, next_width in rows[index + 1 : index + 6]]
        if found == width and 2 * sum(following) >= len(following):
            return rows[index - 1][0] + 1 if index else 0
    return 0


def _is_count_line(rows: Sequence[list[str]], *, is_complete: bool) -> bool:
    """Whether the first line has the number of rows, as in some copies of the iris data."""
    if len(rows) < 3 or not rows[0] or not rows[0][0].isdecimal() or len(rows[0][0]) > 9:
        return False
    count = int(rows[0][0])
    return count == len(rows) - 1 if is_complete else count > 10 * len(rows)


# -- header, units, decimals -------------------------------------------------------------------


def has_header(rows: Sequence[list[str]]) -> bool:
    """Whether the first row has the names of the columns."""
    if not rows:
        return True
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not rest:
        return not any(_VALUE.fullmatch(text) for text in first if text.strip())
    votes = sum(_header_vote(name, [row[index] for row in rest]) for index, name in enumerate(first))
    if votes:
        return votes > 0
    return not any(_VALUE.fullmatch(text) for text in first if text.strip())


def _header_vote(name: str, values: Sequence[str]) -> int:
    """1 if the first text of a column is a name, -1 if it is a value like the others, 0 if unknown."""
    present = [value for value in values if value.strip() and value.strip() not in MISSING]
    if not present or not name.strip():
        return 0
    valued = sum(bool(_VALUE.fullmatch(value)) for value in present)
    if _VALUE.fullmatch(name):
        return -1 if 2 * valued > len(present) else 0
    if 2 * valued > len(present):
        return 0 if name.strip() in MISSING else 1
    repeated = len(set(present)) <= len(present) / 2
    return -1 if repeated and name in present else int(repeated)


def _has_units(rows: Sequence[list[str]]) -> bool:
    """Whether the second row has units: short texts above most columns of numbers."""
    if len(rows) < 4:
        return False
    second, rest = rows[1], rows[2:]
    numeric = [
        index
        for index in range(len(second))
        if 10 * sum(bool(_VALUE.fullmatch(row[index])) for row in rest) > 8 * len(rest)
    ]
    texts = [second[index] for index in numeric if not _VALUE.fullmatch(second[index])]
    if not numeric or 2 * len(texts) <= len(numeric) or any(text.strip() in MISSING[1:] for text in texts):
        return False
    return any(text.strip() for text in texts) and all(_UNIT.fullmatch(text) for text in texts)


def _guess_decimal(rows: Sequence[list[str]], separator: Separator) -> Decimal:
    commas = points = 0
    for row in rows:
        for text in row:
            commas += bool(_DECIMAL_COMMA.fullmatch(text) and not _GROUPED.fullmatch(text))
            points += bool(_DECIMAL_POINT.fullmatch(text))
    return "comma" if commas > points and (separator != "comma" or not points) else "point"
