"""The first view of a graph: all of it if names can be read, else its beginning without cutting nodes off.

Does not use Qt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from studio.ui.canvas.geometry import Box, Point, bounds
from studio.ui.canvas.level_of_detail import FULL_SCALE, NAMES_SCALE, READABLE

MARGIN = 32.0
"""Distance of the graph from the edges of the view in screen pixels."""
_CUT = 1.5
"""A node that is cut off counts as much as this many missing nodes."""
_SCALES = (READABLE, 0.73, FULL_SCALE, 0.8, 0.85)
"""Scales for a part of the graph, best first."""
_OFFSETS = (MARGIN, 24.0, 40.0, 16.0, 48.0, 56.0, 64.0, 80.0)
"""Distances of the first node from the edges of the view, best first."""


class OpeningView(NamedTuple):
    scale: float
    center: Point


def opening_view(
    nodes: Iterable[Box], frames: Iterable[Box], width: float, height: float, top: float = 0.0
) -> OpeningView | None:
    """The view of these nodes and frames in a viewport of this size; None without any.

    Args:
        top: height of the part of the viewport that is covered by a bar
    """
    nodes = list(nodes)
    everything = bounds((*nodes, *frames))
    if everything is None:
        return None
    scale = min(
        max(width - 2 * MARGIN, 1.0) / max(everything.width, 1.0),
        max(height - top - 2 * MARGIN, 1.0) / max(everything.height, 1.0),
        1.0,
    )
    if scale >= NAMES_SCALE or not nodes:
        return OpeningView(scale, Point(everything.center.x, everything.center.y - top / 2 / scale))
    return _beginning(nodes, width, height, top)


def _beginning(nodes: Sequence[Box], width: float, height: float, top: float) -> OpeningView:
    """The view around the first node at a readable scale that shows the most nodes and cuts off few."""
    first = min(nodes, key=lambda box: (box.left, box.top))
    reach = max(width, height) / min(_SCALES)
    near = [box for box in nodes if abs(box.left - first.left) < reach and abs(box.top - first.top) < reach]
    above = first.top - min((box.top for box in near if _is_beside(box, first)), default=first.top)
    best: tuple[float, OpeningView] | None = None
    for scale, dx, dy in product(_SCALES, _OFFSETS, _OFFSETS):
        left, up = first.left - dx / scale, first.top - min(above, 0.5 * height / scale) - (top + dy) / scale
        visible = Box(left, up, left + width / scale, up + height / scale)
        score = _score(near, visible, top / scale)
        if _contains(visible, first.center) and (best is None or score > best[0]):
            best = score, OpeningView(scale, visible.center)
    return best[1] if best is not None else OpeningView(READABLE, first.center)


def _is_beside(box: Box, first: Box) -> bool:
    """Whether a node is in the column of the first node, or in the next."""
    return box.left <= first.right + 0.5 * first.width


def _contains(area: Box, point: Point) -> bool:
    return area.left < point.x < area.right and area.top < point.y < area.bottom


def _score(nodes: Iterable[Box], visible: Box, bar: float) -> float:
    whole = cut = 0
    free = Box(visible.left, visible.top + bar, visible.right, visible.bottom)
    for box in nodes:
        if free.left <= box.left and box.right <= free.right and free.top <= box.top and box.bottom <= free.bottom:
            whole += 1
        elif box.overlaps(visible):
            cut += 1
    return whole - _CUT * cut
