"""Build Markdown for generated pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without its empty columns; empty without rows. Cells are Markdown on one line each."""
    filled = [(heading, cells) for heading, *cells in zip(headings, *rows, strict=True) if any(cells)]
    if not filled:
        return ""
    lines = zip(*([heading, "---", *map(_cell, cells)] for heading, cells in filled), strict=True)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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


def prose(text: str) -> str:
    """Escape a plain text, and join the lines of each paragraph."""
    return "\n\n".join(escaped(" ".join(paragraph.split())) for paragraph in text.split("\n\n"))


def joined(parts: Iterable[str]) -> str:
    """Join the non-empty parts of a page with blank lines."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _cell(text: str) -> str:
    parts = text.replace("\n", " ").split("`")
    return "`".join(part if index % 2 else part.replace("|", "\\|") for index, part in enumerate(parts))
