"""Route wires around nodes and other wires. Does not use Qt.

A wire keeps its direct curve if that is free. Otherwise a wire to the right bends in a gap between nodes, follows a
horizontal lane above or below the nodes, and bends into the row of its target. Between distant rows it bends in one gap
per row. A wire to the left uses a lane that is further away. Candidates are tried by increasing height, and the first
without conflicts is used. The result depends on positions only, so routes do not flicker during a drag.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.wires.row_routes import routes_through_column
from studio.ui.canvas.wires.wire_curve import Bezier, WireCurve, wire_curve

_CLEAR = 12.0
"""Distance between the first lane and the nodes beside it."""
_LANE = 8.0
"""Distance between neighboring lanes."""
_LANES = 4
"""Number of candidate lanes on each side of a node."""
_BESIDE = 6.0
"""Distance between a bend and the nodes beside it."""
_SHIFTS = (0.0, 12.0, 24.0)
"""Candidate distances of a bend from the port, so that bends of several wires do not overlap."""
_BENDS = (40.0, 16.0)
"""Widths of bends, best first."""
_TURNS = (
    (0.0, 0.0), (12.0, 0.0), (0.0, 12.0), (0.0, -18.0), (-18.0, 0.0), (12.0, 12.0), (-18.0, -18.0), (12.0, -18.0),
    (24.0, 24.0),
)  # fmt: skip
"""Candidate extra widths of the two turns of a backward route, so that turns of several wires do not overlap."""
_END_ABOVE, _END_BELOW = 48.0, 28.0
"""Height of a node above and below a port at its side, at least."""
_MARGINS = (8.0, 1.0)
"""Minimum distance of a route from nodes above and below; the second is used if the first leaves no route."""
_APART = 5.0
"""Distance of a route from other nodes than those at its ends, if a route has space for it."""
_CLOSE = 48.0
"""A node that is nearer counts as much as this length along another wire."""
_CROSSING = 24.0
"""Length over which two crossing wires may be close to each other."""
_AROUND = 160.0
"""Margin around the direct curve in which obstacles of other routes are searched."""
_MAX_NODES = 128
"""With more nodes around a wire, only routes around whole rows of nodes are searched."""
_MAX_FAR_NODES = 4000
"""With more nodes around a wire, it is not routed around whole rows of nodes either."""
_ROW_HEIGHT = 96.0
"""Wires with a smaller height lead to no other row."""
_FAR = 20_000.0
"""Horizontal margin in which a route around whole rows is searched."""
_STEEP = 96.0
"""A wire to the right that has less horizontal space may also turn like a wire to the left."""
_MAX_CANDIDATES = 48
"""Maximum number of candidate routes per margin."""


class Obstacles(NamedTuple):
    """Obstacles that intersect a box: nodes, and wires that are already routed."""

    boxes: Sequence[Box]
    curves: Sequence[WireCurve] = ()


def find_route(direct: WireCurve, find_obstacles: Callable[[Box], Obstacles]) -> WireCurve:
    """The route of a wire around nodes and other wires; `direct` if it is free or no route has fewer conflicts.

    `find_obstacles` returns the obstacles in a box, except wires from the same port.
    """
    margin = _MARGINS[0]
    near = find_obstacles(_widened(direct.box, margin))
    if len(near.boxes) > _MAX_FAR_NODES:
        return direct
    conflicts = _conflicts(direct, near, margin)
    if conflicts == (0, 0):
        return direct
    near = find_obstacles(_widened(direct.box, _AROUND))
    best, least = direct, conflicts
    for margin in _MARGINS if len(near.boxes) <= _MAX_NODES else ():
        for curve in islice(_candidate_routes(direct.start, direct.end, near.boxes, margin), _MAX_CANDIDATES):
            conflicts = _conflicts(curve, near, most=least[0])
            if conflicts == (0, 0):
                return curve
            if conflicts < least:
                best, least = curve, conflicts
    return _far_route(direct, find_obstacles, best) if least[0] else best


def _far_route(direct: WireCurve, find_obstacles: Callable[[Box], Obstacles], best: WireCurve) -> WireCurve:
    """A route around whole rows of nodes if it has fewer conflicts than `best`."""
    left, top, right, bottom = direct.box
    if abs(direct.end.y - direct.start.y) < _ROW_HEIGHT:
        return best
    far = find_obstacles(Box(left - _FAR, top - _AROUND, right + _FAR, bottom + _AROUND))
    if len(far.boxes) > _MAX_FAR_NODES:
        return best
    least = _conflicts(best, far)
    for curve in routes_through_column(direct.start, direct.end, far.boxes):
        conflicts = _conflicts(curve, far, most=least[0])
        if conflicts < least:
            best, least = curve, conflicts
        if conflicts == (0, 0):
            break
    return best


def passes_through(curve: WireCurve, box: Box, margin: float = -1.0) -> bool:
    """Whether a curve intersects the inside of a box that is extended by `margin` above and below."""
    inner = Box(box.left + 1, box.top - margin, box.right - 1, box.bottom + margin)
    return curve.box.overlaps(inner) and curve.passes_through(inner)


def _conflicts(curve: WireCurve, near: Obstacles, margin: float = -1.0, *, most: float = math.inf) -> tuple[int, float]:
    """Number of nodes that a curve crosses, and its length along other wires and near nodes (0 if more than `most`)."""
    hits = close = 0
    reach = max(margin, _APART)
    for box in near.boxes:
        if not _may_touch(curve, box, reach):
            continue
        if _is_at_end(curve, box):
            hits += passes_through(curve, box, margin)
        elif curve.passes_through(Box(box.left - _APART, box.top - reach, box.right + _APART, box.bottom + reach)):
            if passes_through(curve, box, margin):
                hits += 1
            elif reach == _APART or curve.passes_through(_widened(box, _APART)):
                close += 1
    if hits > most:
        return hits, 0
    shared = (curve.shared_length(other) for other in near.curves)
    return hits, _CLOSE * close + sum(length for length in shared if length > _CROSSING)


def _may_touch(curve: WireCurve, box: Box, reach: float) -> bool:
    """Whether the boxes of a curve and a node are near each other."""
    left, top, right, bottom = curve.box
    return (
        left < box.right + reach and box.left - reach < right and top < box.bottom + reach and box.top - reach < bottom
    )


def _is_at_end(curve: WireCurve, box: Box) -> bool:
    """Whether a curve starts or ends at a port of a node."""
    start, end = curve.start, curve.end
    return (box.right == start.x and box.top <= start.y <= box.bottom) or (
        box.left == end.x and box.top <= end.y <= box.bottom
    )


def _candidate_routes(a: Point, b: Point, boxes: Sequence[Box], margin: float) -> Iterator[WireCurve]:
    if b.x > a.x:
        enlarged = [Box(box.left, box.top - margin, box.right, box.bottom + margin) for box in boxes]
        yield from _forward_routes(a, b, enlarged, _CLEAR - margin)
        for lane in range(_LANES):
            yield from _routes_between_rows(a, b, enlarged, lane)
    if b.x - a.x < _STEEP:
        yield from _backward_routes(a, b, boxes)


def _forward_routes(a: Point, b: Point, boxes: Sequence[Box], clear: float) -> Iterator[WireCurve]:
    """Routes with one bend or along one lane that cross no node, by increasing height."""
    first = min((box.left for box in boxes if box.top < a.y < box.bottom and box.right > a.x), default=b.x)
    last = max((box.right for box in boxes if box.top < b.y < box.bottom and box.left < b.x), default=a.x)
    bends = _possible_bends(a, b, boxes)
    out = [(left, right) for left, right in bends if right <= min(first, b.x)]
    back = [(left, right) for left, right in bends if max(last, a.x) <= left]
    for left, right in _widest(out):
        if left >= last and _is_free(left, a.y, right, b.y, boxes):
            yield _curve_through(a, Point(left, a.y), Point(right, b.y), b)
    lanes = {
        y
        for step in range(_LANES)
        for box in boxes
        for y in (box.top - clear - step * _LANE, box.bottom + clear + step * _LANE)
    } or {y + side * (_CLEAR + step * _LANE) for y in (a.y, b.y) for side in (-1, 1) for step in range(_LANES)}
    for lane in sorted(lanes, key=lambda lane: (abs(lane - a.y) + abs(lane - b.y), lane)):
        down = _widest_of_both_ends([bend for bend in out if _is_free(bend[0], a.y, bend[1], lane, boxes)])
        up = (
            _widest_of_both_ends([bend for bend in back if _is_free(bend[0], lane, bend[1], b.y, boxes)], last=True)
            if down
            else []
        )
        for start, end in up:
            for left, right in down:
                if right <= start and _is_free(right, lane, start, lane, boxes):
                    yield _curve_through(
                        a, Point(left, a.y), Point(right, lane), Point(start, lane), Point(end, b.y), b
                    )


def _routes_between_rows(a: Point, b: Point, boxes: Sequence[Box], lane: int) -> Iterator[WireCurve]:
    """Routes between rows of nodes: a bend in the first gap of each row, and one in the last gap before `b`."""
    top, bottom = min(a.y, b.y), max(a.y, b.y)
    off = (lane + 1) // 2 * _LANE * (1 if lane % 2 else -1)
    levels: list[float] = []
    reach = top
    for box in sorted(boxes, key=lambda box: box.top):
        if top < reach <= box.top <= bottom:
            room = (box.top - reach) / 2
            levels.append((reach + box.top) / 2 + min(max(off, -room), room))
        reach = max(reach, box.bottom)
    bends, stops = _possible_bends(a, b, boxes), [a]
    for level in (*(levels if a.y < b.y else reversed(levels)), b.y):
        here, last = stops[-1], level == b.y
        for left, right in _widest(bends, last=True) if last else bends[lane:]:
            if (
                here.x <= left
                and _is_free(here.x, here.y, left, here.y, boxes)
                and _is_free(left, here.y, right, level, boxes)
                and (not last or _is_free(right, level, b.x, level, boxes))
            ):
                stops += [Point(left, here.y), Point(right, level)]
                break
        else:
            return
    yield _curve_through(*stops, b)


def _possible_bends(a: Point, b: Point, boxes: Sequence[Box]) -> list[tuple[float, float]]:
    """Candidate bends from left to right: beside nodes and beside the end points."""
    ends = [x for shift in _SHIFTS for x in (a.x + shift, b.x - shift)]
    edges = {*ends, *(x for box in boxes for x in (box.right + _BESIDE, box.left - _BESIDE))}
    bends = {bend for width in _BENDS for x in edges for bend in ((x, x + width), (x - width, x))}
    return sorted(bend for bend in bends if a.x <= bend[0] and bend[1] <= b.x)


def _widest_of_both_ends(bends: Sequence[tuple[float, float]], *, last: bool = False) -> list[tuple[float, float]]:
    """A few of the widest bends near both ends of the allowed range."""
    wide = _widest(bends, last=last)
    return list(dict.fromkeys((*wide[:3], *wide[3:][-2:])))


def _widest(bends: Iterable[tuple[float, float]], *, last: bool = False) -> list[tuple[float, float]]:
    """Bends sorted by decreasing width, then from left to right, or from right to left if `last`."""
    return sorted(bends, key=lambda bend: (bend[0] - bend[1], -bend[0] if last else bend[0]))


def _backward_routes(a: Point, b: Point, boxes: Sequence[Box]) -> Iterator[WireCurve]:
    across = [box for box in boxes if box.left < a.x + _CLEAR and b.x - _CLEAR < box.right]
    ends = (a.y, b.y)
    levels = ((a.y + b.y) / 2, *(y + off for y in ends for off in (-_END_ABOVE, _END_BELOW)))
    candidates = {
        (_next_free_level(level, side, across) + side * step * _LANE, extra_turns)
        for level in levels
        for side in (-1, 1)
        for step in range(_LANES)
        for extra_turns in _TURNS
    }
    candidates = {
        pair for pair in candidates if not any(-_END_ABOVE < pair[0] - y < _END_BELOW for y in ends)
    }  # a lane beside a port would be behind the wire's node
    for lane, extra_turns in sorted(
        candidates, key=lambda pair: (abs(pair[0] - a.y) + abs(pair[0] - b.y) + sum(map(_turn_cost, pair[1])), pair)
    ):
        yield wire_curve(a, b, lane=lane, extra_turns=extra_turns)


def _turn_cost(extra: float) -> float:
    """A narrow turn needs less space than a wide one."""
    return extra / 2 if extra > 0 else -extra / 6


def _next_free_level(level: float, side: int, boxes: Sequence[Box]) -> float:
    """The nearest y coordinate above (`side` -1) or below (1) `level` that no box covers."""
    for _ in boxes:
        hit = [box for box in boxes if box.top - _CLEAR < level < box.bottom + _CLEAR]
        if not hit:
            break
        level = min(box.top for box in hit) - _CLEAR if side < 0 else max(box.bottom for box in hit) + _CLEAR
    return level


def _is_free(left: float, y: float, right: float, other_y: float, boxes: Iterable[Box]) -> bool:
    """Whether the bounding box of a piece contains no node."""
    top, bottom = min(y, other_y), max(y, other_y)
    for box_left, box_top, box_right, box_bottom in boxes:  # a loop: a generator would take twice as long
        if box_left < right and left < box_right and box_top < bottom and top < box_bottom:
            return False
    return True


def _curve_through(*stops: Point) -> WireCurve:
    """A curve through the given points that is horizontal at each."""
    pieces: list[Bezier] = []
    for start, end in pairwise(stops):
        if start != end:
            reach = (end.x - start.x) / (3 if start.y == end.y else 2)
            pieces.append(Bezier(start, Point(start.x + reach, start.y), Point(end.x - reach, end.y), end))
    return WireCurve(tuple(pieces))


def _widened(box: Box, by: float) -> Box:
    return Box(box.left - by, box.top - by, box.right + by, box.bottom + by)
