"""The curve of a wire: one Bézier curve to the right, or a lane between rows to the left. Does not use Qt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from studio.ui.canvas.geometry import Box, Point

_BACK = 96.0
"""A wire uses a lane if its target is further left of its source than this."""
_CLEAR = 72.0
"""Distance of the lane below both ends if they have about the same y coordinate."""
_TURN = 40.0
_TENSION = 0.38
"""Length of a tangent at a reroute point, as a share of the distance to the next one."""
_STEPS = 24
"""Number of line segments that approximate a Bézier curve."""
_CELL = 4.0
"""Side length of the grid cells with which curves are compared."""
_ROW = 1 << 24
"""Difference between the numbers of horizontally adjacent cells; vertically adjacent cells differ by 1."""
_MAX_COMPARED_SIZE = 20_000.0
"""Curves with a larger box are not compared."""


def _weights(t: float) -> tuple[float, float, float, float]:
    """Weights of the control points of a cubic Bézier curve at parameter `t`."""
    u = 1 - t
    return u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t


_WEIGHTS = tuple(_weights(step / _STEPS) for step in range(1, _STEPS + 1))
"""Those at the ends of the line segments."""


class Bezier(NamedTuple):
    """A cubic Bézier curve."""

    start: Point
    first: Point
    second: Point
    end: Point

    @property
    def is_horizontal(self) -> bool:
        return self.start.y == self.first.y == self.second.y == self.end.y

    def at(self, t: float) -> Point:
        a, b, c, d = _weights(t)
        return Point(
            a * self.start.x + b * self.first.x + c * self.second.x + d * self.end.x,
            a * self.start.y + b * self.first.y + c * self.second.y + d * self.end.y,
        )


@dataclass(frozen=True)
class WireCurve:
    """Connected Bézier curves, horizontal at both ends."""

    pieces: tuple[Bezier, ...]

    @property
    def start(self) -> Point:
        return self.pieces[0].start

    @property
    def end(self) -> Point:
        return self.pieces[-1].end

    @cached_property
    def box(self) -> Box:
        xs, ys = zip(*(point for piece in self.pieces for point in piece), strict=True)
        return Box(min(xs), min(ys), max(xs), max(ys))

    @property
    def label_length(self) -> float:
        """Horizontal length of the flat part of the longest piece, which is available for a label."""
        across, down = (
            abs(self._longest.end.x - self._longest.start.x),
            abs(self._longest.end.y - self._longest.start.y),
        )
        return across if down <= 1.2 * across else 0.0

    def at(self, t: float) -> Point:
        """The point at parameter `t` in [0, 1]; each piece covers an equal part."""
        number = min(int(t * len(self.pieces)), len(self.pieces) - 1)
        return self.pieces[number].at(t * len(self.pieces) - number)

    def on_longest_piece(self, t: float) -> Point:
        """The point at parameter `t` in [0, 1] of the longest piece, for a label."""
        return self._longest.at(t)

    @cached_property
    def _longest(self) -> Bezier:
        return max(self.pieces, key=lambda piece: abs(piece.end.x - piece.start.x))

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The points of a polyline that approximates the curve."""
        return (self.start, *(piece.at(index / _STEPS) for piece in self.pieces for index in range(1, _STEPS + 1)))

    def nearest(self, point: tuple[float, float]) -> tuple[int, Point]:
        """The number of the piece and the point of the polyline that are nearest to `point`."""
        ends = list(pairwise(self.points))
        number = min(range(len(ends)), key=lambda index: _segment_distance(*ends[index], point))
        return number // _STEPS, _nearest_on_segment(*ends[number], point)

    def distance(self, point: tuple[float, float]) -> float:
        """Distance of `point` from the polyline of the curve."""
        return min(_segment_distance(a, b, point) for a, b in pairwise(self.points))

    def crosses(self, a: tuple[float, float], b: tuple[float, float]) -> bool:
        """Whether the line segment from `a` to `b` intersects the curve."""
        return any(_cross(start, end, a, b) for start, end in pairwise(self.points))

    def passes_through(self, box: Box) -> bool:
        """Whether the curve intersects a box."""
        return any(_piece_enters(piece, box) for piece in self.pieces)

    def shared_length(self, other: WireCurve) -> float:
        """Approximate length of the longest part on which two curves are less than 8 pixels apart."""
        if (
            not self.box.overlaps(_widened(other.box, 2 * _CELL))
            or max(_half_perimeter(self.box), _half_perimeter(other.box)) > _MAX_COMPARED_SIZE
        ):
            return 0.0
        shared = self._cells.keys() & other._neighbor_cells
        if not shared:
            return 0.0
        order = self._cells
        longest = run = 0
        previous = -2
        for number in sorted(order[cell] for cell in shared):
            run = run + 1 if number == previous + 1 else 1
            previous = number
            longest = max(longest, run)
        return longest * _CELL

    def forget_cells(self) -> None:
        """Free the cells, which take more memory than the rest of a wire. They are computed again when needed."""
        for name in ("_cells", "_neighbor_cells"):
            self.__dict__.pop(name, None)

    @cached_property
    def _cells(self) -> dict[int, int]:
        """Numbers of the grid cells along the curve, each with its position on the curve."""
        found: dict[int, None] = {}
        for piece in self.pieces:
            found.update(dict.fromkeys(_horizontal_cells(piece) if piece.is_horizontal else _curved_cells(piece)))
        return {cell: index for index, cell in enumerate(found)}

    @cached_property
    def _neighbor_cells(self) -> frozenset[int]:
        """These cells and their eight neighbors."""
        steps = [across * _ROW + down for across in (-1, 0, 1) for down in (-1, 0, 1)]
        return frozenset(cell + step for cell in self._cells for step in steps)


def wire_curve(
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    lane: float | None = None,
    extra_turns: tuple[float, float] = (0.0, 0.0),
) -> WireCurve:
    """The curve from an output to an input, along the y coordinate `lane` if given.

    `extra_turns` are extra widths of the two turns of a backward curve.
    """
    a, b = Point(*start), Point(*end)
    return WireCurve((_forwards(a, b),) if b.x >= a.x - _BACK and lane is None else _backwards(a, b, lane, extra_turns))


def curve_through(
    start: tuple[float, float], points: Sequence[tuple[float, float]], end: tuple[float, float]
) -> WireCurve:
    """A smooth curve through reroute points, with one piece between each two."""
    stops = [Point(*point) for point in (start, *points, end)]
    inner = (_direction(before, after) for before, after in zip(stops, stops[2:], strict=False))
    tangents = [Point(1, 0), *inner, Point(1, 0)]
    pieces: list[Bezier] = []
    for index, (a, b) in enumerate(pairwise(stops)):
        reach = _TENSION * math.hypot(b.x - a.x, b.y - a.y)
        out, back = tangents[index], tangents[index + 1]
        first, second = (
            Point(a.x + reach * out.x, a.y + reach * out.y),
            Point(b.x - reach * back.x, b.y - reach * back.y),
        )
        pieces.append(Bezier(a, first, second, b))
    return WireCurve(tuple(pieces))


def _direction(a: Point, b: Point) -> Point:
    length = math.hypot(b.x - a.x, b.y - a.y)
    return Point((b.x - a.x) / length, (b.y - a.y) / length) if length else Point(1, 0)


def _forwards(start: Point, end: Point) -> Bezier:
    """One curve whose tangent length grows with the distance."""
    dx, dy = end.x - start.x, abs(end.y - start.y)
    reach = max(dx * 0.5, min(dy * 0.5, 48.0)) if dx >= 0 else min(48.0 - dx * 0.35 + dy * 0.1, 240.0)
    return Bezier(start, Point(start.x + reach, start.y), Point(end.x - reach, end.y), end)


def _backwards(start: Point, end: Point, lane: float | None, extra_turns: tuple[float, float]) -> tuple[Bezier, ...]:
    """A turn, a horizontal lane between the rows, and a second turn, so that the curve crosses no node of the rows."""
    middle = (start.y + end.y) / 2
    if lane is None:
        lane = middle if abs(end.y - start.y) >= _CLEAR else max(start.y, end.y) + _CLEAR
    out, back = Point(start.x, lane), Point(end.x, lane)
    third = (back.x - out.x) / 3
    right, left = start.x + _TURN + extra_turns[0], end.x - _TURN - extra_turns[1]
    return (
        Bezier(start, Point(right, start.y), Point(right, lane), out),
        Bezier(out, Point(out.x + third, lane), Point(back.x - third, lane), back),
        Bezier(back, Point(left, lane), Point(left, end.y), end),
    )


def _piece_enters(piece: Bezier, box: Box) -> bool:
    """Whether a piece intersects a box. A piece that is not horizontal intersects it if it crosses a diagonal."""
    left, right = sorted((piece.start.x, piece.end.x))
    if piece.is_horizontal and left <= piece.first.x <= right and left <= piece.second.x <= right:
        return box.top <= piece.start.y <= box.bottom and left <= box.right and box.left <= right
    xs, ys = zip(*piece, strict=True)
    if min(xs) > box.right or max(xs) < box.left or min(ys) > box.bottom or max(ys) < box.top:
        return False
    corners = ((box.left, box.top), (box.right, box.bottom)), ((box.left, box.bottom), (box.right, box.top))
    (x0, x1, x2, x3), (y0, y1, y2, y3) = xs, ys
    start = x0, y0
    for a, b, c, d in _WEIGHTS:
        end = a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3
        is_beside = (start[0] > box.right and end[0] > box.right) or (start[0] < box.left and end[0] < box.left)
        if not is_beside and any(_cross(start, end, *ends) for ends in corners):
            return True
        start = end
    return False


def _horizontal_cells(piece: Bezier) -> Iterable[int]:
    first, last = _cell(piece.start), _cell(piece.end)
    step = 1 if first <= last else -1
    return range(first, last + step, step * _ROW)


def _curved_cells(piece: Bezier) -> Iterable[int]:
    length = abs(piece.end.x - piece.start.x) + abs(piece.end.y - piece.start.y)
    steps = math.ceil(length / _CELL * 1.5) + 1
    return (_cell(piece.at(step / steps)) for step in range(steps + 1))


def _cell(point: Point) -> int:
    return math.floor(point.x / _CELL) * _ROW + math.floor(point.y / _CELL)


def _half_perimeter(box: Box) -> float:
    return box.width + box.height


def _widened(box: Box, by: float) -> Box:
    return Box(box.left - by, box.top - by, box.right + by, box.bottom + by)


def _nearest_on_segment(a: Point, b: Point, point: tuple[float, float]) -> Point:
    dx, dy = b.x - a.x, b.y - a.y
    length = dx * dx + dy * dy
    t = 0.0 if length == 0 else min(max(((point[0] - a.x) * dx + (point[1] - a.y) * dy) / length, 0.0), 1.0)
    return Point(a.x + t * dx, a.y + t * dy)


def _segment_distance(a: Point, b: Point, point: tuple[float, float]) -> float:
    nearest = _nearest_on_segment(a, b, point)
    return math.hypot(point[0] - nearest.x, point[1] - nearest.y)


def _cross(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float], d: tuple[float, float]) -> bool:
    def side(p: tuple[float, float], q: tuple[float, float], r: tuple[float, float]) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) <= 0 and side(c, d, a) * side(c, d, b) <= 0 and a != b and c != d
