"""Routes of wires between distant rows of nodes: along a lane below one row, a free column, and a lane above the other.

Does not use Qt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.wires.wire_curve import Bezier, WireCurve

_CLEAR = 12.0
"""Distance of a lane or column from nodes."""
_LANE = 8.0
"""Distance between neighboring lanes."""
_LANES = 4
_COLUMN = 40.0
"""Width of a free column."""
_COLUMNS = 3
"""Number of free columns that are tried, the shortest routes first."""
_TURN = 40.0
_NODE, _ABOVE, _BELOW = 120.0, 56.0, 40.0
"""Size of a node to the side, above and below a port at its end."""


def routes_through_column(a: Point, b: Point, boxes: Sequence[Box]) -> Iterator[WireCurve]:
    """Candidate routes from `a` to `b`, short ones first. Empty if no row of nodes is between them."""
    down = 1 if b.y > a.y else -1
    first = _free_level(a.y, down, [*boxes, _end_node(a.x - _NODE, a.y)])
    last = _free_level(b.y, -down, [*boxes, _end_node(b.x, b.y)])
    if (last - first) * down <= 0:
        return
    columns = [
        x
        for x in _free_columns(min(first, last), max(first, last), boxes)
        if (x >= a.x + _TURN or x + _COLUMN <= a.x) and (x + _COLUMN <= b.x - _TURN or x >= b.x)
    ]
    columns.sort(key=lambda x: abs(x - a.x) + abs(x - b.x))
    for x in columns[:_COLUMNS]:
        for lane in range(_LANES):
            yield _route(a, b, x, first + down * lane * _LANE, last - down * lane * _LANE)


def _end_node(left: float, y: float) -> Box:
    """The area that the node of a port may cover."""
    return Box(left, y - _ABOVE, left + _NODE, y + _BELOW)


def _free_level(y: float, side: int, boxes: Sequence[Box]) -> float:
    """The nearest y coordinate below (`side` 1) or above (-1) the nodes that touch `y`, beside no other node."""
    for box in sorted(boxes, key=lambda box: box.top if side > 0 else -box.bottom):
        if box.top - _CLEAR < y < box.bottom + _CLEAR:
            y = box.bottom + _CLEAR if side > 0 else box.top - _CLEAR
    return y


def _free_columns(top: float, bottom: float, boxes: Sequence[Box]) -> list[float]:
    """Left coordinates of columns without nodes from `top` to `bottom`, with one at each side of all nodes."""
    spans = sorted((box.left, box.right) for box in boxes if box.top < bottom and top < box.bottom)
    if not spans:
        return []
    found = [spans[0][0] - _CLEAR - _COLUMN - _TURN]
    reach = spans[0][1]
    for left, right in spans:
        if left - reach >= _COLUMN + 2 * _CLEAR:
            found += [reach + _CLEAR, left - _CLEAR - _COLUMN]
        reach = max(reach, right)
    return [*found, reach + _CLEAR + _TURN]


def _route(a: Point, b: Point, x: float, first: float, last: float) -> WireCurve:
    """The route along the lanes at `first` and `last` and the column at `x`."""
    to_right = x >= a.x + _TURN
    from_left = x + _COLUMN <= b.x - _TURN
    near, far = (x, x + _COLUMN) if to_right else (x + _COLUMN, x)
    pieces = [_bend(a, Point(a.x + _TURN, first)) if to_right else _turn(a, Point(a.x, first), _TURN)]
    pieces.append(_line(pieces[-1].end, Point(near, first)))
    if to_right == from_left:
        pieces.append(_bend(pieces[-1].end, Point(far, last)))
    else:
        pieces.append(_turn(pieces[-1].end, Point(near, last), far - near))
    pieces.append(_line(pieces[-1].end, Point(b.x - _TURN if from_left else b.x, last)))
    pieces.append(_bend(pieces[-1].end, b) if from_left else _turn(pieces[-1].end, b, -_TURN))
    return WireCurve(tuple(piece for piece in pieces if piece.start != piece.end))


def _bend(start: Point, end: Point) -> Bezier:
    """An S-curve that keeps its direction."""
    reach = (end.x - start.x) / 2
    return Bezier(start, Point(start.x + reach, start.y), Point(end.x - reach, end.y), end)


def _turn(start: Point, end: Point, reach: float) -> Bezier:
    """A curve that reverses its direction; `reach` is positive to the right."""
    return Bezier(start, Point(start.x + reach, start.y), Point(end.x + reach, end.y), end)


def _line(start: Point, end: Point) -> Bezier:
    third = (end.x - start.x) / 3
    return Bezier(start, Point(start.x + third, start.y), Point(end.x - third, end.y), end)
