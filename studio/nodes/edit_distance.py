"""The number of typing errors between a word and a text.

difflib compares by ratio, not by errors, and swapped letters count twice; a compiled package such as rapidfuzz is not
needed, because only searches that find nothing count errors.
"""

from __future__ import annotations

from typing import NamedTuple


class TypingErrors(NamedTuple):
    """Numbers of inserted, removed, changed or swapped letters."""

    to_start: int
    """That make the word a start of the text."""
    to_end: int
    """That make it the whole text."""


def typing_errors(word: str, text: str, limit: int) -> TypingErrors | None:
    """How `word` differs from `text`; None if more than `limit` errors make it a start of `text`.

    The first letter has to be the same, or the first two swapped.
    """
    if word[:1] != text[:1] and word[:2] != text[1::-1]:
        return None
    if len(text) < len(word) - limit or len(set(word).difference(text)) > limit:
        return None
    before, row = [0] * (len(text) + 1), list(range(len(text) + 1))
    for i, letter in enumerate(word, 1):
        older, before = before, row
        row = [i]
        for j, other in enumerate(text, 1):
            cost = before[j - 1] if letter == other else 1 + min(before[j - 1], before[j], row[j - 1])
            if i > 1 and j > 1 and letter == text[j - 2] and word[i - 2] == other:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return TypingErrors(min(row), row[-1])
