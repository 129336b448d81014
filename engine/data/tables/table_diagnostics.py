"""Diagnostics of tables: skipped rows, identifier columns, lost digits, and unknown categories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.data.diagnostics import Diagnostic, count_rows, format_counts, shorten
from engine.data.tables.column_survey import EXACT, ColumnSurvey, TableSurvey
from engine.data.tables.csv_columns import format_names, looks_like_values
from engine.data.tables.row_filter import NULL, MissingValueCounts

FEW = 20
"""Number of rows up to which all values may be distinct by chance."""
MOST_CHOICES = 1000
"""Maximum number of distinct texts of a categorical column."""
_UNIQUE_TEXTS = 0.95
"""Minimum fraction of distinct texts of an identifier column."""

_UNNAMED = re.compile(r"|column \d+|Unnamed: \d+|__index_level_\d+__")
"""Names of unnamed columns in Gradwire, in pandas, and in Parquet files of pandas."""
_IDENTIFIERS = (
    re.compile(r"(^|[\s_.-])(id|ids|idx|index|key|no|nr|num|number|row|uid|uuid|guid)$", re.IGNORECASE),
    re.compile(r"[a-z](Id|ID)$"),
)
_TIME = re.compile(r"year|date|time|day|week|month|hour|minute|second|epoch|step", re.IGNORECASE)
"""Names of columns that may count up without being identifiers."""

Remedy: TypeAlias = tuple[str, tuple[tuple[str, str], ...], str]
"""The fields `remedy`, `changes` and `added` of a diagnostic."""


@dataclass(frozen=True, slots=True)
class TableArguments:
    """The file name for messages, and the arguments of the data source that a remedy changes."""

    file: str
    target: str
    classes: bool
    """Whether the target is a class."""
    ignored: tuple[str, ...]
    categorical: tuple[str, ...]
    missing_texts: tuple[str, ...] | None
    """Texts that mark a missing value; None if the format has null values."""


# -- rows --------------------------------------------------------------------------------------


def missing_value_diagnostics(choices: TableArguments, losses: MissingValueCounts) -> Iterator[Diagnostic]:
    """Diagnostics of skipped rows and of missing categories."""
    if losses.left_out:
        ordered = sorted(losses.without.items(), key=lambda item: -sum(item[1].values()))
        lacking = "; ".join(f"no value in {shorten(name)!r} ({format_counts(counts)})" for name, counts in ordered[:3])
        more = f"; and {len(ordered) - 3} more columns" if len(ordered) > 3 else ""
        message = (
            f"{choices.file}: {losses.left_out:,} of {count_rows(losses.rows)} {_are(losses.left_out)} skipped: "
            f"{lacking}{more}."
        )
        yield _with_remedy(choices, "rows-left-out", message, ordered[0][0], dict(losses.without))
    for name, counts in losses.empty.items():
        texts = {text: count for text, count in counts.items() if text not in ("", NULL)}
        if texts:
            total = sum(counts.values())
            message = (
                f"{choices.file}: {total:,} of {count_rows(losses.rows)} {_have(total)} no category in "
                f"{shorten(name)!r} ({format_counts(counts)}), so the network gets a vector of zeros."
            )
            yield _with_remedy(choices, "missing-category", message, name, {name: counts})


def sampled_missing_value_diagnostics(
    choices: TableArguments, found: TableSurvey, needed: Sequence[str]
) -> Iterator[Diagnostic]:
    """Diagnostics of skipped rows among the first rows of a partly read table."""
    lacking = {name: found.rows - found.columns[name].values for name in needed if name in found.columns}
    name = max(lacking, key=lacking.__getitem__, default="")
    if name and lacking[name]:
        message = (
            f"{choices.file}: at least {lacking[name]:,} of the first {count_rows(found.rows)} are skipped: no value "
            f"in {shorten(name)!r}. All rows are counted when a run starts."
        )
        yield _with_remedy(choices, "rows-left-out", message, name, {name: {}})


def _with_remedy(
    choices: TableArguments, code: str, message: str, worst: str, without: Mapping[str, Mapping[str, int]]
) -> Diagnostic:
    """Add the remedy: keep texts that may be values, or ignore the column with the most missing values."""
    known = choices.missing_texts or ()
    texts = [text for name, counts in without.items() for text in counts if text in known and _is_text(choices, name)]
    if texts:
        kept = ", ".join(shorten(text) for text in dict.fromkeys(texts))
        changes = (("missing_texts", format_names(text for text in known if text not in texts)),)
        message = f"{message} If {kept} is a value, remove it from missing_texts."
        return Diagnostic(code, message, f"Keep {kept}", changes)
    if worst != choices.target and code == "rows-left-out":
        message = f"{message} Ignore the columns with the most missing values, or set missing to keep."
        return Diagnostic(code, message, *_ignoring(choices, worst))
    return Diagnostic(code, f"{message} Fill in the values to train on these rows.")


def _is_text(choices: TableArguments, name: str) -> bool:
    return name in choices.categorical or (choices.classes and name == choices.target)


def unseen_category_diagnostics(file: str, unseen: Mapping[str, Mapping[str, int]], count: int) -> Iterator[Diagnostic]:
    """Diagnostics of categories that do not occur in the training rows."""
    for name, counts in unseen.items():
        total = sum(counts.values())
        yield Diagnostic(
            "unseen-category",
            f"{file}: {total:,} of {count_rows(count)} {_have(total)} a category in {shorten(name)!r} that no "
            f"training row has ({format_counts(counts)}), so the network gets a vector of zeros. "
            "Correct the category, or add training rows that have it.",
        )


# -- columns -----------------------------------------------------------------------------------


def header_diagnostics(
    choices: TableArguments, names: Sequence[str], arguments: Mapping[str, str | list[str]]
) -> Iterator[Diagnostic]:
    """A diagnostic of column names that look like a row of values.

    Args:
        names: all column names in the file
        arguments: arguments of the data source with column names
    """
    if not looks_like_values(names):
        return
    places = {name: f"column {place}" for place, name in enumerate(names, 1)}
    renamed = [
        (key, places[value] if isinstance(value, str) else format_names(places[name] for name in value))
        for key, value in arguments.items()
        if value
    ]
    first = ", ".join(repr(shorten(name)) for name in names[:3])
    yield Diagnostic(
        "header-values",
        f"{choices.file}: the first line, {first}{', …' if len(names) > 3 else ''}, looks like data, but is read as "
        "the column names. Turn header off if it is a row.",
        "Read the first line as a row",
        (("header", False), *renamed),
    )


def column_diagnostics(
    choices: TableArguments, found: TableSurvey, features: Sequence[str], texts: Sequence[str]
) -> Iterator[Diagnostic]:
    """Diagnostics of identifier columns and of integers that lose digits."""
    seen = count_rows(found.rows) if found.is_whole else f"the first {count_rows(found.rows)}"
    known = {name: found.columns[name] for name in features if name in found.columns}
    identifying = {
        name: why
        for name, column in known.items()
        if (why := _identifies(name, column, found.rows, seen, text=name in texts))
    }
    if len(identifying) < len(features):
        for name, why in identifying.items():
            yield Diagnostic(
                "identifier",
                f"{choices.file}: {shorten(name)!r} {why}, so it identifies rows instead of describing them. The "
                "network may memorize it, which makes validation look better than it is. Ignore the column.",
                *_ignoring(choices, name),
            )
    for name, column in found.columns.items():
        if name not in identifying and name not in texts:
            yield from _of_digits(choices, name, column, seen)


def _identifies(name: str, column: ColumnSurvey, count: int, seen: str, *, text: bool) -> str:
    """Why a column identifies rows, for a message; empty if it does not."""
    if text:
        unique = column.different > max(FEW, _UNIQUE_TEXTS * count)
        return f"has {column.different:,} distinct texts in {seen}" if unique else ""
    is_unnamed = _UNNAMED.fullmatch(name) is not None
    is_called_so = is_unnamed or any(pattern.search(name) for pattern in _IDENTIFIERS)
    if not column.is_whole or column.different != count or count < (2 if is_unnamed else FEW):
        return ""
    if _TIME.search(name) and not is_called_so:
        return ""
    if column.counts_up:
        return f"counts from {column.low:.0f} to {column.high:.0f} in {seen}"
    is_numbering = column.high - column.low == count - 1
    return f"has a different integer in each of {seen}" if is_numbering or is_called_so else ""


def _of_digits(choices: TableArguments, name: str, column: ColumnSurvey, seen: str) -> Iterator[Diagnostic]:
    if column.padded:
        yield Diagnostic(
            "leading-zeros",
            f"{choices.file}: {shorten(name)!r} has leading zeros in {column.padded:,} of {seen}, such as "
            f"{shorten(column.padded_example)}, which is read as {column.padded_value}. {_advice(choices, name)}",
            *_as_texts(choices, name, column),
        )
    if column.exact:
        one, other = column.merged_example
        yield Diagnostic(
            "merged-numbers",
            f"{choices.file}: {shorten(name)!r} has {column.exact:,} different integers in {seen}, but only "
            f"{column.rounded:,} as float32, which is exact up to {EXACT:,}: {shorten(one)} and "
            f"{shorten(other)} become equal. {_advice(choices, name)}",
            *_as_texts(choices, name, column),
        )


def _advice(choices: TableArguments, name: str) -> str:
    if name == choices.target:
        return "If these are labels, not quantities, set task to classes."
    return "If these are labels, not quantities, add the column to categorical, or ignore it."


def _as_texts(choices: TableArguments, name: str, column: ColumnSurvey) -> Remedy:
    """The remedy for integers that are labels: treat the column as categorical if it has few values."""
    if name == choices.target:
        return "", (), ""
    if column.different <= MOST_CHOICES:
        return (
            f"Treat {shorten(name)} as categories",
            (("categorical", format_names((*choices.categorical, name))),),
            name,
        )
    return _ignoring(choices, name)


def _ignoring(choices: TableArguments, name: str) -> Remedy:
    return f"Ignore {shorten(name)}", (("ignore", format_names((*choices.ignored, name))),), name


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
