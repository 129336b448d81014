"""Pan the canvas while a gesture holds the pointer at the edge of the view."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPointF, QRectF, QTimer

_EDGE, _MAX_STEP = 28.0, 18.0
"""Width of the border zone that pans, and the maximum distance per timer tick, in pixels."""


class EdgePanner(QObject):
    def __init__(self, room: Callable[[], QRectF], pan: Callable[[float, float], None], parent: QObject) -> None:
        super().__init__(parent)
        self._room = room
        self._pan = pan
        self._speed = QPointF()
        self._timer = QTimer(self)
        self._timer.setInterval(16)
        self._timer.timeout.connect(self._step)

    def follow(self, pointer: QPointF) -> None:
        """Set the panning speed by the distance of the pointer to the edge."""
        room = self._room().adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
        dx = max(room.left() - pointer.x(), 0) - max(pointer.x() - room.right(), 0)
        dy = max(room.top() - pointer.y(), 0) - max(pointer.y() - room.bottom(), 0)
        self._speed = QPointF(_limited(dx), _limited(dy))
        if self._speed.isNull():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _step(self) -> None:
        self._pan(self._speed.x(), self._speed.y())


def _limited(distance: float) -> float:
    return min(max(distance * 0.4, -_MAX_STEP), _MAX_STEP)
