"""Statistics of the first rows of a table, computed from the unparsed text, before numbers are rounded."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.data.lru_cache import LRUCache
from engine.data.tables.arrow import compute, pa
from engine.data.tables.csv_columns import MISSING

pc: Any = compute  # its functions are created at import, which type checkers cannot see

MAX_ROWS = 50_000
MAX_CELLS = 1_000_000
"""Maximum rows and cells of a survey; only the first rows of larger tables are read."""

FLOAT32_EXACT = 2**24
"""float32 represents integers up to this one exactly."""

_FLOAT64_EXACT = 2**53
"""float64 represents integers up to this one exactly; larger ones are treated as identifiers."""
_MAX_MERGED_SHARE = 0.01
"""Fraction of distinct quantities that may become equal in float32 without a warning."""

_INTEGER = r"^\s*[+-]?\d+\s*$"
_PADDED = r"^\s*[+-]?0\d+\s*$"
_PLAIN = r"^\s*\+?(-?)0*(\d+)\s*$"
"""Patterns of an integer, of one with leading zeros, and of its sign and digits."""


@dataclass(frozen=True, slots=True)
class ColumnSurvey:
    """Statistics of the non-missing values of a column in the surveyed rows."""

    values: int
    distinct: int
    is_integer: bool = False
    """Whether all values are integers."""
    counts_up: bool = False
    """Whether each value is the previous one plus 1."""
    low: float = 0
    high: float = 0
    padded: int = 0
    """Number of integers with leading zeros."""
    padded_example: str = ""
    padded_value: str = ""
    """The number that the example is read as."""
    exact: int = 0
    """Number of distinct integers if float32 merges some of them; otherwise 0."""
    rounded: int = 0
    """Number of distinct values as float32."""
    merged_example: tuple[str, str] = ("", "")
    """Two integers that become equal."""


@dataclass(frozen=True, slots=True)
class TableSurvey:
    """Survey of the columns of a table."""

    rows: int
    """Number of surveyed rows."""
    is_complete: bool
    """Whether all rows were surveyed."""
    columns: Mapping[str, ColumnSurvey]


def survey_columns(blocks: Iterable[pa.RecordBatch], numbers: Iterable[str], limit: int) -> TableSurvey:
    """Survey the first rows.

    Args:
        blocks: blocks of unparsed string columns
        numbers: names of numeric columns
        limit: maximum number of rows
    """
    surveyed: list[pa.RecordBatch] = []
    count = 0
    for block in blocks:
        surveyed.append(block)
        count += len(block)
        if count > limit:
            break
    if not surveyed:
        return TableSurvey(0, True, {})
    table = pa.Table.from_batches(surveyed).slice(0, limit)
    read_as_number = set(numbers)
    columns = {name: _survey_column(table.column(name), name in read_as_number) for name in table.column_names}
    return TableSurvey(len(table), count <= limit, columns)


def _survey_column(column: Any, is_number: bool) -> ColumnSurvey:
    column = column.combine_chunks()
    present = column.filter(pc.invert(pc.or_kleene(column.is_null(), pc.is_in(column, value_set=_missing_texts()))))
    values, distinct = len(present), len(present.unique())
    if not is_number:
        return ColumnSurvey(values, distinct)
    integers = present.filter(pc.match_substring_regex(present, _INTEGER))
    if not len(integers):
        return ColumnSurvey(values, distinct)
    plain = pc.replace_substring_regex(integers, _PLAIN, r"\1\2")
    found = plain.cast(pa.float64()).to_numpy(zero_copy_only=False)
    padded = integers.filter(pc.match_substring_regex(integers, _PADDED))
    low, high = float(found.min()), float(found.max())
    merged = _merged_integers(plain, found) if max(-low, high) > FLOAT32_EXACT else (0, 0, ("", ""))
    return ColumnSurvey(
        values,
        distinct,
        len(integers) == values,
        len(integers) == len(column) and bool((found[1:] == found[:-1] + 1).all()),
        low,
        high,
        len(padded),
        padded[0].as_py().strip() if len(padded) else "",
        pc.replace_substring_regex(padded[0], _PLAIN, r"\1\2").as_py() if len(padded) else "",
        *merged,
    )


def _merged_integers(plain: Any, found: np.ndarray[Any, Any]) -> tuple[int, int, tuple[str, str]]:
    """Counts of distinct integers before and after rounding to float32, and an example; zeros if few are merged."""
    with np.errstate(over="ignore"):
        rounded = found.astype(np.float32)
    exact, rounded_count = len(plain.unique()), len(np.unique(rounded))
    is_identifier = np.abs(found).max() > _FLOAT64_EXACT
    if exact - rounded_count <= (0 if is_identifier else _MAX_MERGED_SHARE * exact):
        return 0, 0, ("", "")
    first: dict[float, str] = {}
    for value, text in zip(rounded.tolist(), plain.to_pylist(), strict=True):
        if first.setdefault(value, text) != text:
            return exact, rounded_count, (first[value], text)
    return 0, 0, ("", "")


@functools.cache
def _missing_texts() -> pa.Array:
    """Return the texts that mean a missing value."""
    return pa.array(MISSING, pa.string())


surveys: LRUCache[TableSurvey] = LRUCache(4)
