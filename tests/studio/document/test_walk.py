from __future__ import annotations

from studio.document.graph_walk import walk

LINKS = {"a": "bc", "b": "d", "c": "da", "d": "b"}


def test_each_is_reached_once_and_the_nearest_first() -> None:
    assert list(walk("a", lambda here: LINKS[here])) == ["a", "b", "c", "d"]
    assert list(walk("dd", lambda here: LINKS[here])) == ["d", "b"]
    assert list(walk("", lambda here: LINKS[here])) == []
