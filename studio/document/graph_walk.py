"""Walks over anything that is linked, loops included."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def walk(starts: Iterable[T], onward: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yields the starts and all that can be reached from them, nearest first and each once. Ends on loops, too."""
    seen = dict.fromkeys(starts)
    waiting = deque(seen)
    while waiting:
        here = waiting.popleft()
        yield here
        for there in onward(here):
            if there not in seen:
                seen[there] = None
                waiting.append(there)
