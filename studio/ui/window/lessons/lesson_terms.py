"""What the terms of a lesson mean, for the window that a click on a term opens."""

from __future__ import annotations

from studio.lessons.glossary import meanings, page_of
from studio.lessons.lesson import Lesson


def explanation_of(term: str, lesson: Lesson) -> str:
    """Markdown that explains a term, and names the page of the documentation."""
    meaning = meanings(lesson).get(term, "")
    if not meaning:
        return "This term has no entry."
    text = f"{meaning[:1].upper()}{meaning[1:].removesuffix('.')}."
    return f"{text}\n\nMore: `{page_of(term)}` in the documentation." if page_of(term) else text


__all__ = ["explanation_of"]
