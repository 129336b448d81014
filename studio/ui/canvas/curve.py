"""The line of a wire: one Bézier curve forwards, a lane between the rows backwards. Plain numbers, no Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from studio.ui.canvas.geometry import Box, Point

_BACK = 96.0
"""A target that lies further left of its source than this is reached by a lane."""
_CLEAR = 72.0
"""How far below both ends the lane runs if they are on about one level."""
_TURN = 40.0


class Bezier(NamedTuple):
    """A cubic curve."""

    start: Point
    first: Point
    second: Point
    end: Point

    def at(self, t: float) -> Point:
        u = 1 - t
        a, b, c, d = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
        return Point(
            a * self.start.x + b * self.first.x + c * self.second.x + d * self.end.x,
            a * self.start.y + b * self.first.y + c * self.second.y + d * self.end.y,
        )


@dataclass(frozen=True)
class Curve:
    """Bézier curves that continue each other, horizontal at both ends."""

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
    def level(self) -> float:
        """How far it runs sideways before it gets steep: the room for a label."""
        across, down = abs(self.end.x - self.start.x), abs(self.end.y - self.start.y)
        return across if len(self.pieces) > 1 or down <= 1.2 * across else 0.0

    def at(self, t: float) -> Point:
        """The point at `t` of 0 to 1; each piece takes an equal share."""
        number = min(int(t * len(self.pieces)), len(self.pieces) - 1)
        return self.pieces[number].at(t * len(self.pieces) - number)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The curve as a line of short straight pieces."""
        steps = 24
        return (self.start, *(piece.at(index / steps) for piece in self.pieces for index in range(1, steps + 1)))

    def distance(self, point: tuple[float, float]) -> float:
        """How far `point` is from the curve, to within a fraction of a pixel on usual wires."""
        return min(_segment_distance(a, b, point) for a, b in pairwise(self.points))

    def crosses(self, a: tuple[float, float], b: tuple[float, float]) -> bool:
        """Whether the straight line from `a` to `b` cuts the curve."""
        return any(_cross(start, end, a, b) for start, end in pairwise(self.points))

    def enters(self, box: Box) -> bool:
        """Whether the curve passes through a box. What does so cuts a diagonal."""
        return self.crosses((box.left, box.top), (box.right, box.bottom)) or self.crosses(
            (box.left, box.bottom), (box.right, box.top)
        )


def wire_curve(start: tuple[float, float], end: tuple[float, float], *, lane: float | None = None) -> Curve:
    """From an output to an input, along a level `lane` if one is given."""
    a, b = Point(*start), Point(*end)
    return Curve((_forwards(a, b),) if b.x >= a.x - _BACK and lane is None else _backwards(a, b, lane))


def _forwards(start: Point, end: Point) -> Bezier:
    """The tangents grow with the distance."""
    dx, dy = end.x - start.x, abs(end.y - start.y)
    reach = max(dx * 0.5, min(dy * 0.5, 48.0)) if dx >= 0 else min(48.0 - dx * 0.35 + dy * 0.1, 240.0)
    return Bezier(start, Point(start.x + reach, start.y), Point(end.x - reach, end.y), end)


def _backwards(start: Point, end: Point, lane: float | None = None) -> tuple[Bezier, ...]:
    """A turn, a level lane halfway between the rows, and a turn; so that it crosses no node of either row."""
    middle = (start.y + end.y) / 2
    if lane is None:
        lane = middle if abs(end.y - start.y) >= _CLEAR else max(start.y, end.y) + _CLEAR
    out, back = Point(start.x, lane), Point(end.x, lane)
    third = (back.x - out.x) / 3
    return (
        Bezier(start, Point(start.x + _TURN, start.y), Point(start.x + _TURN, lane), out),
        Bezier(out, Point(out.x + third, lane), Point(back.x - third, lane), back),
        Bezier(back, Point(end.x - _TURN, lane), Point(end.x - _TURN, end.y), end),
    )


def _segment_distance(a: Point, b: Point, point: tuple[float, float]) -> float:
    dx, dy = b.x - a.x, b.y - a.y
    length = dx * dx + dy * dy
    t = 0.0 if length == 0 else min(max(((point[0] - a.x) * dx + (point[1] - a.y) * dy) / length, 0.0), 1.0)
    return math.hypot(point[0] - a.x - t * dx, point[1] - a.y - t * dy)


def _cross(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float], d: tuple[float, float]) -> bool:
    def side(p: tuple[float, float], q: tuple[float, float], r: tuple[float, float]) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) <= 0 and side(c, d, a) * side(c, d, b) <= 0 and a != b and c != d
