"""Charts of training and validation data: class balance, histograms, scatter plot."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.training.data.sample_preview import Part
from studio.training.data.statistics_records import ChannelFigures, Statistics
from studio.ui.theme import fonts, theme
from studio.ui.widgets.labels import tip

COLORS: dict[Part, int] = {"training": 0, "validation": 1}
"""Index of the theme's curve color for each part."""

_ROW = 24
_BAR = 7
_MAX_NAME_WIDTH = 120
_COUNT_WIDTH = 108


class ClassBars(QWidget):
    """A row per class: share of the training samples above share of the validation samples."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._statistics: Statistics | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Class balance")
        theme.manager().changed.connect(self.update)

    def show_statistics(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self.setAccessibleDescription("; ".join(self.text(row) for row in range(min(len(statistics.class_names), 20))))
        self.updateGeometry()
        self.update()

    def text(self, row: int) -> str:
        """Text of a class row."""
        if self._statistics is None:
            return ""
        counts = (f"{part.classes[row]:,} {part.part}" for part in self._statistics.parts)
        return f"{self._statistics.class_names[row]}: {', '.join(counts)} samples"

    def sizeHint(self) -> QSize:
        return QSize(280, _ROW * len(self._statistics.class_names) if self._statistics else 0)

    def minimumSizeHint(self) -> QSize:
        return QSize(220, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        statistics = self._statistics
        if statistics is None:
            return
        colors, painter = theme.current(), QPainter(self)
        painter.setFont(fonts.interface(12))
        measure = painter.fontMetrics()
        longest = max((measure.horizontalAdvance(name) for name in statistics.class_names[:500]), default=0)
        name_width = min(longest + 2, _MAX_NAME_WIDTH)  # advances are rounded
        left = name_width + 10
        room = max(self.width() - left - _COUNT_WIDTH, 20)
        most = max((max(part.classes, default=0) / max(part.samples, 1) for part in statistics.parts), default=1) or 1
        first = max(event.rect().top() // _ROW, 0)
        for row in range(first, min(event.rect().bottom() // _ROW + 1, len(statistics.class_names))):
            top = row * _ROW
            painter.setPen(colors.color("text"))
            name = measure.elidedText(statistics.class_names[row], Qt.TextElideMode.ElideRight, name_width)
            painter.drawText(QRect(0, top, name_width, _ROW), _LEFT, name)
            heights = len(statistics.parts) * _BAR + (len(statistics.parts) - 1)
            y = top + (_ROW - heights) // 2
            for part in statistics.parts:
                share = part.classes[row] / max(part.samples, 1)
                bar = QRectF(left, y, max(room * share / most, 1 if part.classes[row] else 0), _BAR)
                painter.fillRect(bar, QColor(colors.series[COLORS[part.part]]))
                y += _BAR + 1
            painter.setPen(colors.color("text-dim"))
            counts = " / ".join(f"{part.classes[row]:,}" for part in statistics.parts)
            painter.drawText(QRect(self.width() - _COUNT_WIDTH + 8, top, _COUNT_WIDTH - 8, _ROW), _RIGHT, counts)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and self._statistics is not None:
            row = event.pos().y() // _ROW
            if 0 <= row < len(self._statistics.class_names):
                QToolTip.showText(event.globalPos(), tip(self.text(row)))
                return True
        return super().event(event)


class HistogramView(QWidget):
    """Histogram of values: training filled, validation as a line, each normalized."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._channels: list[tuple[Part, ChannelFigures]] = []
        self.setMinimumSize(200, 96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Histogram")
        theme.manager().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(260, 140)

    def show_channels(self, channels: list[tuple[Part, ChannelFigures]]) -> None:
        """The same channel of each part."""
        self._channels = [(part, channel) for part, channel in channels if channel.numbers]
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, painter = theme.current(), QPainter(self)
        painter.setFont(fonts.interface(11))
        if not self._channels:
            painter.setPen(colors.color("text-dim"))
            painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), "No values")
            return
        area = QRectF(self.rect()).adjusted(4, 20, -4, -20)
        low = min(channel.histogram.low for _, channel in self._channels)
        histograms = [channel.histogram for _, channel in self._channels]
        high = max(each.low + each.width * len(each.counts) for each in histograms)
        densities = [
            [count / channel.numbers / channel.histogram.width for count in channel.histogram.counts]
            for _, channel in self._channels
        ]
        most = max(max(density) for density in densities) or 1.0
        unit = area.width() / ((high - low) or 1)
        for (part, channel), density in zip(self._channels, densities, strict=True):
            color = QColor(colors.series[COLORS[part]])
            statistics = channel.histogram
            steps: list[QPointF] = []
            for index, height in enumerate(density):
                left = area.left() + (statistics.low + index * statistics.width - low) * unit
                bar = QRectF(
                    left, area.bottom(), max(statistics.width * unit, 1), -area.height() * height / most
                ).normalized()
                if part == "training":
                    painter.fillRect(bar, color)
                else:
                    steps += [bar.topLeft(), bar.topRight()]
            if steps:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
                painter.setPen(QPen(color, 1.5))
                painter.drawPolyline(steps)
        painter.setPen(QPen(colors.color("border-strong"), 1))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        painter.setPen(colors.color("text-dim"))
        below = QRectF(area.left(), area.bottom() + 3, area.width(), 16)
        painter.drawText(below, _LEFT, number(min(channel.low for _, channel in self._channels)))
        painter.drawText(below, _RIGHT, number(max(channel.high for _, channel in self._channels)))
        painter.drawText(QRectF(4, 0, self.width() - 8, 16), _LEFT, self._channels[0][1].name)


class PointsView(QWidget):
    """Scatter plot of two-dimensional samples, colored by class: training filled, validation hollow."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._statistics: Statistics | None = None
        self.setMinimumSize(140, 110)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Scatter plot of the samples")
        theme.manager().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(180, 160)

    def show_statistics(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self.setVisible(any(part.points for part in statistics.parts))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        statistics = self._statistics
        points = [point for part in statistics.parts for point in part.points] if statistics is not None else []
        finite = [(x, y) for x, y, _ in points if math.isfinite(x) and math.isfinite(y)]
        if statistics is None or not finite:
            return
        colors, painter = theme.current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(6, 6, -6, -6)
        left, low = (min(pair[axis] for pair in finite) for axis in (0, 1))
        width, height = (max(pair[axis] for pair in finite) - start for axis, start in ((0, left), (1, low)))
        scale = min(area.width() / (width or 1), area.height() / (height or 1))
        across, up = (area.width() - width * scale) / 2, (area.height() - height * scale) / 2
        for part in statistics.parts:
            for x, y, number in part.points:
                if not (math.isfinite(x) and math.isfinite(y)):
                    continue
                color = QColor(colors.series[max(number, 0) % len(colors.series)])
                painter.setPen(QPen(color, 1) if part.part == "validation" else Qt.PenStyle.NoPen)
                painter.setBrush(color if part.part == "training" else Qt.BrushStyle.NoBrush)
                center = QPointF(area.left() + across + (x - left) * scale, area.bottom() - up - (y - low) * scale)
                painter.drawEllipse(center, 2, 2)


def number(value: float) -> str:
    """Four significant digits, but never fewer than the integer part has."""
    is_integer = abs(value) < 1e6 and (abs(value) >= 1000 or value == int(value))
    return f"{value:,.0f}" if is_integer else f"{value:.4g}"


_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

__all__ = ["COLORS", "ClassBars", "HistogramView", "PointsView", "number"]
