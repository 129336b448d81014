"""Marks of the checkpoints of runs, and of the steps at which breakpoints paused them, at the lower edge of a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from studio.training.runs.run_history import Run
from studio.ui.panels.runs.curves_item import run_color
from studio.ui.theme import theme

_SIZE = 5.0
"""Half the width of a mark in pixels."""


@dataclass(frozen=True, slots=True)
class CheckpointMark:
    """A checkpoint or a hit of a breakpoint, and its position on the horizontal axis in view coordinates."""

    run: Run
    step: int
    at: float
    reason: str = ""
    """Why a breakpoint paused the run at the step; empty for a checkpoint."""

    @property
    def title(self) -> str:
        if self.reason:
            return f"Breakpoint of {self.run.name} at step {self.step:,}: {self.reason}"
        return f"Checkpoint of {self.run.name} at step {self.step:,}"


class CheckpointMarks(pg.GraphicsObject):
    """Diamonds in the colors of the runs, and red dots for breakpoints; their size does not depend on the zoom."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: Sequence[CheckpointMark] = ()
        self.setZValue(15)

    def show_marks(self, marks: Sequence[CheckpointMark]) -> None:
        if marks != self.marks:
            self.marks = marks
            self.prepareGeometryChange()
            self.update()

    def near(self, x: float) -> CheckpointMark | None:
        """The mark that the pointer takes at a position in view coordinates."""
        found = min(self.marks, key=lambda mark: abs(mark.at - x), default=None)
        width = self.pixelWidth()
        return found if found is not None and abs(found.at - x) <= 1.6 * _SIZE * width else None

    def boundingRect(self) -> QRectF:
        found = self.viewRect()
        return QRectF() if found is None else found.normalized()

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()
        self.prepareGeometryChange()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        view = self.viewRect()
        if view is None or not self.marks:
            return
        transform = painter.worldTransform()
        painter.save()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.current().color("surface"), 1.5))
        for mark in self.marks:
            at = transform.map(QPointF(mark.at, view.top()))
            other = transform.map(QPointF(mark.at, view.bottom()))
            middle = QPointF(at.x(), max(at.y(), other.y()) - _SIZE - 2)
            if mark.reason:
                painter.setBrush(theme.current().color("error"))
                painter.drawEllipse(middle, _SIZE, _SIZE)
                continue
            corners = ((0, -_SIZE), (_SIZE, 0), (0, _SIZE), (-_SIZE, 0))
            painter.setBrush(run_color(mark.run))
            painter.drawPolygon(QPolygonF([middle + QPointF(x, y) for x, y in corners]), Qt.FillRule.OddEvenFill)
        painter.restore()


__all__ = ["CheckpointMark", "CheckpointMarks"]
