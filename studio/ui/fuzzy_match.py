"""Fuzzy matching of typed letters against titles."""

from __future__ import annotations


def score(wanted: str, text: str) -> float | None:
    """Match score, higher is better; None if `text` does not contain the letters of `wanted` in order."""
    wanted, text = wanted.lower().replace(" ", ""), text.lower()
    if not wanted:
        return 0.0
    total, place = 0.0, -1
    for letter in wanted:
        found = text.find(letter, place + 1)
        if found < 0:
            return None
        starts_word = found == 0 or not text[found - 1].isalnum()
        total += 3.0 if starts_word else 2.0 if found == place + 1 else 0.5
        place = found
    return total - 0.01 * len(text)
