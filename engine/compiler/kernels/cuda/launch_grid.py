"""Grids of launches. They depend on sizes only, so that every GPU computes the same."""

from __future__ import annotations

from typing import NamedTuple

from engine.compiler.kernels.cuda.launch_planning import LaunchKind

WARP, BLOCK = 32, 256
MOST_WARPS = 16
"""Maximum number of warps per row; more would leave too few registers per thread."""
MOST_BLOCKS = 1 << 16
"""Maximum number of blocks of a launch; threads loop over the rest."""


def most_threads(kind: LaunchKind) -> int:
    """Maximum number of threads of a block."""
    return MOST_WARPS * WARP if kind == "rows" else BLOCK


class Grid(NamedTuple):
    """Blocks of a launch, and threads of a block."""

    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]


def grid_of(kind: LaunchKind, outer: int, inner: int, *, block: int, parts: int = 1, width: int = 1) -> Grid:
    """The grid of a launch over rows of elements.

    Args:
        block: elements that one warp sums
        parts: chunks of rows, for sums over rows
        width: elements that a thread reads at once
    """
    if kind == "elements":
        return _flat(-(-inner // width))
    if kind == "totals":
        return _flat(inner, 64)
    if kind == "blocks":
        return _flat(outer * -(-inner // block) * WARP)
    if kind == "columns":
        across = min(power_of_two(inner), WARP)
        down = BLOCK // across
        return Grid((-(-inner // across) * -(-parts // down), 1, 1), (across, down, 1))
    warps = min(power_of_two(-(-inner // block)), MOST_WARPS)
    rows = BLOCK // WARP if warps == 1 else 1
    return Grid((min(max(-(-outer // rows), 1), MOST_BLOCKS), 1, 1), (warps * WARP, rows, 1))


def _flat(threads: int, block: int = BLOCK) -> Grid:
    return Grid((min(max(-(-threads // block), 1), MOST_BLOCKS), 1, 1), (block, 1, 1))


def power_of_two(size: int) -> int:
    """The next power of two that is not smaller."""
    return 1 << max(size - 1, 0).bit_length()


__all__ = ["BLOCK", "MOST_BLOCKS", "WARP", "Grid", "grid_of", "most_threads", "power_of_two"]
