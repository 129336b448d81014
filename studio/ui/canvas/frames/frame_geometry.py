"""Where the parts of a frame are. Does not use Qt."""

from __future__ import annotations

from collections.abc import Callable

from studio.document.model import MIN_FRAME_SIZE, Frame
from studio.ui.canvas.geometry import Box, snap
from studio.ui.canvas.level_of_detail import readable

TITLE = 28.0
"""Height of the title bar."""
TITLE_PX = 13
PADDING = 16.0
"""Distance of the edges from the nodes of a new frame."""
FAR_TITLE = 20.0
"""Height of a title above the frame in screen pixels, where text in the title bar could not be read."""
MIN_FAR_TITLE = 48.0
"""Minimum width of such a title in screen pixels."""
_REACH = 5.0
"""Distance from an edge in screen pixels at which it can be dragged."""

Edges = tuple[int, int]
"""The dragged edges: -1 for left or top, 1 for right or bottom, 0 for none."""


def box_of(frame: Frame) -> Box:
    return Box(frame.at[0], frame.at[1], frame.at[0] + frame.size[0], frame.at[1] + frame.size[1])


def is_title_inside(scale: float) -> bool:
    """Whether the title is in the title bar. Far away it is above the frame, at a constant size on the screen."""
    return readable(TITLE_PX, scale)


def title_box(frame: Frame, scale: float) -> Box | None:
    """The area of the title; None for a comment."""
    if not frame.title:
        return None
    box = box_of(frame)
    if is_title_inside(scale):
        return Box(box.left, box.top, box.right, box.top + TITLE)
    right = max(box.right, box.left + MIN_FAR_TITLE / scale)
    return Box(box.left, box.top - FAR_TITLE / scale, right, box.top)


def edges_at(frame: Frame, x: float, y: float, scale: float) -> Edges | None:
    """The edges near a position; None if there is none."""
    box, reach = box_of(frame), _REACH / scale
    if not (box.left - reach <= x <= box.right + reach and box.top - reach <= y <= box.bottom + reach):
        return None
    edges = (_side(x, box.left, box.right, reach), _side(y, box.top, box.bottom, reach))
    return edges if edges != (0, 0) else None


def is_handle(frame: Frame, x: float, y: float, scale: float) -> bool:
    """Whether a drag from a position moves the frame: from its title, or from anywhere in a comment."""
    box = title_box(frame, scale) or box_of(frame)
    return box.left <= x <= box.right and box.top <= y <= box.bottom


def resized(
    frame: Frame, edges: Edges, dx: float, dy: float, to_grid: Callable[[float], float] = snap
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Position and size of a frame whose edges are dragged by an offset, on the grid."""
    box = box_of(frame)
    left, right = _dragged(box.left, box.right, edges[0], dx, to_grid)
    top, bottom = _dragged(box.top, box.bottom, edges[1], dy, to_grid)
    return (left, top), (right - left, bottom - top)


def around(box: Box) -> Box:
    """The box of a frame around nodes, on the grid."""
    return Box(
        snap(box.left - PADDING), snap(box.top - PADDING - TITLE), snap(box.right + PADDING), snap(box.bottom + PADDING)
    )


def _side(value: float, low: float, high: float, reach: float) -> int:
    if value <= low + reach:
        return -1
    return 1 if value >= high - reach else 0


def _dragged(low: float, high: float, edge: int, by: float, to_grid: Callable[[float], float]) -> tuple[float, float]:
    if edge < 0:
        return min(to_grid(low + by), high - MIN_FRAME_SIZE), high
    return low, (max(to_grid(high + by), low + MIN_FRAME_SIZE) if edge else high)
