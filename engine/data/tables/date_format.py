"""Dates in tables: formats with the directives of strptime, and the numbers that dates become."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.data.tables.arrow import compute, pa

pc: Any = compute  # its functions are created at import, which type checkers cannot see

DateFeatures: TypeAlias = Literal["calendar", "days", "both"]

ISO = "ISO"
"""ISO 8601: ``2024-05-31``, ``2024-05-31 14:30`` or ``2024-05-31T14:30:00.5Z``."""
TIMESTAMP = "%Y-%m-%d %H:%M:%S"
"""A date with a time. Its hour becomes numbers too."""
UNIX_SECONDS, UNIX_MILLISECONDS = "unix", "unix ms"
"""Seconds and milliseconds since 1970-01-01."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONE = r"(?:\s*(?P<zone>Z|[+-]\d{2}:?\d{2}))?"
_DIRECTIVES = {
    "Y": r"(?P<year>\d{4})",
    "y": r"(?P<short_year>\d{2})",
    "m": r"(?P<month>\d{1,2})",
    "b": r"(?P<month_name>[A-Za-z]{3,9})\.?",
    "d": r"(?P<day>\d{1,2})",
    "H": r"(?P<hour>\d{1,2})",
    "I": r"(?P<hour>\d{1,2})",
    "M": r"(?P<minute>\d{2})",
    "S": r"(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?",
    "p": r"(?P<half>[AaPp])\.?[Mm]\.?",
    "a": r"[A-Za-z]{2,9}\.?",
    "z": r"(?P<zone>Z|[+-]\d{2}:?\d{2})",
}
_ISO_PATTERN = (
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?" + _ZONE + ")?"
)
_ALIASES = {"B": "b", "A": "a", "e": "d", "h": "b"}
_YEAR_2000 = 10_957
"""Days from 1970-01-01 to 2000-01-01."""
_SECONDS_PER_DAY = 86_400
_FURTHEST = 3_000_000
"""Days from 1970 within which a date is plausible."""

CALENDAR = ("year", "month sin", "month cos", "weekday sin", "weekday cos")
TIMES = ("hour sin", "hour cos")


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written, and which numbers they become.

    Args:
        text: ISO, unix, unix ms, or a format with directives of strptime: ``%d/%m/%Y``
        features: calendar (year, and month and weekday as sine and cosine), days since 2000-01-01, or both
    """

    text: str = ISO
    features: DateFeatures = "calendar"

    def __post_init__(self) -> None:
        _ = self._pattern

    @property
    def has_time(self) -> bool:
        return self.text in (UNIX_SECONDS, UNIX_MILLISECONDS) or "%H" in self.text or "%I" in self.text

    def names(self, column: str) -> tuple[str, ...]:
        """Names of the numbers of a column."""
        parts = (*CALENDAR, *(TIMES if self.has_time else ())) if self.features != "days" else ()
        return tuple(f"{column} {part}" for part in (*parts, *(("days",) if self.features != "calendar" else ())))

    def matches(self, text: str) -> bool:
        """Whether a text has this form. It may still be no date, such as 31 February."""
        pattern = self._pattern or r"\s*[+-]?\d{1,15}(\.\d+)?\s*"
        return re.fullmatch(pattern, text.strip()) is not None

    def numbers(self, column: Any) -> list[NDArray[np.float64]]:
        """One array for each of the `names`; NaN where a text is missing or not a date.

        Args:
            column: strings, timestamps or dates of pyarrow
        """
        days = self.days(column)
        found: list[NDArray[np.float64]] = []
        if self.features != "days":
            found += _calendar(days)
            if self.has_time:
                found += _cycle(np.mod(days, 1))
        return [*found, days - _YEAR_2000] if self.features != "calendar" else found

    def days(self, column: Any) -> NDArray[np.float64]:
        """Days since 1970-01-01 with the time of day as a fraction; NaN where a text is missing or not a date."""
        if pa.types.is_temporal(column.type):
            moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
            return _floats(moments) / (_SECONDS_PER_DAY * 1e6)
        texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
        if self.text in (UNIX_SECONDS, UNIX_MILLISECONDS):
            is_number = pc.match_substring_regex(texts, r"^[+-]?\d{1,15}(\.\d+)?$")
            numbers = _floats(pc.if_else(is_number, texts, pa.scalar(None, pa.string())).cast(pa.float64()))
            days = numbers / (_SECONDS_PER_DAY * (1000 if self.text == UNIX_MILLISECONDS else 1))
        else:
            days = self._parsed_days(texts)
        return np.where(np.abs(days) <= _FURTHEST, days, np.nan)

    def _parsed_days(self, texts: Any) -> NDArray[np.float64]:
        parts = pc.extract_regex(texts, self._pattern)
        names = {field.name for field in parts.type}

        def part(name: str, default: float = 0) -> NDArray[np.float64]:
            if name not in names:
                return np.full(len(texts), float(default))
            found = pc.struct_field(parts, name)
            is_empty = pc.equal(found, "")
            return _floats(pc.if_else(is_empty, pa.scalar(str(default)), found).cast(pa.float64()))

        def letters(name: str) -> Any:
            return pc.utf8_lower(pc.struct_field(parts, name))

        year = part("year", 2000)
        if "short_year" in names:
            short = part("short_year")
            year = short + np.where(short < 69, 2000, 1900)
        month = part("month", 1)
        if "month_name" in names:
            starts = pc.utf8_slice_codeunits(letters("month_name"), 0, 3)
            month = _floats(pc.index_in(starts, value_set=pa.array(_MONTHS)).cast(pa.float64())) + 1
        days = _civil_days(year, month, part("day", 1))
        hour = part("hour")
        if "half" in names:
            hour = np.mod(hour, 12) + 12 * _floats(pc.equal(letters("half"), "p").cast(pa.float64()))
        minute, second = part("minute"), part("second")
        is_time = (hour < 24) & (minute < 60) & (second < 61)
        seconds = hour * 3600 + minute * 60 + second
        if "fraction" in names:
            fraction = pc.binary_join_element_wise("0", pc.struct_field(parts, "fraction"), ".")
            seconds = seconds + np.nan_to_num(_floats(fraction.cast(pa.float64())))
        return np.where(is_time, days + (seconds - _zone_seconds(parts, names)) / _SECONDS_PER_DAY, np.nan)

    @cached_property
    def _pattern(self) -> str:
        if self.text == ISO:
            return f"^{_ISO_PATTERN}$"
        if self.text in (UNIX_SECONDS, UNIX_MILLISECONDS):
            return ""
        pattern = "".join(map(_piece, re.findall(r"%.?|\s+|[^%\s]", self.text)))
        names = re.findall(r"\(\?P<(\w+)>", pattern)
        if "year" not in names and "short_year" not in names and "hour" not in names:
            raise ValueError(f"{self.text!r} has no year. Write ISO, unix, unix ms, or a format such as %d/%m/%Y.")
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated:
            raise ValueError(f"{self.text!r} has the {repeated.replace('_', ' ')} twice. Remove one of them.")
        return f"^{pattern}$"


def _piece(piece: str) -> str:
    """The regular expression of a directive or a literal character."""
    if piece.isspace():
        return r"\s+"
    if not piece.startswith("%"):
        return re.escape(piece)
    letter = _ALIASES.get(piece[1:], piece[1:])
    if letter not in _DIRECTIVES:
        known = ", ".join(f"%{letter}" for letter in _DIRECTIVES)
        raise ValueError(f"{piece!r} is not a part of a date. Use {known}.")
    return _DIRECTIVES[letter]


def _floats(column: Any) -> NDArray[np.float64]:
    """The values as float64; NaN for null."""
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _civil_days(year: NDArray[np.float64], month: NDArray[np.float64], day: NDArray[np.float64]) -> NDArray[np.float64]:
    """Days since 1970-01-01; NaN for a date that does not exist."""
    known = np.isfinite(year) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    safe_year, safe_month, safe_day = (np.where(known, part, 1).astype(np.int64) for part in (year, month, day))
    months = ((safe_year - 1970) * 12 + safe_month - 1).astype("datetime64[M]")
    dates = months.astype("datetime64[D]") + (safe_day - 1)
    known &= dates.astype("datetime64[M]") == months
    return np.where(known, dates.astype(np.int64), np.nan)


def _zone_seconds(parts: Any, names: set[str]) -> NDArray[np.float64] | float:
    """Seconds east of UTC; 0 without a zone."""
    if "zone" not in names:
        return 0.0
    digits = pc.replace_substring_regex(pc.struct_field(parts, "zone"), r"[Z:+-]", "")
    numbers = np.nan_to_num(_floats(pc.if_else(pc.equal(digits, ""), pa.scalar("0"), digits).cast(pa.float64())))
    is_west = pc.starts_with(pc.struct_field(parts, "zone"), "-").fill_null(False).to_numpy(zero_copy_only=False)
    return (numbers // 100 * 3600 + numbers % 100 * 60) * np.where(is_west, -1, 1)


def _calendar(days: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    known = np.isfinite(days)
    dates = np.where(known, np.floor(days), 0).astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    month, weekday = months % 12 / 12, (dates.astype(np.int64) + 3) % 7 / 7
    numbers = [months // 12 + 1970.0, *_cycle(month), *_cycle(weekday)]
    return [np.where(known, number, np.nan) for number in numbers]


def _cycle(share: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Sine and cosine of a position on a circle."""
    functions: tuple[Callable[..., NDArray[np.float64]], ...] = (np.sin, np.cos)
    return [function(2 * np.pi * share) for function in functions]
