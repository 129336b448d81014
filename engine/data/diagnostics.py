"""Diagnostics of data sources: skipped or misread values, with counts and remedies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A warning about readable data: skipped values or a likely mistake."""

    code: str
    """Stable identifier for programs."""
    message: str
    """Finding with counts and values, and the next step."""
    remedy: str = ""
    """Label of the button that applies `changes`."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Arguments of the data source that fix the problem."""
    added: str = ""
    """Name that the change adds to a list of names; empty if the change replaces a value."""


def format_counts(counts: Mapping[str, int], most: int = 4) -> str:
    """Values with their counts, the most frequent first: ``None: 7,200, NA: 1,739``."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = len(ordered) - most
    shown = ", ".join(f"{shorten(value) or 'empty'}: {count:,}" for value, count in ordered[:most])
    return shown + (f" and {rest:,} more values" if rest > 0 else "")


def shorten(value: str) -> str:
    """Shorten a text to one line of at most 30 characters."""
    value = " ".join(value.split())
    return value if len(value) <= 30 else f"{value[:29]}…"


def count_rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
