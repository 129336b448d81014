"""What the columns of a table hold, as it is written there: looked at in the first rows, before numbers are rounded."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.data.lru_cache import LRUCache
from engine.data.tables.arrow import compute, pa
from engine.data.tables.csv_columns import MISSING

pc: Any = compute  # its functions are made when it is imported, which type checkers cannot see

MOST_ROWS = 50_000
MOST_CELLS = 1_000_000
"""Of larger tables the first rows are looked at."""

EXACT = 2**24
"""float32 tells whole numbers up to this one apart."""

_FLOAT64_EXACT = 2**53
"""float64 up to this one: larger ones are names rather than quantities."""
_MERGED_SHARE = 0.01
"""Of different quantities; fewer that become equal matter to no network."""

_WHOLE = r"^\s*[+-]?\d+\s*$"
_PADDED = r"^\s*[+-]?0\d+\s*$"
_PLAIN = r"^\s*\+?(-?)0*(\d+)\s*$"
"""Sign and digits of a whole number."""


@dataclass(frozen=True, slots=True)
class ColumnSurvey:
    """The values that are there, in the rows that were looked at."""

    values: int
    different: int
    is_whole: bool = False
    """Whether all are whole numbers."""
    counts_up: bool = False
    """Whether each is the one before plus 1."""
    low: float = 0
    high: float = 0
    padded: int = 0
    """Whole numbers with leading zeros."""
    padded_example: str = ""
    padded_value: str = ""
    """What the example is read as."""
    exact: int = 0
    """Different whole numbers, if float32 does not tell them apart; else 0."""
    rounded: int = 0
    """Different ones after they became float32."""
    merged_example: tuple[str, str] = ("", "")
    """Two of them that become equal."""


@dataclass(frozen=True, slots=True)
class TableSurvey:
    """The columns of a table."""

    rows: int
    """That were looked at."""
    is_whole: bool
    """Whether these are all."""
    columns: Mapping[str, ColumnSurvey]


def survey_columns(blocks: Iterable[pa.RecordBatch], numbers: Iterable[str], most: int) -> TableSurvey:
    """Look at the first rows.

    Args:
        blocks: columns of texts, as they are written
        numbers: the columns that are read as numbers
        most: rows to look at
    """
    held: list[pa.RecordBatch] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(block)
        if count > most:
            break
    if not held:
        return TableSurvey(0, True, {})
    table = pa.Table.from_batches(held).slice(0, most)
    read_as_number = set(numbers)
    columns = {name: _examined(table.column(name), name in read_as_number) for name in table.column_names}
    return TableSurvey(len(table), count <= most, columns)


def _examined(column: Any, number: bool) -> ColumnSurvey:
    column = column.combine_chunks()
    there = column.filter(pc.invert(pc.or_kleene(column.is_null(), pc.is_in(column, value_set=_missing_texts()))))
    values, different = len(there), len(there.unique())
    if not number:
        return ColumnSurvey(values, different)
    whole = there.filter(pc.match_substring_regex(there, _WHOLE))
    if not len(whole):
        return ColumnSurvey(values, different)
    plain = pc.replace_substring_regex(whole, _PLAIN, r"\1\2")
    found = plain.cast(pa.float64()).to_numpy(zero_copy_only=False)
    padded = whole.filter(pc.match_substring_regex(whole, _PADDED))
    low, high = float(found.min()), float(found.max())
    merged = _merged(plain, found) if max(-low, high) > EXACT else (0, 0, ("", ""))
    return ColumnSurvey(
        values,
        different,
        len(whole) == values,
        len(whole) == len(column) and bool((found[1:] == found[:-1] + 1).all()),
        low,
        high,
        len(padded),
        padded[0].as_py().strip() if len(padded) else "",
        pc.replace_substring_regex(padded[0], _PLAIN, r"\1\2").as_py() if len(padded) else "",
        *merged,
    )


def _merged(plain: Any, found: np.ndarray[Any, Any]) -> tuple[int, int, tuple[str, str]]:
    """Different whole numbers before and after they become float32, with an example; zeros if next to none are lost."""
    with np.errstate(over="ignore"):
        rounded = found.astype(np.float32)
    exact, after = len(plain.unique()), len(np.unique(rounded))
    is_name = np.abs(found).max() > _FLOAT64_EXACT
    if exact - after <= (0 if is_name else _MERGED_SHARE * exact):
        return 0, 0, ("", "")
    first: dict[float, str] = {}
    for value, text in zip(rounded.tolist(), plain.to_pylist(), strict=True):
        if first.setdefault(value, text) != text:
            return exact, after, (first[value], text)
    return 0, 0, ("", "")


@functools.cache
def _missing_texts() -> pa.Array:
    """Return the texts that mean a missing value."""
    return pa.array(MISSING, pa.string())


surveys: LRUCache[TableSurvey] = LRUCache(4)
