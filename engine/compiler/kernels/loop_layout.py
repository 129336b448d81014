"""The loops of a kernel: dimensions that all arrays traverse with equal steps are merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Strides: TypeAlias = tuple[int, ...]
"""Strides in elements for each dimension of an array."""
AxisStrides: TypeAlias = dict[int, int]
"""Strides in elements for each axis of the iteration space that an array has."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over one or several axes."""

    axes: tuple[int, ...]
    inner: bool
    """Whether it belongs to a row; other loops run over rows."""


@dataclass(frozen=True, slots=True)
class LoopLayout:
    """Loops from outermost to innermost, and the steps of each array."""

    loops: tuple[Loop, ...]
    steps: tuple[tuple[int | None, ...], ...]
    """For each access and loop 0 or 1, or None for a step that is an argument of the kernel."""


def arrange_loops(
    space: Sequence[int],
    inner: Sequence[int],
    outer: Sequence[int],
    accesses: Sequence[AxisStrides],
    unmerged: frozenset[int] = frozenset(),
) -> tuple[LoopLayout, list[int]]:
    """The loops, and the kernel's layout arguments: sizes of loops, then variable steps.

    Axes in `unmerged` are not merged with others.
    """
    loops: list[Loop] = []
    for axes, is_inner in ((outer, False), (inner, True)):
        groups = _merged(space, [axis for axis in axes if space[axis] != 1], accesses, unmerged)
        loops += [Loop(group, is_inner) for group in groups]
    if not loops or not loops[-1].inner:
        loops.append(Loop((), True))
    last = len(loops) - 1
    steps: list[tuple[int | None, ...]] = []
    index_steps: list[int] = []
    for access in accesses:
        row: list[int | None] = []
        for index, loop in enumerate(loops):
            step = access.get(loop.axes[-1], 0) if loop.axes else 0
            fixed = step == 0 or (step == 1 and index == last)
            row.append(step if fixed else None)
            if not fixed:
                index_steps.append(step)
        steps.append(tuple(row))
    sizes = [math.prod(space[axis] for axis in loop.axes) for loop in loops]
    return LoopLayout(tuple(loops), tuple(steps)), [*sizes, *index_steps]


def _merged(
    space: Sequence[int], axes: Sequence[int], accesses: Sequence[AxisStrides], unmerged: frozenset[int]
) -> list[tuple[int, ...]]:
    groups: list[tuple[int, ...]] = []
    for axis in axes:
        free = groups and axis not in unmerged and groups[-1][-1] not in unmerged
        if free and all(one.get(groups[-1][-1], 0) == one.get(axis, 0) * space[axis] for one in accesses):
            groups[-1] = (*groups[-1], axis)
        else:
            groups.append((axis,))
    return groups


def axis_strides(strides: Sequence[int], axes: Sequence[int | None]) -> AxisStrides:
    """Strides by axis of the iteration space, for an array with a stride and an axis for each dimension."""
    return {axis: step for axis, step in zip(axes, strides, strict=True) if axis is not None}


def contiguous_strides(shape: Sequence[int]) -> Strides:
    """The strides of a C-ordered array."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step)
        step *= size
    return tuple(reversed(found))


__all__ = ["AxisStrides", "Loop", "LoopLayout", "Strides", "arrange_loops", "axis_strides", "contiguous_strides"]
