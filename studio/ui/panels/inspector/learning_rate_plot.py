"""A small plot of an optimizer's scheduled learning rate."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from studio.lowering.schedules.learning_rate_plan import LearningRatePlan
from studio.ui.theme import fonts, theme
from studio.ui.widgets.labels import label

_HEIGHT = 112
_TEXT = 16.0


class LearningRatePlot(QWidget):
    """The curve and notes about what it leaves out."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(label("Learning-rate schedule", "section"))
        self.plot = _StepCurve()
        column.addWidget(self.plot)
        self._note = label("", "dim", wrap=True)
        column.addWidget(self._note)
        self._plan: LearningRatePlan | None = None
        self.hide()

    def show_schedule(self, plan: LearningRatePlan | None) -> None:
        """Draw a schedule; None hides the plot."""
        self.setVisible(plan is not None)
        if plan is None or plan == self._plan:
            return
        self._plan = plan
        rates = plan.rates()
        self.plot.show_rates(rates, plan.unit)
        self.plot.setVisible(bool(rates))
        notes = [] if rates else ["The run is too long to plot its schedule."]
        if plan.excludes_plateau:
            notes.append("Reduce on plateau lowers the learning rate further when the validation loss stops improving.")
        self._note.setText(" ".join(notes))
        self._note.setVisible(bool(notes))


class _StepCurve(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.rates: list[tuple[float, float]] = []
        self._unit = "epoch"
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Learning-rate schedule")

    def show_rates(self, rates: list[tuple[float, float]], unit: str) -> None:
        self.rates, self._unit = rates, unit
        if rates:
            values, end = [rate for _, rate in rates], f"{rates[-1][0]:g} {unit}s"
            summary = f"From {values[0]:.3g} to {values[-1]:.3g}, maximum {max(values):.3g}, over {end}"
            self.setToolTip(summary)
            self.setAccessibleDescription(summary)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.rates:
            return
        colors = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(fonts.interface(11))
        area = QRectF(self.rect()).adjusted(1, _TEXT, -1, -_TEXT)
        self._frame(painter, area, colors.color("border"), colors.color("text-dim"))
        painter.setPen(QPen(colors.category("optimizer"), 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        painter.drawPolyline(self._line(area.adjusted(0, 2, 0, -2)))

    def _frame(self, painter: QPainter, area: QRectF, border: QColor, text: QColor) -> None:
        painter.setPen(QPen(border, 1))
        for y in (area.top(), area.bottom()):
            painter.drawLine(QPointF(area.left(), round(y) + 0.5), QPointF(area.right(), round(y) + 0.5))
        painter.setPen(text)
        above = QRectF(area.left(), 0, area.width(), _TEXT - 1)
        below = QRectF(area.left(), area.bottom() + 1, area.width(), _TEXT - 1)
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        painter.drawText(above, left, f"{max(rate for _, rate in self.rates):.3g}")
        painter.drawText(below, left, "0")
        painter.drawText(below, right, f"{self._unit} {self.rates[-1][0]:g}")

    def _line(self, area: QRectF) -> QPolygonF:
        """A step curve with at most one point per pixel."""
        end = self.rates[-1][0]
        highest = max(rate for _, rate in self.rates) or 1.0
        stride = max(len(self.rates) // (2 * max(self.width(), 1)), 1)
        points: list[QPointF] = []
        for time, rate in [*self.rates[:-1:stride], self.rates[-1]]:
            x = area.left() + area.width() * time / end
            y = area.bottom() - area.height() * rate / highest
            if points:
                points.append(QPointF(x, points[-1].y()))
            points.append(QPointF(x, y))
        return QPolygonF(points)
