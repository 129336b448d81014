"""Wires around nodes: a wire that would run behind a node takes a lane above or below it. Plain numbers, no Qt.

The direct curve is kept where it is free. Otherwise a wire to the right leaves its row by a bend in a gap between
nodes, runs along a lane beside the nodes, and enters the row of its target by another bend. Where rows of nodes lie
between, it passes them one after the other. A wire back to the left takes another lane. Of the free ways the one with
the least height is taken. The choice depends on places alone, so that it does not flicker while a node is dragged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from studio.ui.canvas.curve import Bezier, Curve, wire_curve
from studio.ui.canvas.geometry import Box, Point

_CLEAR = 12.0
"""Distance of a lane from the nodes that it passes."""
_BESIDE = 6.0
"""Distance of a bend from the nodes that it passes."""
_BENDS = (40.0, 16.0)
"""Widths of bends, best first."""
_AROUND = 160.0
"""How far from the direct way nodes are looked for that another way would meet."""
_MOST = 48
"""Nodes around one wire beyond which it is drawn as if they were not there."""


def around(direct: Curve, find: Callable[[Box], Sequence[Box]]) -> Curve:
    """The way of a wire that avoids nodes; `direct` where that is free, or where no way is better.

    `find` gives the nodes that meet a box, without those at the wire's ends.
    """
    area = direct.box
    blockers = [box for box in find(area) if enters(direct, box)]
    if not blockers:
        return direct
    boxes = find(Box(area.left - _AROUND, area.top - _AROUND, area.right + _AROUND, area.bottom + _AROUND))
    if len(boxes) > _MOST:
        return direct
    a, b = direct.start, direct.end
    if b.x > a.x:
        return min(_forwards(a, b, boxes), key=_effort, default=None) or _through_rows(a, b, boxes) or direct
    ranked = [(sum(enters(curve, box) for box in boxes), _effort(curve), curve) for curve in _backwards(a, b, boxes)]
    best = min(ranked, key=lambda each: each[:2], default=None)
    return best[2] if best and best[0] < len(blockers) else direct


def enters(curve: Curve, box: Box) -> bool:
    """Whether a curve runs through the inside of a box."""
    inner = Box(box.left + 1, box.top + 1, box.right - 1, box.bottom - 1)
    return curve.box.meets(inner) and curve.enters(inner)


def _forwards(a: Point, b: Point, boxes: Sequence[Box]) -> Iterator[Curve]:
    """Ways that meet no node."""
    first = min((box.left for box in boxes if box.top < a.y < box.bottom and box.right > a.x), default=b.x)
    last = max((box.right for box in boxes if box.top < b.y < box.bottom and box.left < b.x), default=a.x)
    bends = _gaps(a, b, boxes)
    out = [(left, right) for left, right in bends if a.x <= left and right <= min(first, b.x)]
    back = [(left, right) for left, right in bends if max(last, a.x) <= left and right <= b.x]
    for left, right in out:
        if left >= last and _free(left, a.y, right, b.y, boxes):
            yield _chain(a, Point(left, a.y), Point(right, b.y), b)
    for lane in sorted({y for box in boxes for y in (box.top - _CLEAR, box.bottom + _CLEAR)}):
        down = [bend for bend in out if _free(bend[0], a.y, bend[1], lane, boxes)]
        up = [bend for bend in back if _free(bend[0], lane, bend[1], b.y, boxes)] if down else []
        for left, right in down:
            for start, end in up:
                if right <= start and _free(right, lane, start, lane, boxes):
                    yield _chain(a, Point(left, a.y), Point(right, lane), Point(start, lane), Point(end, b.y), b)


def _through_rows(a: Point, b: Point, boxes: Sequence[Box]) -> Curve | None:
    """By the lanes between the rows of nodes, with a bend in the first gap of each row."""
    top, bottom = min(a.y, b.y), max(a.y, b.y)
    lanes: list[float] = []
    reach = top
    for box in sorted(boxes, key=lambda box: box.top):
        if top < reach and reach + 2 <= box.top <= bottom:
            lanes.append((reach + box.top) / 2)
        reach = max(reach, box.bottom)
    bends, stops = _gaps(a, b, boxes), [a]
    for level in (*(lanes if a.y < b.y else reversed(lanes)), b.y):
        here = stops[-1]
        for left, right in bends:
            last = level == b.y
            if (
                here.x <= left
                and _free(here.x, here.y, left, here.y, boxes)
                and _free(left, here.y, right, level, boxes)
                and (not last or _free(right, level, b.x, level, boxes))
            ):
                stops += [Point(left, here.y), Point(right, level)]
                break
        else:
            return None
    return _chain(*stops, b)


def _gaps(a: Point, b: Point, boxes: Sequence[Box]) -> list[tuple[float, float]]:
    """Where bends may be, from the left: beside nodes and ends."""
    edges = {a.x, b.x, *(x for box in boxes for x in (box.right + _BESIDE, box.left - _BESIDE))}
    bends = {bend for width in _BENDS for x in edges for bend in ((x, x + width), (x - width, x))}
    return sorted(bend for bend in bends if a.x <= bend[0] and bend[1] <= b.x)


def _backwards(a: Point, b: Point, boxes: Sequence[Box]) -> Iterator[Curve]:
    across = [box for box in boxes if box.left < a.x + _CLEAR and b.x - _CLEAR < box.right]
    levels = ((a.y + b.y) / 2, a.y, b.y)
    for lane in sorted({_beside(level, way, across) for level in levels for way in (-1, 1)}):
        yield wire_curve(a, b, lane=lane)


def _beside(level: float, way: int, boxes: Sequence[Box]) -> float:
    """The next level above or below where no box is."""
    for _ in boxes:
        hit = [box for box in boxes if box.top - _CLEAR < level < box.bottom + _CLEAR]
        if not hit:
            break
        level = min(box.top for box in hit) - _CLEAR if way < 0 else max(box.bottom for box in hit) + _CLEAR
    return level


def _free(left: float, y: float, right: float, other_y: float, boxes: Iterable[Box]) -> bool:
    """Whether no node lies in the rectangle of a stretch."""
    top, bottom = min(y, other_y), max(y, other_y)
    return not any(
        box.left < right and left < box.right and box.top < bottom + 1 and top - 1 < box.bottom for box in boxes
    )


def _chain(*stops: Point) -> Curve:
    """Stretches from stop to stop, level at each."""
    pieces: list[Bezier] = []
    for start, end in pairwise(stops):
        if start != end:
            reach = (end.x - start.x) / (3 if start.y == end.y else 2)
            pieces.append(Bezier(start, Point(start.x + reach, start.y), Point(end.x - reach, end.y), end))
    return Curve(tuple(pieces))


def _effort(curve: Curve) -> float:
    """How far it goes up and down, and how tight its bends are; sideways all ways are about equal."""
    heights = sum(abs(piece.end.y - piece.start.y) for piece in curve.pieces)
    tight = sum(piece.end.y != piece.start.y and piece.end.x - piece.start.x < _BENDS[0] for piece in curve.pieces)
    return heights + 20 * tight + len(curve.pieces)
