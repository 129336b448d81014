"""Legend of the overlay of compiled regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from studio.training.regions import Map
from studio.ui.canvas.region_style import RegionStyle
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel, label

_MOST = 4
"""Number of segments that are named."""
_FEW = 2
"""The same on a narrow canvas."""
_NARROW = 640
_WORDS = 260


class RegionLegend(QFrame):
    def __init__(self, hide: Callable[[], object], explain: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self.setAccessibleName("Legend of compiled regions")
        self._shown: object = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(10, 4, 4, 4)
        self._row.setSpacing(14)
        self._samples = QHBoxLayout()
        self._samples.setSpacing(14)
        self._row.addLayout(self._samples)
        self._words = ElidedLabel("", self)
        self._words.setProperty("role", "dim")
        self._words.setFont(fonts.interface(12))
        self._row.addWidget(self._words)
        self.button = buttons.text_button("Explain", explain, kind="link", parent=self)
        self._row.addWidget(self.button)
        close = buttons.icon_button("close", "Hide compiled regions", hide, token="text-dim", size=12)
        close.setProperty("kind", "small")
        self._row.addWidget(close)

    def show_map(self, map: Map, words: str, action: str, room: int) -> None:
        """Show samples of the drawn regions, a message, and the label of a button."""
        shown = (map, words, action, room < _NARROW)
        if shown == self._shown:
            return
        self._shown = shown
        while (item := self._samples.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._fill(map, _FEW if room < _NARROW else _MOST)
        self._words.setText(words)
        self._words.setFixedWidth(min(self._words.sizeHint().width() + 1, _WORDS))
        self._words.setVisible(bool(words))
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self._row.activate()
        self.adjustSize()

    def _fill(self, map: Map, most: int) -> None:
        for region in map.regions[:most]:
            self._add("region", f"Segment {region.segment}", region.segment)
        if len(map.regions) > most:
            text = label(f"+{len(map.regions) - most}", "dim")
            self._samples.addWidget(text)
            text.show()
        grouped = next((region.segment for region in map.regions if region.groups), None)
        if grouped is not None:
            self._add("kernel", "One kernel", grouped)
        if map.bridges:
            self._add("bridge", "Graph break")

    def _add(self, kind: Literal["region", "kernel", "bridge"], words: str, segment: int = 1) -> None:
        pair = QWidget(self)
        line = QHBoxLayout(pair)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        line.addWidget(_Sample(kind, segment))
        text = label(words)
        text.setFont(fonts.interface(12))
        line.addWidget(text)
        self._samples.addWidget(pair)
        pair.show()  # so that the layout counts its size at once


class _Sample(QWidget):
    """A sample of what is drawn on the canvas."""

    def __init__(self, kind: str, segment: int) -> None:
        super().__init__()
        self._kind, self._segment = kind, segment
        self.setFixedSize(QSize(24, 16))

    def paintEvent(self, event: QPaintEvent) -> None:
        style = RegionStyle(theme.current())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        body = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self._kind == "bridge":
            pen = QPen(style.plank(), 10, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
            pen.setDashPattern([0.28, 0.4])
            painter.setPen(pen)
            painter.drawLine(QLineF(body.left(), body.center().y(), body.right(), body.center().y()))
            return
        painter.setPen(QPen(style.line(self._segment), 1.25))
        painter.setBrush(style.fill(self._segment))
        painter.drawRoundedRect(body, 5, 5)
        if self._kind == "kernel":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.band(self._segment))
            painter.drawRoundedRect(body.adjusted(4, 3.5, -3, -2.5), 3, 3)
            painter.setBrush(style.line(self._segment))
            painter.drawRoundedRect(QRectF(2, 1.5, 8, 7), 2, 2)


__all__ = ["RegionLegend"]
