"""Where a card is placed beside its target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QPoint, QRect, QSize

ARROW = 9
"""Space around the card for the arrow, in pixels."""
_CORNER = 24
"""Minimum distance of the arrow from a corner of the card."""

Side = Literal["left", "right", "above", "below", "over"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Geometry of a card, arrow included."""

    rect: QRect
    side: Side
    """Where the card is relative to the target; "over" if there is no room beside it."""
    tip: QPoint | None
    """Point of the arrow; None without one."""


def place_card(
    size: QSize, target: QRect | None, room: QRect, avoided: QRect | None = None, refuge: QPoint | None = None
) -> Placement:
    """The place beside the target where the card covers nothing of it, else the one where it covers least.

    Args:
        room: where the card must be
        avoided: what it should not cover either, such as the text of the lesson
        refuge: corner of the card where there is no room beside the target
    """
    avoided = avoided or QRect()
    if target is None or target.isEmpty():
        return Placement(_bounded(QRect(room.bottomLeft(), size), room), "over", None)
    beside: dict[Side, QRect] = {side: _bounded(rect, room) for side, rect in _beside(size, target)}
    for side, rect in beside.items():
        if not rect.intersects(target) and not rect.intersects(avoided):
            return Placement(rect, side, _tip(side, rect, target))
    corners = [
        QRect(QPoint(x, y), size)
        for y in (target.bottom() - size.height(), target.top())
        for x in (target.left(), target.right() - size.width())
    ]
    corners = ([] if refuge is None else [QRect(refuge, size)]) + corners
    covering = [_bounded(rect, room) for rect in corners] + [*beside.values()]

    def covered(rect: QRect) -> int:
        return _area(rect.intersected(target)) + _area(rect.intersected(avoided))

    return Placement(min(covering, key=covered), "over", None)


def _beside(size: QSize, target: QRect) -> Iterator[tuple[Side, QRect]]:
    x, y = target.center().x() - size.width() // 2, target.center().y() - size.height() // 2
    yield "below", QRect(QPoint(x, target.bottom() + 1), size)
    yield "right", QRect(QPoint(target.right() + 1, y), size)
    yield "left", QRect(QPoint(target.left() - size.width(), y), size)
    yield "above", QRect(QPoint(x, target.top() - size.height()), size)


def _tip(side: Side, rect: QRect, target: QRect) -> QPoint:
    """The point on the edge of the card that is nearest to the middle of the target."""
    x = min(max(target.center().x(), rect.left() + _CORNER), rect.right() - _CORNER)
    y = min(max(target.center().y(), rect.top() + _CORNER), rect.bottom() - _CORNER)
    match side:
        case "below":
            return QPoint(x, rect.top())
        case "above":
            return QPoint(x, rect.bottom())
        case "right":
            return QPoint(rect.left(), y)
        case _:
            return QPoint(rect.right(), y)


def _bounded(rect: QRect, room: QRect) -> QRect:
    """The rectangle, moved into the room."""
    x = max(min(rect.left(), room.right() + 1 - rect.width()), room.left())
    y = max(min(rect.top(), room.bottom() + 1 - rect.height()), room.top())
    return QRect(QPoint(x, y), rect.size())


def _area(rect: QRect) -> int:
    return max(rect.width(), 0) * max(rect.height(), 0)
