"""Memory planning: places buffers in one block, so that buffers with disjoint lifetimes share memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

ALIGNMENT = 64
"""Bytes of a cache line, and of the widest vectors."""


Key = TypeVar("Key")


class Lifetime(NamedTuple, Generic[Key]):
    """A buffer that is needed from one step to another."""

    key: Key
    size: int
    """Size in bytes."""
    begin: int
    end: int
    """The last step that reads it."""


class BufferLayout(NamedTuple, Generic[Key]):
    """Offset of each buffer, and the total size."""

    offsets: dict[Key, int]
    size: int


def allocate_buffers(lifetimes: Sequence[Lifetime[Key]]) -> BufferLayout[Key]:
    """Places buffers, the largest first, each at the lowest offset that is free during its lifetime.

    Greedy by size, as in Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020.
    """
    order = sorted(range(len(lifetimes)), key=lambda index: (-lifetimes[index].size, lifetimes[index].begin))
    begins, ends, lows, highs = np.zeros((4, len(lifetimes)), np.int64)
    for count, index in enumerate(order):
        life = lifetimes[index]
        size = -(-max(life.size, 1) // ALIGNMENT) * ALIGNMENT
        overlapping = np.flatnonzero((begins[:count] <= life.end) & (life.begin <= ends[:count]))
        low = _lowest(sorted(zip(lows[overlapping].tolist(), highs[overlapping].tolist(), strict=True)), size)
        begins[count], ends[count], lows[count], highs[count] = life.begin, life.end, low, low + size
    starts = dict(zip(order, lows.tolist(), strict=True))
    offsets = {life.key: starts[index] for index, life in enumerate(lifetimes)}
    return BufferLayout(offsets, int(highs.max(initial=0)))


def _lowest(used: Sequence[tuple[int, int]], size: int) -> int:
    offset = 0
    for begin, end in used:
        if offset + size <= begin:
            break
        offset = max(offset, end)
    return offset


__all__ = ["ALIGNMENT", "BufferLayout", "Lifetime", "allocate_buffers"]
