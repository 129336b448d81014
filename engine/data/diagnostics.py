"""What reading a source loses, or takes for something else: counted, and with the arguments that avoid it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A loss or a likely mistake in data that can be read."""

    code: str
    """Stable, for programs."""
    message: str
    """What was counted, with values, and what to do."""
    remedy: str = ""
    """What a button says that sets `changes`."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Arguments of the source that avoid it."""
    added: str = ""
    """The name that the only change adds to a list of names; empty if changes replace values."""


def format_counts(counts: Mapping[str, int], most: int = 4) -> str:
    """Values with their counts, the most frequent first: ``None: 7,200, NA: 1,739``."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = len(ordered) - most
    told = ", ".join(f"{shorten(value) or 'empty'}: {count:,}" for value, count in ordered[:most])
    return told + (f" and {rest:,} more values" if rest > 0 else "")


def shorten(value: str) -> str:
    """On one line."""
    value = " ".join(value.split())
    return value if len(value) <= 30 else f"{value[:29]}…"


def count_rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
