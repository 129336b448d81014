"""Pan, zoom and fit of a graphics view, with animation."""

from __future__ import annotations

import math

from PySide6.QtCore import QObject, QPoint, QPointF, QRectF, Qt, QVariantAnimation, Signal
from PySide6.QtGui import QInputDevice, QTransform, QWheelEvent
from PySide6.QtWidgets import QGraphicsView

from studio.document.model import MAX_COORDINATE
from studio.ui.theme import motion

MIN_SCALE, MAX_SCALE = 0.05, 4.0
_MIN_FIT_SCALE = 0.001
"""Minimum scale that shows all of a large graph. Zooming out by hand ends at MIN_SCALE."""
_FIT_MARGIN = 32.0
_STEP = 1.2
"""Zoom factor of one wheel notch or key press at the default speed."""


class Camera(QObject):
    """Controls the visible part of a view without scroll bars over an unbounded canvas."""

    changed = Signal()

    def __init__(self, view: QGraphicsView) -> None:
        super().__init__(view)
        self._view = view
        self._scale = 1.0
        self._zoom_speed = 1.0
        self._center = QPointF(0, 0)
        self._goal: tuple[float, QPointF] | None = None
        self._from = (1.0, QPointF(0, 0))
        self._anchor: tuple[QPointF, QPointF] | None = None
        self._animation = QVariantAnimation(self, startValue=0.0, endValue=1.0)
        self._animation.setEasingCurve(motion.EASING)
        self._animation.valueChanged.connect(self._advance)
        view.setSceneRect(
            QRectF(-MAX_COORDINATE, -MAX_COORDINATE, 2 * MAX_COORDINATE, 2 * MAX_COORDINATE).adjusted(
                -1e5, -1e5, 1e5, 1e5
            )
        )

    def set_zoom_speed(self, speed: float) -> None:
        """Set the zoom steps of one notch; 1.0 is a factor of 1.2."""
        self._zoom_speed = speed

    @property
    def scale(self) -> float:
        return self._scale

    @property
    def visible(self) -> QRectF:
        """The visible scene rectangle."""
        size = self._view.viewport().size()
        return QRectF(self.to_scene(QPointF(0, 0)), self.to_scene(QPointF(size.width(), size.height())))

    @property
    def room(self) -> tuple[float, float]:
        """Width and height in pixels that `fit` fills."""
        size = self._view.viewport().size()
        return max(size.width() - 2 * _FIT_MARGIN, 40.0), max(size.height() - 2 * _FIT_MARGIN, 40.0)

    def to_scene(self, at: QPointF | QPoint) -> QPointF:
        """Scene position of a viewport point."""
        horizontal, vertical = self._view.horizontalScrollBar().value(), self._view.verticalScrollBar().value()
        return QPointF((at.x() + horizontal) / self._scale, (at.y() + vertical) / self._scale)

    def to_view(self, at: QPointF) -> QPointF:
        """Viewport point of a scene position."""
        horizontal, vertical = self._view.horizontalScrollBar().value(), self._view.verticalScrollBar().value()
        return QPointF(at.x() * self._scale - horizontal, at.y() * self._scale - vertical)

    def pan(self, dx: float, dy: float) -> None:
        """Pan by screen pixels."""
        self._animation.stop()
        horizontal, vertical = self._view.horizontalScrollBar(), self._view.verticalScrollBar()
        horizontal.setValue(horizontal.value() - round(dx))
        vertical.setValue(vertical.value() - round(dy))
        self.changed.emit()

    def zoom_by(self, notches: float, at: QPointF, *, animated: bool = True) -> None:
        """Zoom around `at`, a viewport point."""
        running = self._anchor is not None and self._animation.state() == QVariantAnimation.State.Running
        start = self._goal[0] if running and self._goal else self._scale
        self.zoom_to(start * math.pow(_STEP, notches * self._zoom_speed), at, animated=animated)

    def zoom_to(self, scale: float, at: QPointF | None = None, *, animated: bool = True) -> None:
        at = at if at is not None else QPointF(self._view.viewport().rect().center())
        smallest = min(MIN_SCALE, self._scale)
        self._begin(min(max(scale, smallest), MAX_SCALE), None, (at, self.to_scene(at)), animated)

    def fit(self, rect: QRectF, *, largest: float = 1.0, animated: bool = True) -> None:
        """Show all of `rect` at a scale of at most `largest`."""
        room = self.room
        scale = min(room[0] / max(rect.width(), 1), room[1] / max(rect.height(), 1), largest)
        self._begin(min(max(scale, _MIN_FIT_SCALE), MAX_SCALE), rect.center(), None, animated)

    def show(self, scale: float, center: QPointF) -> None:
        """Show a scene point in the center of the view at a scale, without animation."""
        self._begin(scale, center, None, animated=False)

    def center_on(self, point: QPointF, *, animated: bool = True) -> None:
        self._begin(self._scale, point, None, animated)

    def show_corner(self, scale: float, corner: QPointF) -> None:
        """Show a scene point in the top left corner of the view at a scale, without animation."""
        self._animation.stop()
        self._show_point_at(scale, QPointF(0, 0), corner)

    def reveal(self, rect: QRectF) -> None:
        """Pan just enough to make `rect` visible."""
        visible = self.visible
        inner = visible.adjusted(24 / self._scale, 24 / self._scale, -24 / self._scale, -24 / self._scale)
        dx = max(rect.right() - inner.right(), 0) + min(rect.left() - inner.left(), 0)
        dy = max(rect.bottom() - inner.bottom(), 0) + min(rect.top() - inner.top(), 0)
        if dx or dy:
            self.center_on(visible.center() + QPointF(dx, dy))

    def finish(self) -> None:
        """Jump to the end of the animation."""
        if self._animation.state() == QVariantAnimation.State.Running:
            self._animation.setCurrentTime(self._animation.duration())

    def _begin(
        self, scale: float, center: QPointF | None, anchor: tuple[QPointF, QPointF] | None, animated: bool
    ) -> None:
        self._animation.stop()
        self._from = (self._scale, self.visible.center())
        self._goal = (scale, center if center is not None else QPointF())
        self._anchor = anchor
        duration = motion.duration(120) if animated and self._view.isVisible() else 0
        if duration:
            self._animation.setDuration(duration)
            self._animation.start()
        else:
            self._advance(1.0)

    def _advance(self, t: float) -> None:
        if self._goal is None:
            return
        scale = self._goal[0] if t >= 1 else self._from[0] * math.pow(self._goal[0] / self._from[0], t)
        if self._anchor is not None:
            self._show_point_at(scale, *self._anchor)
            return
        # Move the center so that the goal keeps its screen position while the scale changes.
        old, new = self._from[1], self._goal[1]
        share = t if math.isclose(self._goal[0], self._from[0]) else _share(self._from[0], self._goal[0], scale)
        center = old + (new - old) * share
        self._show_point_at(scale, QPointF(self._view.viewport().rect().center()), center)

    def _show_point_at(self, scale: float, at: QPointF, point: QPointF) -> None:
        """Show scene point `point` at viewport point `at`."""
        if scale != self._scale:
            self._scale = scale
            self._view.setTransform(QTransform.fromScale(scale, scale))
        self._view.horizontalScrollBar().setValue(round(point.x() * scale - at.x()))
        self._view.verticalScrollBar().setValue(round(point.y() * scale - at.y()))
        self.changed.emit()


def _share(start: float, goal: float, now: float) -> float:
    """Fraction of the center's movement at scale `now`."""
    return (1 / start - 1 / now) / (1 / start - 1 / goal)


def is_touchpad(event: QWheelEvent) -> bool:
    """Whether a touchpad sent the event: two fingers pan, a wheel (no scroll phases) zooms."""
    device = event.device()
    return (
        device is not None and device.type() == QInputDevice.DeviceType.TouchPad
    ) or event.phase() != Qt.ScrollPhase.NoScrollPhase
