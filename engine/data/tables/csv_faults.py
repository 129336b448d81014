"""Find the invalid cell in a CSV file, in a slow second pass after the fast reader has failed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from engine.system.files import open_regular


def find_csv_fault(
    path: Path,
    separator: str,
    numbers: Sequence[str],
    texts: Sequence[str],
    missing: Sequence[str],
    names: Sequence[str],
    *,
    header: bool,
) -> str | None:
    """Describe the first fault with its line and column, counted from 1; None if there is none.

    Args:
        path: a CSV file
        separator: the separator character
        numbers: numeric columns
        texts: text columns that must not be empty
        missing: texts that mark a missing number
        names: all column names
        header: whether the first line has the column names
    """
    last_line = 0
    try:
        with TextIOWrapper(open_regular(path), "utf-8-sig", "surrogateescape", newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            if header:
                next(reader, None)
                last_line = reader.line_num
            for row in reader:
                line, last_line = last_line + 1, reader.line_num
                if row and (fault := _row_fault(row, names, set(numbers), set(texts), set(missing))):
                    return f"{path}: line {line}{fault}"
    except csv.Error as error:
        return f"{path}: line {last_line + 1} is not valid CSV ({error}). Look for an unclosed quotation mark."
    return None


def _row_fault(
    row: list[str], names: Sequence[str], numbers: set[str], texts: set[str], missing: set[str]
) -> str | None:
    if len(row) != len(names):
        return (
            f": has {len(row)} columns, but the first line has {len(names)}. "
            "Complete the row, or quote texts that contain the separator."
        )
    for number, (name, text) in enumerate(zip(names, row, strict=True), start=1):
        where = f", column {number} ({name!r})"
        if not text.isascii() and (byte := _undecodable_byte(text)):
            return f"{where}: contains byte {byte}, which is not valid UTF-8. Save the table as CSV in UTF-8."
        if text.strip() in missing:
            continue
        if not text.strip() and name in numbers | texts:
            return f"{where}: is empty. Fill it in, delete the row, or ignore the column."
        if name in numbers and any(char.isdigit() and not char.isascii() for char in text):
            return f"{where}: {text[:40]!r} uses digits other than 0 to 9. Correct it, or ignore the column."
        if name in numbers and not _is_number(text):
            return f"{where}: {text[:40]!r} is not a finite number. Correct it, delete the row, or ignore the column."
    return None


def _undecodable_byte(text: str) -> str | None:
    """The first undecodable byte, which was decoded to a surrogate, in hexadecimal."""
    return next((f"{ord(char) - 0xDC00:02x}" for char in text if 0xDC80 <= ord(char) <= 0xDCFF), None)


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and abs(float(text)) <= 3.4028235e38
    except ValueError:
        return False
