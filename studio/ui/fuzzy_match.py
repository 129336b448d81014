"""Fuzzy matching of typed letters against titles."""

from __future__ import annotations


def score(pattern: str, text: str) -> float | None:
    """Match score, higher is better; None if `text` does not contain the letters of `pattern` in order."""
    pattern, text = pattern.lower().replace(" ", ""), text.lower()
    if not pattern:
        return 0.0
    total, last = 0.0, -1
    for letter in pattern:
        index = text.find(letter, last + 1)
        if index < 0:
            return None
        starts_word = index == 0 or not text[index - 1].isalnum()
        total += 3.0 if starts_word else 2.0 if index == last + 1 else 0.5
        last = index
    return total - 0.01 * len(text)
