"""Ranks node types by a search text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from studio.nodes.types import NodeType

EXACT, PREFIX, WORD, INSIDE, SCATTERED = 100.0, 80.0, 60.0, 40.0, 15.0
KEY, TAG, GROUP, SUMMARY = 0.95, 0.8, 0.5, 0.3
"""Weights of matches outside the title."""


def rank_node_types(types: Iterable[NodeType], text: str) -> list[NodeType]:
    """The types that match every word of `text`, best first; ties keep their order. All types for an empty text."""
    words = text.lower().split()
    scored = [(_score(node_type, words), node_type) for node_type in types]
    matching = [(score, node_type) for score, node_type in scored if score > 0]
    return (
        [node_type for _, node_type in sorted(matching, key=lambda pair: -pair[0])] if words else [t for _, t in scored]
    )


def _score(node_type: NodeType, words: list[str]) -> float:
    if not words:
        return 1.0
    scores = [_word_score(node_type, word) for word in words]
    title_score = _match("".join(words), _compact(node_type.title)) if len(words) > 1 else 0.0
    return max(min(scores), title_score)


def _word_score(node_type: NodeType, word: str) -> float:
    """The score of the best match of a word. Scattered letters only count in titles, because others match too often."""
    fields = [
        (1.0, node_type.title),
        (KEY, node_type.key.rpartition(".")[2]),
        (KEY if "." in word else 0.0, node_type.key),
        *((TAG, tag) for tag in node_type.tags),
        (GROUP, node_type.group),
        (GROUP, node_type.category),
    ]
    score = max(weight * _match(word, text) for weight, text in fields)
    if not score:
        score = _scattered(word, node_type.title)
    return score or SUMMARY * _match(word, node_type.summary)


def _match(word: str, text: str) -> float:
    lowered = text.lower()
    if lowered == word:
        return EXACT
    length_penalty = min(len(lowered), 40) / 40
    if lowered.startswith(word):
        return PREFIX - length_penalty
    starts = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+\w*", text)]
    if any(start.startswith(word) for start in starts) or "".join(start[0] for start in starts).startswith(word):
        return WORD - length_penalty
    return INSIDE - length_penalty if word in lowered else 0.0


def _scattered(word: str, title: str) -> float:
    """Score of letters in order with gaps ("bnrm" in "BatchNorm"), higher for fewer gaps."""
    lowered, index, gaps = _compact(title), -1, 0
    if lowered[:1] != word[:1]:
        return 0.0
    for letter in word:
        found = lowered.find(letter, index + 1)
        if found < 0:
            return 0.0
        gaps += found - index - 1
        index = found
    return SCATTERED - min(gaps, 10)


def _compact(text: str) -> str:
    return "".join(text.lower().split())
