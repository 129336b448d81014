"""Find the invalid cell in a CSV file, in a slow second pass after the fast reader has failed."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from engine.data.tables.csv_dialect import Dialect, numbered_lines

CellRule = Callable[[str], str]
"""Returns what is wrong with a text; empty if nothing is."""

_NO_RULES: Mapping[str, CellRule] = MappingProxyType({})


def find_csv_fault(
    path: Path,
    dialect: Dialect,
    numbers: Sequence[str],
    texts: Sequence[str],
    missing: Sequence[str],
    names: Sequence[str],
    rules: Mapping[str, CellRule] = _NO_RULES,
) -> str | None:
    """Describe the first fault with its line and column, counted from 1; None if there is none.

    Args:
        path: a CSV file
        dialect: format of the file
        numbers: numeric columns
        texts: text columns that must not be empty
        missing: texts that mark a missing number
        names: all column names
        rules: further conditions of columns
    """
    lines = _RowLines(numbered_lines(path, dialect))
    faults = _CellFaults(names, frozenset(numbers), frozenset(texts), frozenset(missing), rules, dialect.decimal_point)
    try:
        reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True)
        if dialect.header:
            next(reader, None)
            lines.start_row()
        for row in reader:
            line = lines.start_row()
            if row and len(row) != len(names):
                if dialect.bad_lines == "skip":
                    continue
                return (
                    f"{path}: line {line} has {len(row)} columns, but the first line has {len(names)}. "
                    "Complete the row, or quote texts that contain the separator."
                )
            if row and (fault := faults.first(row)):
                return f"{path}: line {line}, {fault}"
    except csv.Error as error:
        return f"{path}: line {lines.start_row()} is not valid CSV ({error}). Look for an unclosed quotation mark."
    return None


class _RowLines(Iterator[str]):
    """Lines for csv.reader. Remembers the number of the first line of a row."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self._first: int | None = None
        self._last = 0

    def __next__(self) -> str:
        self._last, line = next(self._lines)
        if self._first is None:
            self._first = self._last
        return line

    def start_row(self) -> int:
        """The number of the first line since the last call."""
        first, self._first = self._first, None
        return self._last + 1 if first is None else first


class _CellFaults:
    """Finds the first fault of a row."""

    def __init__(
        self,
        names: Sequence[str],
        numbers: frozenset[str],
        texts: frozenset[str],
        missing: frozenset[str],
        rules: Mapping[str, CellRule],
        decimal_point: str,
    ) -> None:
        self._names = names
        self._numbers = numbers
        self._required = numbers | texts
        self._missing = missing
        self._rules = rules
        self._decimal_point = decimal_point

    def first(self, row: list[str]) -> str | None:
        """The column and the fault, for a message; None if there is no fault."""
        for number, (name, text) in enumerate(zip(self._names, row, strict=True), start=1):
            if not text.isascii() and (byte := _undecodable_byte(text)):
                fault = f": contains byte {byte}, which is not valid UTF-8. Save the table as CSV in UTF-8"
                return f"column {number} ({name!r}){fault}, or set encoding."
            if text.strip() not in self._missing and (fault := self._fault(name, text)):
                return f"column {number} ({name!r}){fault}"
        return None

    def _fault(self, name: str, text: str) -> str:
        if not text.strip():
            return " is empty. Fill it in, delete the row, or ignore the column." if name in self._required else ""
        if name in self._rules:
            reason = self._rules[name](text)
            return f": {text[:40]!r} {reason}. Correct it, or ignore the column." if reason else ""
        if name not in self._numbers:
            return ""
        if any(char.isdigit() and not char.isascii() for char in text):
            return f": {text[:40]!r} uses digits other than 0 to 9. Correct it, or ignore the column."
        if not _is_number(text.replace(self._decimal_point, ".")):
            return f": {text[:40]!r} is not a finite number. Correct it, delete the row, or ignore the column."
        return ""


def _undecodable_byte(text: str) -> str | None:
    """The first undecodable byte, which was decoded to a surrogate, in hexadecimal."""
    return next((f"{ord(char) - 0xDC00:02x}" for char in text if 0xDC80 <= ord(char) <= 0xDCFF), None)


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and abs(float(text)) <= 3.4028235e38
    except ValueError:
        return False
