"""Statistics of the texts of a column, collected block by block."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.tables.arrow import compute, pa
from engine.data.tables.csv_columns import MISSING
from engine.data.tables.date_format import ISO, UNIX_MILLISECONDS, UNIX_SECONDS, DateFormat
from engine.data.tables.formatted_numbers import parse_formatted

pc: Any = compute  # its functions are created at import, which type checkers cannot see

MAX_DISTINCT = 10_000
"""Number of distinct texts that are counted per column."""
_MAX_OTHERS = 50
"""Number of distinct texts that are kept of those that are not numbers."""

FURTHER_MISSING = (
    "-", "--", "---", ".", "..", "n/a", "na", "N.A.", "n.a.", "#N/A", "#NA", "<NA>", "(null)", r"\N", "nil", "none",
    "NAN", "missing", "Missing", "unknown", "Unknown", "UNKNOWN", "*", "??", "NULL!", "#DIV/0!", "#VALUE!", "NONE",
)  # fmt: skip
"""Texts that mark a missing number or date, in addition to `MISSING`."""
SURE_MISSING = frozenset(FURTHER_MISSING) - {"none", "NONE", "unknown", "Unknown", "UNKNOWN", "*", "."}
"""Those of `FURTHER_MISSING` that also mark a missing category; others may be categories."""

DATE_FORMATS = (
    "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", ISO, "%Y/%m/%d",
    "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%y", "%m/%d/%y",
    "%d/%m/%y %H:%M", "%m/%d/%y %H:%M", "%d.%m.%Y", "%d.%m.%y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d-%m-%Y",
    "%m-%d-%Y", "%d-%m-%Y %H:%M", "%m-%d-%Y %H:%M", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d, %Y", "%b %d %Y",
    "%d-%b-%Y %H:%M", "%a %b %d %H:%M:%S %Y", "%b-%Y", "%b-%y", "%b %Y", "%Y-%m", "%m/%Y", "%d.%m.%Y", "%Y%m%d",
    "%H:%M", "%H:%M:%S", UNIX_SECONDS, UNIX_MILLISECONDS,
)  # fmt: skip
"""Formats to try, the first that fits all values is used. Formats with a time come before those that ignore it."""

_DIGITS = frozenset((UNIX_SECONDS, UNIX_MILLISECONDS, "%Y%m%d"))
"""Formats of plain integers, which are dates only in a plausible range."""
PLAUSIBLE_DAYS = (-25_600, 47_500)
"""1899-12 to 2100-01 in days since 1970-01-01."""


@dataclass
class ColumnStatistics:
    """Statistics of a column. Missing values are not counted unless stated."""

    decimal_point: str = "."
    rows: int = 0
    """Rows, missing values included."""
    missing: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])
    """Rows by text of up to `MAX_DISTINCT` texts."""
    is_counted: bool = True
    """Whether `counts` has all texts."""
    numbers: int = 0
    """Plain numbers."""
    integers: int = 0
    padded: int = 0
    """Integers with leading zeros."""
    amounts: int = 0
    """Numbers, plain or with signs or units."""
    low: float = np.inf
    high: float = -np.inf
    last: float = np.nan
    """Last integer."""
    counts_up: bool = True
    """Whether each value is an integer and the previous one plus 1."""
    others: Counter[str] = field(default_factory=Counter[str])
    """Rows by text that is not a plain number, for some such texts."""
    other_amounts: Counter[str] = field(default_factory=Counter[str])
    """Rows by text that is neither a number nor an amount, for some such texts."""
    formats: list[str] = field(default_factory=lambda: list(dict.fromkeys(DATE_FORMATS)))
    """Date formats that fit all values so far."""
    date_jumps: dict[str, float] = field(default_factory=dict[str, float])
    """Sum of the distances in days between successive values, by format."""
    characters: int = 0
    words: int = 0
    marks: set[str] = field(default_factory=set[str])
    """Texts that count as missing, as they are written."""

    @property
    def present(self) -> int:
        return self.rows - self.missing

    @property
    def distinct(self) -> int:
        return len(self.counts)

    def add(self, column: Any) -> None:
        """Add the texts of a block."""
        self.rows += len(column)
        stripped = pc.utf8_trim_whitespace(column)
        known = pa.array(["", *MISSING, *SURE_MISSING], pa.string())
        is_missing = pc.or_(column.is_null(), pc.is_in(stripped, value_set=known).fill_null(True))
        absent = column.filter(is_missing)
        self.missing += len(absent)
        if len(absent):
            self.marks |= {text for text in absent.unique().to_pylist() if text}
        values = column.filter(pc.invert(is_missing))
        if not len(values):
            self.counts_up = self.counts_up and not len(absent)
            return
        self.counts_up = self.counts_up and not len(absent)
        found = values.value_counts()
        texts, counts = found.field("values"), found.field("counts").to_numpy()
        self._count(texts, counts)
        self._add_numbers(texts, counts, values)
        self._add_dates(texts, values)
        self.characters += int((pc.utf8_length(texts).to_numpy(zero_copy_only=False) * counts).sum())
        spaces = pc.count_substring_regex(texts, r"\s+").to_numpy(zero_copy_only=False)
        self.words += int(((spaces + 1) * counts).sum())

    def _count(self, texts: Any, counts: NDArray[Any]) -> None:
        if not self.is_counted:
            return
        self.counts.update(dict(zip(texts.to_pylist()[: 2 * MAX_DISTINCT], counts.tolist(), strict=False)))
        if len(self.counts) > MAX_DISTINCT:
            self.is_counted = False
            self.counts = Counter(dict(self.counts.most_common(MAX_DISTINCT)))

    def _add_numbers(self, texts: Any, counts: NDArray[Any], values: Any) -> None:
        point = "[.]" if self.decimal_point == "." else ","
        pattern = rf"^\s*-?(\d+{point}?\d*|{point}\d+)([eE][+-]?\d+)?\s*$"
        is_number = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
        is_integer = pc.match_substring_regex(texts, r"^\s*-?\d+\s*$").to_numpy(zero_copy_only=False)
        self.numbers += int(counts[is_number].sum())
        self.integers += int(counts[is_integer].sum())
        is_padded = pc.match_substring_regex(texts, r"^\s*-?0\d+\s*$").to_numpy(zero_copy_only=False)
        self.padded += int(counts[is_padded].sum())
        others = texts.filter(pa.array(~is_number))
        amounts = parse_formatted(others, self.decimal_point) if len(others) else np.empty(0)
        _keep(self.others, others.to_pylist()[:_MAX_OTHERS], counts[~is_number])
        is_amount = np.isfinite(amounts)
        self.amounts += int(counts[is_number].sum() + counts[~is_number][is_amount].sum())
        strange = others.filter(pa.array(~is_amount))
        _keep(self.other_amounts, strange.to_pylist()[:_MAX_OTHERS], counts[~is_number][~is_amount])
        plain = pc.utf8_trim_whitespace(texts.filter(pa.array(is_number)))
        if len(plain):
            numbers = pc.replace_substring(plain, self.decimal_point, ".").cast(pa.float64()).to_numpy()
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))
        self._follow(values, is_integer=bool(is_integer.all()))

    def _follow(self, values: Any, *, is_integer: bool) -> None:
        """Whether integers count up."""
        if not self.counts_up or not is_integer:
            self.counts_up = False
            return
        numbers = pc.utf8_trim_whitespace(values).cast(pa.float64()).to_numpy(zero_copy_only=False)
        before = np.concatenate([[numbers[0] - 1 if np.isnan(self.last) else self.last], numbers[:-1]])
        self.counts_up = bool((numbers == before + 1).all())
        self.last = float(numbers[-1])

    def _add_dates(self, texts: Any, values: Any) -> None:
        if not self.formats:
            return
        usual = pa.array(sorted(FURTHER_MISSING), pa.string())
        texts = texts.filter(pc.invert(pc.is_in(texts, value_set=usual)))
        first = texts.slice(0, 20).to_pylist()
        for text in list(self.formats):
            form = _date_format(text)
            if not all(map(form.matches, first)) or not self._fits(form, texts):
                self.formats.remove(text)
                continue
            days = form.days(values.slice(0, 10_000))
            jumps = np.abs(np.diff(days[np.isfinite(days)]))
            self.date_jumps[text] = self.date_jumps.get(text, 0.0) + float(jumps.sum())

    @staticmethod
    def _fits(form: DateFormat, texts: Any) -> bool:
        days = form.days(texts)
        if not np.isfinite(days).all():
            return False
        if form.text in _DIGITS:
            low, high = (7_300, 25_600) if form.text != "%Y%m%d" else PLAUSIBLE_DAYS
            return bool(len(days) and days.min() >= low and days.max() <= high)
        return bool(not len(days) or (days.min() >= -200_000 and days.max() <= 60_000))


@functools.cache
def _date_format(text: str) -> DateFormat:
    return DateFormat(text)


def _keep(counter: Counter[str], texts: list[str], counts: NDArray[Any]) -> None:
    """Count texts, at most `_MAX_OTHERS` + 1 different ones."""
    for text, count in zip(texts, counts.tolist(), strict=False):
        if text in counter or len(counter) <= _MAX_OTHERS:
            counter[text] += count
