"""What the colours of the overlay mean, in a corner of the canvas."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from studio.training.regions import Map
from studio.ui import figures, fonts, theme
from studio.ui.canvas import region_style
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label

_SHOWN = 5
"""Segments that are named."""


class RegionLegend(QFrame):
    def __init__(self, hide: Callable[[], object], explain: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self.setAccessibleName("Legend of compiled regions")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(10, 6, 10, 8)
        self._column.setSpacing(4)
        head = QHBoxLayout()
        head.setSpacing(8)
        title = label("Compiled training step", "section")
        head.addWidget(title)
        head.addStretch(1)
        close = buttons.tool("close", "Hide compiled regions", hide, token="text-dim", size=12)
        close.setProperty("kind", "small")
        head.addWidget(close)
        self._column.addLayout(head)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(3)
        self._column.addLayout(self._rows)
        self._words = label("", "dim", wrap=True)
        self._words.setFont(fonts.interface(12))
        self._words.setFixedWidth(196)
        self._column.addWidget(self._words)
        self.button = buttons.push("Explain", explain, kind="link")
        self._column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)

    def show_map(self, map: Map, words: str, action: str) -> None:
        """The samples of what is drawn; a remark, and what can be done about it."""
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for region in map.regions[:_SHOWN]:
            kernels = figures.count(region.kernels, "kernels")
            self._add(_Sample("region", region.segment), f"Segment {region.segment}, {kernels}")
        if len(map.regions) > _SHOWN:
            self._add(_Sample("none"), f"and {len(map.regions) - _SHOWN} more segments")
        if any(region.groups for region in map.regions):
            self._add(_Sample("kernel", map.regions[0].segment), "Fused into one kernel")
        if map.bridges:
            self._add(_Sample("bridge"), "Bridge through Python")
        self._words.setText(words)
        self._words.setVisible(bool(words))
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self.adjustSize()

    def _add(self, sample: QWidget, words: str) -> None:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(sample)
        text = label(words)
        text.setFont(fonts.interface(12))
        line.addWidget(text, 1)
        self._rows.addWidget(row)


class _Sample(QWidget):
    """A little of what is drawn on the canvas."""

    def __init__(self, kind: str, segment: int = 1) -> None:
        super().__init__()
        self._kind, self._segment = kind, segment
        self.setFixedSize(QSize(26, 16))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        body = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self._kind == "bridge":
            pen = QPen(region_style.plank(colors), 10, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
            pen.setDashPattern([0.28, 0.4])
            painter.setPen(pen)
            painter.drawLine(QLineF(body.left(), body.center().y(), body.right(), body.center().y()))
        elif self._kind == "region":
            painter.setPen(QPen(region_style.line(colors, self._segment), 1.25))
            painter.setBrush(region_style.fill(colors, self._segment))
            painter.drawRoundedRect(body, 5, 5)
        elif self._kind == "kernel":
            painter.setPen(QPen(region_style.line(colors, self._segment), 1.0))
            painter.setBrush(region_style.group_fill(colors, self._segment))
            painter.drawRoundedRect(body.adjusted(2, 2, 0, 0), 4, 4)
            tag = QRectF(0, 0, 10, 9)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(region_style.line(colors, self._segment))
            painter.drawRoundedRect(tag, 3, 3)


__all__ = ["RegionLegend"]
