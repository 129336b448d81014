"""Guess what a column contains from its name and statistics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.data.tables.date_format import UNIX_MILLISECONDS, UNIX_SECONDS
from engine.data.tables.inference.column_statistics import FURTHER_MISSING, ColumnStatistics
from engine.data.tables.table_diagnostics import MAX_CATEGORIES, MAX_CHANCE_ROWS, is_identifier_name, is_unnamed

ColumnRole: TypeAlias = Literal["target", "input", "ignore"]
ColumnType: TypeAlias = Literal["number", "category", "date", "text"]

_MANY_CATEGORIES = 50
"""Number of categories from which a column must also repeat them."""
_NUMBER_SHARE = 0.9
"""Minimum fraction of numbers in a column of numbers; other texts count as missing."""
_FEW_INTEGERS = 30
"""Maximum number of distinct integers that a name can make categories."""
_LONG_TEXT = 40
_LONG_WORDS = 5
"""Characters and words per value of a column of texts."""

_CATEGORY_NAMES = re.compile(
    r"(^|[\s_.-])(class|pclass|code|type|category|cat|group|kind|region|district|zone|sector|cluster|segment|status|"
    r"gender|sex|season|month|weekday|dayofweek|day_of_week|dow|holiday|workingday|weather|weathersit|store|shop|brand|"
    r"model|make|origin|route|channel|department|dept|branch|state|country|city|zip|zipcode|postal|postcode|plz|"
    r"thal|slope|race|education|marital|rad)([\s_.-]?(id|no|nr|number|code|type))?$",
    re.IGNORECASE,
)
"""Names of integers that are categories."""
_CODE_NAMES = re.compile(r"zip|postal|postcode|plz|phone|fax|iban|isbn|ssn|barcode|ean", re.IGNORECASE)
"""Names of integers that are codes, not quantities."""
_DATE_NAMES = re.compile(r"date|time|day|dt$|dob|birth|created|updated|modified|start|end|at$|when|timestamp|epoch|ts$",
                         re.IGNORECASE)  # fmt: skip
_YEAR_NAMES = re.compile(r"year|yr|jahr|année|built", re.IGNORECASE)
_BOOLEANS = frozenset(("true", "false", "yes", "no", "y", "n", "t", "f", "on", "off"))


@dataclass(frozen=True, slots=True)
class ColumnGuess:
    """What a column contains."""

    type: ColumnType
    role: ColumnRole = "input"
    reason: str = ""
    """Why the column is ignored or read in this way, as a sentence; empty if it is obvious."""
    date_format: str = ""
    formatted: bool = False
    """Whether numbers have signs, units or thousands separators."""
    strange: tuple[str, ...] = ()
    """Texts of a column of numbers or dates that count as missing."""
    suggestion: str = ""
    """A likely mistake in the data, as a sentence."""


def guess_column(name: str, found: ColumnStatistics, *, day_first: bool | None) -> ColumnGuess:
    """Guess the content of a column.

    Args:
        name: name of the column
        found: its statistics
        day_first: whether day comes before month in ambiguous dates; None if other columns do not tell
    """
    if not found.present:
        return ColumnGuess("text", "ignore", "All values are missing.")
    if found.distinct == 1 and found.is_counted and not found.missing:
        is_number = found.numbers == found.present
        return ColumnGuess("number" if is_number else "category", "ignore", "All values are equal.")
    if date := _guess_date(name, found, day_first=day_first):
        return date
    if _is_number(found.numbers, found):
        return _guess_number(name, found)
    if _is_number(found.amounts, found) and not _mixes_letters(found):
        return ColumnGuess("number", formatted=True, strange=tuple(found.other_amounts))
    return _guess_text(name, found)


# -- dates -------------------------------------------------------------------------------------


def _guess_date(name: str, found: ColumnStatistics, *, day_first: bool | None) -> ColumnGuess | None:
    formats = [text for text in found.formats if text not in (UNIX_SECONDS, UNIX_MILLISECONDS, "%Y%m%d")]
    strange = tuple(text for text in found.other_amounts if text in FURTHER_MISSING)
    if found.numbers == found.present:
        formats = [text for text in found.formats if text not in formats]
        has_name = _DATE_NAMES.search(name) is not None
        if not formats or not (has_name or (found.distinct > MAX_CHANCE_ROWS and not found.low < 1e8)):
            return None
        return ColumnGuess("date", date_format=formats[0], strange=strange)
    if not formats:
        return None
    text, note = _day_or_month_first(formats, found, day_first)
    return ColumnGuess("date", date_format=text, strange=strange, suggestion=note)


def _day_or_month_first(formats: list[str], found: ColumnStatistics, day_first: bool | None) -> tuple[str, str]:
    """The format to use, and a note if the values do not tell whether day or month comes first."""
    chosen = formats[0]
    other = swapped(chosen)
    if other == chosen or other not in formats:
        return chosen, ""
    by_order = {is_day_first(text): text for text in (chosen, other)}
    if day_first is not None:
        return by_order[day_first], ""
    jumps = {text: found.date_jumps.get(text, 0.0) for text in (chosen, other)}
    smoother = min(jumps, key=jumps.__getitem__)
    if jumps[smoother] < max(jumps.values()) / 2:
        return smoother, ""
    return by_order[True], f"Day or month may come first: the values fit {by_order[True]} and {by_order[False]}."


def swapped(text: str) -> str:
    """A format with day and month exchanged."""
    return text.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")


def is_day_first(text: str) -> bool:
    return 0 <= text.find("%d") < text.find("%m")


def decides_day_order(found: ColumnStatistics) -> bool | None:
    """Whether the values of a column prove that day comes first; None if they do not tell."""
    numeric = [text for text in found.formats if "%d" in text and "%m" in text and not text.startswith("%Y")]
    orders = {is_day_first(text) for text in numeric}
    return orders.pop() if len(orders) == 1 and found.present and found.numbers < found.present else None


# -- numbers -----------------------------------------------------------------------------------


def _is_number(count: int, found: ColumnStatistics) -> bool:
    """Whether a column has numbers, and few other texts that may mark missing values."""
    others = found.other_amounts
    usual = sum(number for text, number in others.items() if text.strip() in FURTHER_MISSING)
    if count + usual == found.present and count:
        return True
    return count >= _NUMBER_SHARE * found.present and len(others) <= 3


def _mixes_letters(found: ColumnStatistics) -> bool:
    """Whether some numbers are plain and others have letters, such as 5more: names of categories."""
    return found.numbers > 0 and any(any(map(str.isalpha, text)) for text in found.others - found.other_amounts)


def _guess_number(name: str, found: ColumnStatistics) -> ColumnGuess:
    strange = tuple(found.others)
    is_integer = found.integers == found.numbers
    note = _sentinel(found)
    if found.padded and is_integer:
        return _codes(found, "Some values have leading zeros, so they are codes.")
    if is_integer and _CODE_NAMES.search(name):
        return _codes(found, "The name says that the values are codes.")
    if is_integer and (reason := _identifier_reason(name, found)):
        return ColumnGuess("number", "ignore", reason)
    few = found.is_counted and found.distinct <= _FEW_INTEGERS and found.present >= 2 * found.distinct
    is_numbered = is_identifier_name(name) and not is_unnamed(name) and few
    if is_integer and few and found.distinct > 2 and (_CATEGORY_NAMES.search(name) or is_numbered):
        return ColumnGuess("category", reason="Few different integers, which the name describes as categories.")
    return ColumnGuess("number", strange=strange, suggestion=note)


def _codes(found: ColumnStatistics, reason: str) -> ColumnGuess:
    if _repeats(found):
        return ColumnGuess("category", reason=reason)
    return ColumnGuess("category", "ignore", f"{reason} There are too many of them for categories.")


def _identifier_reason(name: str, found: ColumnStatistics) -> str:
    """Why integers number the rows; empty if they do not."""
    unnamed = is_unnamed(name)
    named = is_identifier_name(name) and not unnamed
    is_unique = (not found.is_counted or found.distinct == found.present) and not found.missing
    if unnamed and found.counts_up:
        return "The values count the rows."
    if not is_unique or found.present < MAX_CHANCE_ROWS:
        return "The name and different values identify rows." if named and is_unique and found.present > 3 else ""
    if _YEAR_NAMES.search(name):
        return ""
    if found.counts_up and not _DATE_NAMES.search(name):
        return "The values count the rows."
    if named:
        return "The values are different in each row, so they identify rows."
    return ""


def _sentinel(found: ColumnStatistics) -> str:
    """A note on a number such as -999 that may mark missing values."""
    for text in ("-999", "-9999", "-99", "-999.0", "-9999.0", "9999", "99999", "-200", "-1"):
        count = found.counts[text]
        value = float(text)
        if count < 2 or value not in (found.low, found.high):
            continue
        others = [float(each) for each in found.counts if _is_plain(each) and float(each) != value]
        low, high = min(others, default=0.0), max(others, default=0.0)
        is_far = (value < 0 <= low and value <= -99) or abs(value) > 5 * max(abs(low), abs(high), 1)
        if is_far:
            return f"{text} occurs {count:,} times and may mark missing values. Add it to missing_texts if it does."
    return ""


def _is_plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- texts -------------------------------------------------------------------------------------


def _repeats(found: ColumnStatistics) -> bool:
    """Whether there are few enough distinct texts for categories."""
    if not found.is_counted or found.distinct > MAX_CATEGORIES:
        return False
    few = found.distinct <= _MANY_CATEGORIES and 2 * found.distinct <= found.present + MAX_CHANCE_ROWS
    return (few and found.distinct < found.present) or 4 * found.distinct <= found.present


def _guess_text(name: str, found: ColumnStatistics) -> ColumnGuess:
    texts = {text.strip().lower() for text in found.counts}
    if found.is_counted and texts <= _BOOLEANS:
        return ColumnGuess("category")
    share = f"{'more than ' if not found.is_counted else ''}{found.distinct:,} of {found.present:,} values differ"
    is_long = found.characters > _LONG_TEXT * found.present or found.words > _LONG_WORDS * found.present
    if is_long and not _repeats(found):
        return ColumnGuess("text", "ignore", "The values are long texts.")
    if _repeats(found) and not (is_identifier_name(name) and 2 * found.distinct > found.present):
        return ColumnGuess("category")
    return ColumnGuess("text", "ignore", f"{share}, so they identify rows or are free text.")
