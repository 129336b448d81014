"""Ranks node types by a search text: words of their names, and values of parameters such as `conv 64 k3`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from studio.nodes import initialization
from studio.nodes.edit_distance import typing_errors
from studio.nodes.parameter_words import ParameterWords, looks_like_a_value, needs_number
from studio.nodes.types import NodeType

EXACT, PREFIX, WHOLE_WORD, WORD, INSIDE, SCATTERED = 100.0, 80.0, 75.0, 60.0, 40.0, 15.0
KEY, TAG, GROUP, SUMMARY = 0.8, 0.7, 0.5, 0.3
"""Weights of matches outside the title."""
TYPO = 6.0
"""Deduction for each typing error, from `SCATTERED` + `TYPO`."""
NOT_UNDERSTOOD = 8.0
"""Deduction for each word that is neither in the name nor a parameter."""
FAR_WORSE = 60.0
"""Matches with parameters are not shown below better ones by this."""


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """A node type that matches a search text, with the parameters that the text sets."""

    kind: NodeType
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    not_understood: tuple[str, ...] = ()
    """Words that are neither in the name nor a parameter of this type."""
    score: float = 0.0


def rank_node_types(types: Iterable[NodeType], text: str) -> list[NodeType]:
    """The types that match every word of `text`, best first; ties keep their order. All types for an empty text."""
    matches = search_node_types(types, text)
    return [match.kind for match in matches if not match.params and not match.not_understood]


def search_node_types(
    types: Iterable[NodeType], text: str, bonus: Callable[[NodeType], float] | None = None, limit: int | None = None
) -> list[SearchMatch]:
    """The types whose names match the first words of `text`, best first. Further words set parameters.

    Typing errors are tolerated if at most scattered letters match otherwise.

    Args:
        bonus: added to the score of a type, which is at most 100
        limit: the number of matches to return; None for all
    """
    words = text.lower().split()
    kinds = list(types)
    if not words:
        return [SearchMatch(kind) for kind in kinds]
    found, best = list[SearchMatch](), 0.0
    for match_word in (_word_score, _tolerant_score):
        found = [match for kind in kinds if (match := _match_type(kind, words, match_word)) is not None]
        best = max((match.score for match in found), default=0.0)
        if best > SCATTERED:
            break
    found = [match for match in found if match.score > best - FAR_WORSE or not (match.params or match.not_understood)]
    scores = [match.score + (bonus(match.kind) if bonus else 0.0) for match in found]
    return [found[index] for index in sorted(range(len(found)), key=lambda index: -scores[index])[:limit]]


def _match_type(
    kind: NodeType, words: Sequence[str], match_word: Callable[[_Fields, str, bool], float]
) -> SearchMatch | None:
    """The match with the most words in the name, the others being parameters."""
    fields = _fields(kind.title, kind.key, kind.tags, kind.group, kind.category, kind.summary)
    first = match_word(fields, words[0], True)
    if not first and (len(words) == 1 or not _match("".join(words[:2]), fields.title)):
        return None
    scores = [first, *(match_word(fields, word, not looks_like_a_value(word)) for word in words[1:])]
    most = len(words)
    if most > 1 and words[-1].isdecimal() and needs_number(kind.params):
        most -= 1  # "max pool 2" sets the required size; "max pool 2d" is a name
    for count in range(most, 0, -1):
        joined = _match("".join(words[:count]), fields.compact) if count > 1 else 0.0
        score = max(min(scores[:count]), joined)
        if not score:
            continue
        if count == len(words):
            return SearchMatch(kind, score=score)
        named = [each for each in kind.params if each.name not in initialization.NAMES]
        parsed = ParameterWords(named).parse(words[count:])
        following = words[count]
        if following in parsed.not_understood and not looks_like_a_value(following):
            continue
        penalty = NOT_UNDERSTOOD * len(parsed.not_understood) + 0.5
        return SearchMatch(kind, parsed.values, parsed.not_understood, max(score - penalty, 0.1))
    return None


@dataclass(frozen=True, slots=True)
class _Text:
    """A text to match with, prepared."""

    lowered: str
    penalty: float
    starts: tuple[str, ...]
    initials: str


@dataclass(frozen=True, slots=True)
class _Fields:
    """The texts by which a node type is found."""

    weighted: tuple[tuple[float, _Text], ...]
    key: _Text
    title: _Text
    compact: _Text
    summary: _Text
    correctable: tuple[tuple[float, str], ...]
    """Texts that are compared by edit distance."""


@functools.lru_cache(maxsize=4096)
def _fields(title: str, key: str, tags: tuple[str, ...], group: str, category: str, summary: str) -> _Fields:
    name = key.rpartition(".")[2]
    named = [(1.0, title), (KEY, name), *((TAG, tag) for tag in tags)]
    weighted = [*named, (GROUP, group), (GROUP, category)]
    words = [(weight, word) for weight, text in named for word in {_compact(text), *text.lower().split()}]
    return _Fields(
        tuple((weight, _prepared(text)) for weight, text in weighted),
        _prepared(key),
        _prepared(title),
        _prepared(_compact(title)),
        _prepared(summary),
        tuple((weight, word) for weight, word in words if len(word) >= 4),
    )


def _prepared(text: str) -> _Text:
    lowered = text.lower()
    starts = tuple(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+\w*", text))
    return _Text(lowered, min(len(lowered), 40) / 40, starts, "".join(start[0] for start in starts))


def _word_score(fields: _Fields, word: str, also_loosely: bool) -> float:
    """The score of the best match of a word. Scattered letters only count in titles, because others match too often.

    Args:
        also_loosely: also match scattered letters and the summary
    """
    score = max(weight * _match(word, text) for weight, text in fields.weighted)
    if "." in word:
        score = max(score, KEY * _match(word, fields.key))
    if not score and also_loosely:
        score = _scattered(word, fields.compact.lowered) or SUMMARY * _match(word, fields.summary)
    return score


def _tolerant_score(fields: _Fields, word: str, also_loosely: bool) -> float:
    """Like `_word_score`, with a typing error in four letters or more, and two in eight or more."""
    score = _word_score(fields, word, also_loosely)
    allowed = len(word) // 4 if len(word) < 12 else 2
    if score > SCATTERED or not allowed or not also_loosely:
        return score
    for weight, text in fields.correctable:
        found = typing_errors(word, text, allowed)
        if found is not None:
            score = max(score, weight * (SCATTERED + TYPO - TYPO * found.to_start - 0.1 * found.to_end))
    return score


def _match(word: str, text: _Text) -> float:
    if text.lowered == word:
        return EXACT
    if text.lowered.startswith(word):
        return PREFIX - text.penalty
    if word not in text.lowered and not text.initials.startswith(word):
        return 0.0
    if word in text.starts:
        return WHOLE_WORD - text.penalty
    if any(start.startswith(word) for start in text.starts) or text.initials.startswith(word):
        return WORD - text.penalty
    return INSIDE - text.penalty


def _scattered(word: str, title: str) -> float:
    """Score of letters in order with gaps ("bnrm" in "BatchNorm"), higher for fewer gaps."""
    index, gaps = -1, 0
    if title[:1] != word[:1]:
        return 0.0
    for letter in word:
        found = title.find(letter, index + 1)
        if found < 0:
            return 0.0
        gaps += found - index - 1
        index = found
    return SCATTERED - min(gaps, 10)


def _compact(text: str) -> str:
    return "".join(text.lower().split())
