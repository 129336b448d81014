"""Where values lie that nobody sees: in one block of memory, at places that they share one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

ALIGNMENT = 64
"""Bytes of a cache line, and of the widest vectors."""


class Life(NamedTuple):
    """A value that needs memory from one step to another."""

    number: int
    size: int
    """Bytes."""
    begin: int
    end: int
    """The last step that reads it."""


class Layout(NamedTuple):
    """Where each value lies, and how much memory that takes."""

    offsets: dict[int, int]
    size: int


def lay_out(lives: Iterable[Life]) -> Layout:
    """Places values, the largest first, each at the lowest offset that is free throughout its life.

    Greedy by size, as in Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020.
    """
    placed: list[tuple[int, int, Life]] = []
    for life in sorted(lives, key=lambda one: (-one.size, one.begin)):
        size = -(-max(life.size, 1) // ALIGNMENT) * ALIGNMENT
        taken = sorted((o, o + s) for o, s, other in placed if other.begin <= life.end and life.begin <= other.end)
        placed.append((_lowest(taken, size), size, life))
    offsets = {life.number: offset for offset, _, life in placed}
    return Layout(offsets, max((offset + size for offset, size, _ in placed), default=0))


def _lowest(taken: Sequence[tuple[int, int]], size: int) -> int:
    offset = 0
    for begin, end in taken:
        if offset + size <= begin:
            break
        offset = max(offset, end)
    return offset


__all__ = ["ALIGNMENT", "Layout", "Life", "lay_out"]
