"""Matching of typed words against titles and synonyms."""

from __future__ import annotations

import functools
import re

SCATTERED = 4.0
"""Highest score of letters with gaps; that of words is higher."""
_SAME_TITLE = 20.0
"""Added if all of the title was typed."""
_WORD, _BEGINNING, _SYNONYM, _SYNONYM_BEGINNING, _INSIDE = 10.0, 8.0, 9.0, 6.0, 5.0
"""Scores of a typed word: a word of the title, its beginning, the same of synonyms, letters inside a title."""
_FIRST, _FIRST_BEGINNING = 2.0, 0.5
"""Added for the first word of the title, and its beginning."""


def score(pattern: str, title: str, synonyms: str = "") -> float | None:
    """Match score, higher is better; None if there is no match.

    Each typed word matches a word of the title or of the synonyms, at least its beginning, in any order. Otherwise the
    letters of the pattern must be in the title in this order.
    """
    typed = _words(pattern)
    if not typed:
        return None if pattern.strip() else 0.0
    words = _words(title)
    if typed == words:
        return _WORD + _FIRST + _SAME_TITLE - 0.01 * len(title)
    scores = [_word_score(word, words, _words(synonyms), title.lower()) for word in typed]
    points = sum(scores) / len(scores) if all(scores) else _in_order("".join(typed), title.lower())
    return points - 0.01 * len(title) if points else None


def partial_score(pattern: str, title: str, synonyms: str = "") -> float | None:
    """Like `score`, if some of several typed words match."""
    words, others = _words(title), _words(synonyms)
    scores = [_word_score(word, words, others, "") for word in _words(pattern)]
    return sum(scores) / len(scores) - 0.01 * len(title) if any(scores) else None


@functools.lru_cache(maxsize=16384)
def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", text.lower()))


def _word_score(word: str, words: tuple[str, ...], synonyms: tuple[str, ...], title: str) -> float:
    """The score of a typed word; 0 if it does not match."""
    is_first = bool(words) and words[0].startswith(word)
    if word in words:
        return _WORD + (_FIRST if words[0] == word else 0.0)
    if word in synonyms:
        return _SYNONYM
    if any(each.startswith(word) for each in words):
        return _BEGINNING + (_FIRST_BEGINNING if is_first else 0.0)
    if len(word) > 1 and any(each.startswith(word) for each in synonyms):
        return _SYNONYM_BEGINNING
    return _INSIDE if len(word) > 1 and word in title else 0.0


def _in_order(letters: str, title: str) -> float:
    """The score of letters that are in the title in this order, the first at the start of a word; 0 if they are not."""
    total, last = 0.0, -1
    for letter in letters:
        index = title.find(letter, last + 1)
        if index < 0:
            return 0.0
        starts_word = index == 0 or not title[index - 1].isalnum()
        total += 3.0 if starts_word else 2.0 if index == last + 1 else 0.5
        last = index
    return SCATTERED * total / (3.0 * len(letters))
