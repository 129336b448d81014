"""Columns of CSV files, read with pyarrow."""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.tables.arrow import arrow_csv, pa
from engine.data.tables.csv_dialect import SEPARATORS, Dialect, LineStream, Separator, numbered_lines
from engine.data.tables.csv_faults import find_csv_fault
from engine.errors import DataError
from engine.system.files import check_regular, open_regular

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
"""Texts that mark a missing number."""

_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".pq")
"""File name suffixes of tables."""

MISSING_TEXTS = ", ".join(MISSING[1:])
"""Default of `missing_texts`."""


_REPEATED = re.compile(r" \(\d+\)$")
"""What `unique_names` adds to a repeated name."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def column_names(path: Path, dialect: Dialect) -> list[str]:
    """The column names in the first line. Unnamed columns are named by number, repeated names by occurrence.

    The second column is named ``column 2`` if it has no name, and ``a (2)`` if it is the second named ``a``.
    Raises DataError for an empty file.
    """
    first = first_row(path, dialect)
    return unique_names(
        name if dialect.header and name.strip() else f"column {number}" for number, name in enumerate(first, 1)
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """Add a number in parentheses to each repeated name."""
    found: dict[str, None] = {}
    for name in names:
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name} ({number})"
        found[free] = None
    return list(found)


def first_row(path: Path, dialect: Dialect) -> list[str]:
    """The fields of the first line. Raises DataError for an empty or undecodable line."""
    try:
        # Invalid UTF-8 in later lines becomes surrogates and is reported when they are read.
        with closing(numbered_lines(path, dialect)) as lines:
            texts = next(csv.reader((line for _, line in lines), delimiter=dialect.delimiter, strict=True), [])
        start = "".join(texts).encode(errors="surrogateescape")
        if start.startswith(_UTF_16) or b"\0" in start:
            found = "is UTF-16" if start.startswith(_UTF_16) else "has zero bytes in its first line, as in UTF-16"
            raise DataError(
                f"{path}: {found}, not UTF-8. Save the table as CSV in UTF-8, or set encoding of the CSV table."
            )
        start.decode()
    except FileNotFoundError:
        raise DataError(f"{path}: file not found. Check the path.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None
    except (UnicodeError, csv.Error):
        named = "UTF-8" if dialect.encoding == "utf-8" else dialect.encoding.upper()
        raise DataError(f"{path}: the first line is not valid {named} CSV. Save the table as CSV in UTF-8.") from None
    if not texts:
        raise DataError(f"{path}: the file is empty. The first line must have the column names.")
    return texts


def column_list(path: Path | str, names: Sequence[str]) -> str:
    """The column names for an error message; only their number if the suffix is not that of a table."""
    if Path(path).suffix.lower() in _SUFFIXES:
        return ("column " if len(names) == 1 else "columns ") + ", ".join(map(repr, names[:20]))
    return "1 other column" if len(names) == 1 else f"{len(names)} other columns"


def looks_like_values(names: Sequence[str]) -> bool:
    """Whether a header line looks like data: at least half are numbers that do not count up by 1."""
    texts = [_REPEATED.sub("", name) for name in names]
    numbers = [float(text) for text in texts if _is_number(text)]
    counts_up = len(numbers) > 1 and all(after - before == 1 for before, after in pairwise(numbers))
    return bool(numbers) and 2 * len(numbers) >= len(names) and not counts_up


def header_hint(names: Sequence[str]) -> str:
    """Addition to an error about column names that look like values."""
    return " Turn header off if the first line is a row." if looks_like_values(names) else ""


def column_number_hint(name: str, names: Sequence[str]) -> str:
    """Addition to an error about a column that is given by number."""
    number = name.removeprefix("column ")
    if not (number.isascii() and number.isdecimal() and len(number) < 9 and 1 <= int(number) <= len(names)):
        return ""
    unnamed = f"column {int(number)}"
    if unnamed in names:
        return f" Unnamed columns are named by number: write {unnamed!r}."
    return f" Without a header, the column is named {unnamed!r}." if looks_like_values(names) else ""


def csv_blocks(
    path: Path,
    dialect: Dialect,
    texts: Sequence[str],
    numbers: Sequence[str],
    allow_missing: bool,
    limit: int | None = None,
    on_bad_line: Callable[[], None] = lambda: None,
) -> Iterator[pa.RecordBatch]:
    """Blocks of several thousand rows with string and float64 columns.

    Raises DataError with the line and column of a value that is not a finite number or, without `allow_missing`, is
    empty.

    Args:
        allow_missing: convert missing numbers to null
        limit: stop after at least this many rows; all rows if None
        on_bad_line: called for each skipped line
    """

    def skip(row: Any) -> str:
        on_bad_line()
        return "skip"

    names = column_names(path, dialect)
    missing = (*MISSING, *dialect.missing) if allow_missing else ()
    convert = convert_options(dialect, texts, numbers, allow_missing=allow_missing)
    parse = arrow_csv.ParseOptions(
        delimiter=dialect.delimiter,
        newlines_in_values=True,
        invalid_row_handler=None if dialect.bad_lines == "stop" else skip,
    )
    names_match_header = dialect.header and names == first_row(path, dialect)
    read = arrow_csv.ReadOptions(
        column_names=[] if names_match_header else names,
        skip_rows_after_names=int(dialect.header and not names_match_header),
    )

    def fault(symptom: str) -> DataError:
        found = find_csv_fault(path, dialect, numbers, texts, missing, names)
        return DataError(found or f"{path}: {symptom}.")

    rows_read = 0
    try:
        if limit is None and _has_unclosed_quote(path, dialect):
            raise fault("a quotation mark is not closed")
        check_regular(path)  # Arrow opens the file itself
        source = path if dialect.is_plain else pa.PythonFile(LineStream(path, dialect), "r")
        with arrow_csv.open_csv(source, read_options=read, parse_options=parse, convert_options=convert) as reader:
            for batch in reader:
                if not allow_missing and any(column.null_count for column in batch.columns):
                    raise fault("a value is missing")
                if any(not _is_finite(batch.column(name)) for name in numbers):
                    raise fault("a number is not finite")
                yield batch
                rows_read += len(batch)
                if limit is not None and rows_read >= limit:
                    return
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None
    except UnicodeError:
        raise DataError(f"{path}: is not valid {dialect.encoding.upper()}. Save the table as CSV in UTF-8.") from None
    except pa.ArrowInvalid as error:
        raise fault(str(error)) from None


def convert_options(
    dialect: Dialect, texts: Sequence[str], numbers: Sequence[str], *, allow_missing: bool
) -> arrow_csv.ConvertOptions:
    """How Arrow converts the columns."""
    missing = (*MISSING, *dialect.missing) if allow_missing else ()
    return arrow_csv.ConvertOptions(
        column_types={**dict.fromkeys(texts, pa.string()), **dict.fromkeys(numbers, pa.float64())},
        include_columns=[*texts, *numbers],
        null_values=list(missing) or [""],
        strings_can_be_null=not allow_missing,
        decimal_point=dialect.decimal_point,
    )


def read_columns(path: Path, dialect: Dialect, texts: Sequence[str], numbers: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Complete columns by name. Raises DataError for a missing value."""
    blocks = list(csv_blocks(path, dialect, texts, numbers, allow_missing=False))
    if not sum(len(block) for block in blocks):
        raise DataError(f"{path}: has no rows below the column names. Add rows.")
    return {name: np.concatenate([as_array(block.column(name)) for block in blocks]) for name in (*texts, *numbers)}


def as_array(column: Any) -> NDArray[Any]:
    """A string array, or a float64 array in which missing values are NaN."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return column.fill_null("").to_numpy(zero_copy_only=False).astype(np.str_)
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def class_codes(labels: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class numbers and class names in sorted order, numerically if all names are numbers."""
    names, codes = np.unique(labels, return_inverse=True)
    order = class_order(names.tolist())
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], tuple(names[order].tolist())


def parse_names(text: str) -> list[str]:
    """Split a comma-separated list. Names with commas or outer spaces are in quotation marks."""
    if '"' not in text:
        return [name.strip() for name in text.split(",") if name.strip()]
    found: list[str] = []
    for match in re.finditer(r'\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)', text):
        quoted, plain = match.groups()
        if quoted is not None:
            found.append(quoted.replace('""', '"'))
        elif plain.strip():
            found.append(plain.strip())
    return found


def format_names(names: Iterable[str]) -> str:
    """A comma-separated list that `parse_names` reads."""
    return ", ".join(
        f'"{escaped}"' if not name or "," in name or '"' in name or name != name.strip() else name
        for name in names
        for escaped in [name.replace('"', '""')]
    )


def separator_hint(names: list[str], separator: Separator) -> str:
    """The next step for a table that was read as one column because of a wrong separator; else empty."""
    other = next((key for key, delimiter in SEPARATORS.items() if key != separator and delimiter in names[0]), None)
    return f"Set separator to {other}." if other and len(names) == 1 else ""


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def _is_finite(column: Any) -> bool:
    values = column.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):  # becomes infinite, which is rejected
        finite = np.isfinite(values.astype(np.float32))
    return bool(finite.all()) if not column.null_count else bool((finite | ~column.is_valid().to_numpy(False)).all())


def _has_unclosed_quote(path: Path, dialect: Dialect) -> bool:
    """Whether a quotation mark is not closed: Arrow would read the rest of the file as one text."""
    if not dialect.is_plain:
        return sum(line.count('"') for _, line in numbered_lines(path, dialect)) % 2 == 1
    with open_regular(path) as file:
        return sum(block.count(b'"') for block in iter(lambda: file.read(2**20), b"")) % 2 == 1


def class_order(names: list[str]) -> list[int]:
    """Indices that sort class names numerically if all are numbers; `names` are sorted as text."""
    try:
        return sorted(range(len(names)), key=lambda code: float(names[code]))
    except ValueError:
        return list(range(len(names)))
