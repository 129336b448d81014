"""What reading a table loses or takes for something else, in words: rows, identifiers, digits, categories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.data.columns import joined, looks_like_values
from engine.data.diagnostics import Diagnostic, rows, short, shown
from engine.data.table_losses import NULL, Losses
from engine.data.table_survey import EXACT, Column, Survey

FEW = 20
"""Rows, of which all may differ by chance."""
MOST_CHOICES = 1000
"""Different texts that a column of categories may hold."""
_UNIQUE_TEXTS = 0.95
"""The share of different texts from which a column tells rows apart."""

_UNNAMED = re.compile(r"|column \d+|Unnamed: \d+|__index_level_\d+__")
"""Columns without a name: as here, as pandas reads them, and as it writes them to Parquet."""
_IDENTIFIERS = (
    re.compile(r"(^|[\s_.-])(id|ids|idx|index|key|no|nr|num|number|row|uid|uuid|guid)$", re.IGNORECASE),
    re.compile(r"[a-z](Id|ID)$"),
)
_TIME = re.compile(r"year|date|time|day|week|month|hour|minute|second|epoch|step", re.IGNORECASE)
"""Names of what may well count up."""

Remedy: TypeAlias = tuple[str, tuple[tuple[str, str], ...], str]
"""The fields `remedy`, `changes` and `added` of a diagnostic."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The arguments of a table that a remedy changes, and what it is called in messages."""

    file: str
    target: str
    classes: bool
    """Whether the target is a class."""
    ignored: tuple[str, ...]
    categorical: tuple[str, ...]
    missing_texts: tuple[str, ...] | None
    """None if no texts stand for missing values."""


# -- rows --------------------------------------------------------------------------------------


def of_losses(choices: Choices, losses: Losses) -> Iterator[Diagnostic]:
    """Rows that are left out, and categories that count as missing."""
    if losses.left_out:
        ordered = sorted(losses.without.items(), key=lambda item: -sum(item[1].values()))
        lacking = "; ".join(f"no value in {short(name)!r} ({shown(counts)})" for name, counts in ordered[:3])
        more = f"; and {len(ordered) - 3} more columns" if len(ordered) > 3 else ""
        message = (
            f"{choices.file}: {losses.left_out:,} of {rows(losses.rows)} {_are(losses.left_out)} left out: "
            f"{lacking}{more}."
        )
        yield _with_remedy(choices, "rows-left-out", message, ordered[0][0], dict(losses.without))
    for name, counts in losses.empty.items():
        texts = {text: count for text, count in counts.items() if text not in ("", NULL)}
        if texts:
            total = sum(counts.values())
            message = (
                f"{choices.file}: {total:,} of {rows(losses.rows)} {_have(total)} no category in {short(name)!r} "
                f"({shown(counts)}), which is a vector of zeros."
            )
            yield _with_remedy(choices, "missing-category", message, name, {name: counts})


def of_first_losses(choices: Choices, found: Survey, needed: Sequence[str]) -> Iterator[Diagnostic]:
    """Rows left out of the first rows of a table that was read in part."""
    lacking = {name: found.rows - found.columns[name].values for name in needed if name in found.columns}
    name = max(lacking, key=lacking.__getitem__, default="")
    if name and lacking[name]:
        message = (
            f"{choices.file}: of the first {rows(found.rows)} at least {lacking[name]:,} are left out: no value in "
            f"{short(name)!r}. All rows are counted when a run starts."
        )
        yield _with_remedy(choices, "rows-left-out", message, name, {name: {}})


def _with_remedy(
    choices: Choices, code: str, message: str, worst: str, without: Mapping[str, Mapping[str, int]]
) -> Diagnostic:
    """Texts that are values stay; else the column that lacks most is ignored, unless it is the target."""
    known = choices.missing_texts or ()
    texts = [text for name, counts in without.items() for text in counts if text in known and _is_text(choices, name)]
    if texts:
        kept = ", ".join(short(text) for text in dict.fromkeys(texts))
        changes = (("missing_texts", joined(text for text in known if text not in texts)),)
        message = f"{message} If {kept} is a value, take it out of missing_texts."
        return Diagnostic(code, message, f"Keep {kept}", changes)
    if worst != choices.target and code == "rows-left-out":
        message = f"{message} Ignore the columns that lack most, or set missing to keep."
        return Diagnostic(code, message, *_ignoring(choices, worst))
    return Diagnostic(code, f"{message} Fill them in if these rows are to be learned.")


def _is_text(choices: Choices, name: str) -> bool:
    return name in choices.categorical or (choices.classes and name == choices.target)


def of_unseen(file: str, unseen: Mapping[str, Mapping[str, int]], count: int) -> Iterator[Diagnostic]:
    """Categories that the training rows do not have."""
    for name, counts in unseen.items():
        total = sum(counts.values())
        yield Diagnostic(
            "unseen-category",
            f"{file}: {total:,} of {rows(count)} {_have(total)} a category in {short(name)!r} that no training row has "
            f"({shown(counts)}), which is a vector of zeros to the network. Correct it, or train with such rows.",
        )


# -- columns -----------------------------------------------------------------------------------


def of_header(choices: Choices, names: Sequence[str], arguments: Mapping[str, str | list[str]]) -> Iterator[Diagnostic]:
    """A first line that looks like a row.

    Args:
        names: of all columns, as the file gives them
        arguments: those that name columns
    """
    if not looks_like_values(names):
        return
    places = {name: f"column {place}" for place, name in enumerate(names, 1)}
    renamed = [
        (key, places[value] if isinstance(value, str) else joined(places[name] for name in value))
        for key, value in arguments.items()
        if value
    ]
    first = ", ".join(repr(short(name)) for name in names[:3])
    yield Diagnostic(
        "header-values",
        f"{choices.file}: the first line, {first}{', …' if len(names) > 3 else ''}, looks like a row, but is read as "
        "the names of the columns. Turn header off if it is a row.",
        "Read the first line as a row",
        (("header", False), *renamed),
    )


def of_survey(choices: Choices, found: Survey, features: Sequence[str], texts: Sequence[str]) -> Iterator[Diagnostic]:
    """Columns that identify rows, and whole numbers that lose digits."""
    seen = rows(found.rows) if found.is_whole else f"the first {rows(found.rows)}"
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
                f"{choices.file}: {short(name)!r} {why}, so it identifies a row and does not describe it: the network "
                "may learn it by heart, and validation looks better than it is. Ignore it.",
                *_ignoring(choices, name),
            )
    for name, column in found.columns.items():
        if name not in identifying and name not in texts:
            yield from _of_digits(choices, name, column, seen)


def _identifies(name: str, column: Column, count: int, seen: str, *, text: bool) -> str:
    """What says that a column identifies rows; empty if nothing does."""
    if text:
        unique = column.different > max(FEW, _UNIQUE_TEXTS * count)
        return f"has {column.different:,} different texts in {seen}" if unique else ""
    is_unnamed = _UNNAMED.fullmatch(name) is not None
    is_called_so = is_unnamed or any(pattern.search(name) for pattern in _IDENTIFIERS)
    if not column.is_whole or column.different != count or count < (2 if is_unnamed else FEW):
        return ""
    if _TIME.search(name) and not is_called_so:
        return ""
    if column.counts_up:
        return f"counts from {column.low:.0f} to {column.high:.0f} in {seen}"
    is_numbering = column.high - column.low == count - 1
    return f"has a different whole number in each of {seen}" if is_numbering or is_called_so else ""


def _of_digits(choices: Choices, name: str, column: Column, seen: str) -> Iterator[Diagnostic]:
    if column.padded:
        yield Diagnostic(
            "leading-zeros",
            f"{choices.file}: {short(name)!r} has leading zeros in {column.padded:,} of {seen}, such as "
            f"{short(column.padded_example)}, which is read as {column.padded_value}. {_advice(choices, name)}",
            *_as_texts(choices, name, column),
        )
    if column.exact:
        one, other = column.merged_example
        yield Diagnostic(
            "merged-numbers",
            f"{choices.file}: {short(name)!r} has {column.exact:,} different whole numbers in {seen}, of which "
            f"{column.rounded:,} are left as float32, which is exact up to {EXACT:,}: {short(one)} and {short(other)} "
            f"become equal. {_advice(choices, name)}",
            *_as_texts(choices, name, column),
        )


def _advice(choices: Choices, name: str) -> str:
    if name == choices.target:
        return "Set task to classes if these are names, not numbers."
    return "If these are names, not numbers, name the column in categorical, or ignore it."


def _as_texts(choices: Choices, name: str, column: Column) -> Remedy:
    """A column of names is one to choose from if they are few."""
    if name == choices.target:
        return "", (), ""
    if column.different <= MOST_CHOICES:
        return f"Read {short(name)} as texts", (("categorical", joined((*choices.categorical, name))),), name
    return _ignoring(choices, name)


def _ignoring(choices: Choices, name: str) -> Remedy:
    return f"Ignore {short(name)}", (("ignore", joined((*choices.ignored, name))),), name


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
