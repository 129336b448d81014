"""Build Markdown for generated pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty without rows. Cells are Markdown on one line each."""
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings), *lines])


def fence(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```"


def code(text: str) -> str:
    """Inline code; an empty text stays empty."""
    return f"`{text}`" if text else ""


def escaped(text: str) -> str:
    """Escape Markdown and HTML characters."""
    for character in "\\*_[]<>#":
        text = text.replace(character, f"\\{character}" if character not in "<>" else f"&{'lg'[character == '>']}t;")
    return text


def joined(parts: Iterable[str]) -> str:
    """Join the non-empty parts of a page with blank lines."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _cell(text: str) -> str:
    parts = text.replace("\n", " ").split("`")
    return "`".join(part if place % 2 else part.replace("|", "\\|") for place, part in enumerate(parts))
