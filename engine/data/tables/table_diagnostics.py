"""Diagnostics of tables: skipped rows, identifier columns, lost digits, and unknown categories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.data.diagnostics import Diagnostic, count_rows, format_counts, shorten
from engine.data.tables.column_survey import FLOAT32_EXACT, ColumnSurvey, TableSurvey
from engine.data.tables.csv_columns import format_names, looks_like_values
from engine.data.tables.row_filter import NULL, MissingValueCounts

MAX_CHANCE_ROWS = 20
"""Number of rows up to which all values may be distinct by chance."""
MAX_CATEGORIES = 1000
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
    targets: tuple[str, ...]
    classes: bool
    """Whether the target is a class."""
    ignored: tuple[str, ...]
    categorical: tuple[str, ...]
    missing_texts: tuple[str, ...] | None
    """Texts that mark a missing value; None if the format has null values."""


# -- rows --------------------------------------------------------------------------------------


def missing_value_diagnostics(table: TableArguments, missing: MissingValueCounts) -> Iterator[Diagnostic]:
    """Diagnostics of skipped rows and of missing categories."""
    if missing.dropped:
        ordered = sorted(missing.dropped_by_column.items(), key=lambda item: -sum(item[1].values()))
        lacking = "; ".join(f"no value in {shorten(name)!r} ({format_counts(counts)})" for name, counts in ordered[:3])
        more = f"; and {len(ordered) - 3} more columns" if len(ordered) > 3 else ""
        message = (
            f"{table.file}: {missing.dropped:,} of {count_rows(missing.rows)} {_are(missing.dropped)} skipped: "
            f"{lacking}{more}."
        )
        yield _with_remedy(table, "rows-left-out", message, ordered[0][0], dict(missing.dropped_by_column))
    for name, counts in missing.kept_by_column.items():
        texts = {text: count for text, count in counts.items() if text not in ("", NULL)}
        if texts:
            total = sum(counts.values())
            message = (
                f"{table.file}: {total:,} of {count_rows(missing.rows)} {_have(total)} no category in "
                f"{shorten(name)!r} ({format_counts(counts)}), so the network gets a vector of zeros."
            )
            yield _with_remedy(table, "missing-category", message, name, {name: counts})


def sampled_missing_value_diagnostics(
    table: TableArguments, found: TableSurvey, needed: Sequence[str]
) -> Iterator[Diagnostic]:
    """Diagnostics of skipped rows among the first rows of a partly read table."""
    lacking = {name: found.rows - found.columns[name].values for name in needed if name in found.columns}
    name = max(lacking, key=lacking.__getitem__, default="")
    if name and lacking[name]:
        message = (
            f"{table.file}: at least {lacking[name]:,} of the first {count_rows(found.rows)} are skipped: no value "
            f"in {shorten(name)!r}. All rows are counted when a run starts."
        )
        yield _with_remedy(table, "rows-left-out", message, name, {name: {}})


def _with_remedy(
    table: TableArguments, code: str, message: str, worst: str, by_column: Mapping[str, Mapping[str, int]]
) -> Diagnostic:
    """Add the remedy: keep texts that may be values, or ignore the column with the most missing values."""
    missing_texts = table.missing_texts or ()
    texts = [
        text for name, counts in by_column.items() for text in counts if text in missing_texts and _is_text(table, name)
    ]
    if texts:
        shown = ", ".join(shorten(text) for text in dict.fromkeys(texts))
        changes = (("missing_texts", format_names(text for text in missing_texts if text not in texts)),)
        message = f"{message} If {shown} is a value, remove it from missing_texts."
        return Diagnostic(code, message, f"Keep {shown}", changes)
    if worst not in table.targets and code == "rows-left-out":
        message = f"{message} Ignore the columns with the most missing values, or set missing to keep."
        return Diagnostic(code, message, *_ignoring(table, worst))
    return Diagnostic(code, f"{message} Fill in the values to train on these rows.")


def _is_text(table: TableArguments, name: str) -> bool:
    return name in table.categorical or (table.classes and name in table.targets)


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
    table: TableArguments, names: Sequence[str], arguments: Mapping[str, str | list[str]]
) -> Iterator[Diagnostic]:
    """A diagnostic of column names that look like a row of values.

    Args:
        names: all column names in the file
        arguments: arguments of the data source with column names
    """
    if not looks_like_values(names):
        return
    numbered = {name: f"column {number}" for number, name in enumerate(names, 1)}
    renamed = [
        (key, numbered[value] if isinstance(value, str) else format_names(numbered[name] for name in value))
        for key, value in arguments.items()
        if value
    ]
    first = ", ".join(repr(shorten(name)) for name in names[:3])
    yield Diagnostic(
        "header-values",
        f"{table.file}: the first line, {first}{', …' if len(names) > 3 else ''}, looks like data, but is read as "
        "the column names. Turn header off if it is a row.",
        "Read the first line as a row",
        (("header", False), *renamed),
    )


def column_diagnostics(
    table: TableArguments, found: TableSurvey, features: Sequence[str], texts: Sequence[str]
) -> Iterator[Diagnostic]:
    """Diagnostics of identifier columns and of integers that lose digits."""
    scope = count_rows(found.rows) if found.is_complete else f"the first {count_rows(found.rows)}"
    surveyed = {name: found.columns[name] for name in features if name in found.columns}
    reasons = {
        name: reason
        for name, column in surveyed.items()
        if (reason := _identifier_reason(name, column, found.rows, scope, text=name in texts))
    }
    if len(reasons) < len(features):
        for name, reason in reasons.items():
            yield Diagnostic(
                "identifier",
                f"{table.file}: {shorten(name)!r} {reason}, so it identifies rows instead of describing them. The "
                "network may memorize it, which makes validation look better than it is. Ignore the column.",
                *_ignoring(table, name),
            )
    for name, column in found.columns.items():
        if name not in reasons and name not in texts:
            yield from _digit_diagnostics(table, name, column, scope)


def _identifier_reason(name: str, column: ColumnSurvey, count: int, scope: str, *, text: bool) -> str:
    """Why a column identifies rows, for a message; empty if it does not."""
    if text:
        unique = column.distinct > max(MAX_CHANCE_ROWS, _UNIQUE_TEXTS * count)
        return f"has {column.distinct:,} distinct texts in {scope}" if unique else ""
    has_identifier_name = is_identifier_name(name)
    if not column.is_integer or column.distinct != count or count < (2 if is_unnamed(name) else MAX_CHANCE_ROWS):
        return ""
    if _TIME.search(name) and not has_identifier_name:
        return ""
    if column.counts_up:
        return f"counts from {column.low:.0f} to {column.high:.0f} in {scope}"
    is_numbering = column.high - column.low == count - 1
    return f"has a different integer in each of {scope}" if is_numbering or has_identifier_name else ""


def is_unnamed(name: str) -> bool:
    """Whether a column has no name, or one that a program gave it."""
    return _UNNAMED.fullmatch(name) is not None


def is_identifier_name(name: str) -> bool:
    """Whether a name says that the column identifies rows."""
    return is_unnamed(name) or any(pattern.search(name) for pattern in _IDENTIFIERS)


def _digit_diagnostics(table: TableArguments, name: str, column: ColumnSurvey, scope: str) -> Iterator[Diagnostic]:
    if column.padded:
        yield Diagnostic(
            "leading-zeros",
            f"{table.file}: {shorten(name)!r} has leading zeros in {column.padded:,} of {scope}, such as "
            f"{shorten(column.padded_example)}, which is read as {column.padded_value}. {_advice(table, name)}",
            *_as_texts(table, name, column),
        )
    if column.exact:
        first, second = column.merged_example
        yield Diagnostic(
            "merged-numbers",
            f"{table.file}: {shorten(name)!r} has {column.exact:,} different integers in {scope}, but only "
            f"{column.rounded:,} as float32, which is exact up to {FLOAT32_EXACT:,}: {shorten(first)} and "
            f"{shorten(second)} become equal. {_advice(table, name)}",
            *_as_texts(table, name, column),
        )


def _advice(table: TableArguments, name: str) -> str:
    if name in table.targets:
        return "If these are labels, not quantities, set task to classes."
    return "If these are labels, not quantities, add the column to categorical, or ignore it."


def _as_texts(table: TableArguments, name: str, column: ColumnSurvey) -> Remedy:
    """The remedy for integers that are labels: treat the column as categorical if it has few values."""
    if name in table.targets:
        return "", (), ""
    if column.distinct <= MAX_CATEGORIES:
        return (
            f"Treat {shorten(name)} as categories",
            (("categorical", format_names((*table.categorical, name))),),
            name,
        )
    return _ignoring(table, name)


def _ignoring(table: TableArguments, name: str) -> Remedy:
    return f"Ignore {shorten(name)}", (("ignore", format_names((*table.ignored, name))),), name


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
