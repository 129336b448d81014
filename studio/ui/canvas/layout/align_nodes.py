"""Align and distribute boxes: new top left corners by name.

`to_grid` returns the nearest coordinate on the grid, or the same one without snapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from studio.ui.canvas.geometry import Box, bounds

Edge = Literal["left", "center", "right", "top", "middle", "bottom"]
Axis = Literal["x", "y"]
Positions = dict[str, tuple[float, float]]


def aligned_positions(boxes: Mapping[str, Box], edge: Edge, to_grid: Callable[[float], float] = float) -> Positions:
    """Positions with a common `edge` on the grid. Boxes with a common center are each on the grid themselves."""
    frame = bounds(boxes.values())
    if frame is None:
        return {}
    x = {"left": to_grid(frame.left), "center": frame.center.x, "right": to_grid(frame.right)}.get(edge)
    y = {"top": to_grid(frame.top), "middle": frame.center.y, "bottom": to_grid(frame.bottom)}.get(edge)
    share = {"left": 0.0, "top": 0.0, "center": 0.5, "middle": 0.5, "right": 1.0, "bottom": 1.0}[edge]
    place = to_grid if share == 0.5 else float
    return {
        name: (
            box.left if x is None else place(x - box.width * share),
            box.top if y is None else place(y - box.height * share),
        )
        for name, box in boxes.items()
    }


def distributed_positions(boxes: Mapping[str, Box], axis: Axis, to_grid: Callable[[float], float] = float) -> Positions:
    """Positions with equal gaps along an axis. The outermost boxes stay; inner boxes snap to the grid."""
    if len(boxes) < 3:
        return {name: (box.left, box.top) for name, box in boxes.items()}
    horizontal = axis == "x"
    ordered = sorted(boxes.items(), key=lambda item: item[1].center.x if horizontal else item[1].center.y)
    sizes = [box.width if horizontal else box.height for _, box in ordered]
    first, last = ordered[0][1], ordered[-1][1]
    room = (last.right - first.left if horizontal else last.bottom - first.top) - sum(sizes)
    gap = room / (len(ordered) - 1)
    positions: Positions = {}
    position = first.left if horizontal else first.top
    for (name, box), size in zip(ordered, sizes, strict=True):
        inner = name not in (ordered[0][0], ordered[-1][0])
        at = to_grid(position) if inner else (box.left if horizontal else box.top)
        positions[name] = (at, box.top) if horizontal else (box.left, at)
        position += size + gap
    return positions
