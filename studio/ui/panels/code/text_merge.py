"""Differences of source texts by lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher


def difference(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int]:
    """The lines that differ: the first, and the ends in both texts. At least one line in each."""
    count = min(len(old), len(new)) - 1
    first = next((index for index in range(count) if old[index] != new[index]), count)
    rest = count - first
    same = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    return first, len(old) - same, len(new) - same


def merged(base: str, edited: str, other: str) -> str | None:
    """`other` with the edit that makes `edited` of `base`; None if it also changed the edited lines of `base`."""
    lines, mine, theirs = base.split("\n"), edited.split("\n"), other.split("\n")
    first, end, mine_end = difference(lines, mine)
    begin, base_end, other_end = difference(lines, theirs)
    blocks = [
        (0, 0, begin),
        *(
            (begin + old, begin + new, size)
            for old, new, size in SequenceMatcher(
                None, lines[begin:base_end], theirs[begin:other_end], autojunk=False
            ).get_matching_blocks()
        ),
        (base_end, other_end, len(lines) - base_end),
    ]
    for old, new, size in blocks:
        if old <= first and end <= old + size:
            shift = new - old
            return "\n".join([*theirs[: first + shift], *mine[first:mine_end], *theirs[end + shift :]])
    return None


__all__ = ["difference", "merged"]
