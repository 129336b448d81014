"""Legend of the overlay of compiled regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from studio.training.regions import RegionMap
from studio.ui.canvas.coloring.color_chooser import ColorChooser
from studio.ui.canvas.coloring.region_style import RegionStyle
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel, label

_MAX_SEGMENTS = 4
"""Maximum number of segments in the legend."""
_MAX_SEGMENTS_NARROW = 2
"""The same on a narrow canvas."""
_NARROW = 640
"""Width in pixels below which a canvas is narrow."""
_MESSAGE_WIDTH = 260
"""Maximum width of the message in pixels."""
_SampleKind = Literal["region", "kernel", "break"]


class RegionLegend(QFrame):
    def __init__(self, hide: Callable[[], object], explain: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self.setAccessibleName("Legend of compiled regions")
        self._shown: object = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(4, 3, 4, 3)
        self._row.setSpacing(14)
        self._samples = QHBoxLayout()
        self._samples.setSpacing(14)
        self._row.addLayout(self._samples)
        self._message = ElidedLabel("", self)
        self._message.setProperty("role", "dim")
        self._message.setFont(fonts.interface(12))
        self._row.addWidget(self._message)
        self.button = buttons.text_button("Explain", explain, kind="link", parent=self)
        self._row.addWidget(self.button)
        close = buttons.icon_button("close", "Hide compiled regions", hide, token="text-dim", size=12)
        close.setProperty("kind", "small")
        self._row.addWidget(close)

    def add_chooser(self, chooser: ColorChooser) -> None:
        """Show the list of figures before the samples."""
        chooser.show_figure("Compiled regions")
        self._row.insertWidget(0, chooser)

    def show_map(self, map: RegionMap, text: str, action: str, width: int) -> None:
        """Show samples of the drawn regions, a message, and the label of a button."""
        shown = (map, text, action, width < _NARROW)
        if shown == self._shown:
            return
        self._shown = shown
        while (item := self._samples.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._fill(map, _MAX_SEGMENTS_NARROW if width < _NARROW else _MAX_SEGMENTS)
        self._message.setText(text)
        self._message.setFixedWidth(min(self._message.sizeHint().width() + 1, _MESSAGE_WIDTH))
        self._message.setVisible(bool(text))
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self._row.activate()
        self.adjustSize()

    def _fill(self, map: RegionMap, most: int) -> None:
        for region in map.regions[:most]:
            self._add("region", f"Region {region.segment}", region.segment)
        if len(map.regions) > most:
            text = label(f"+{len(map.regions) - most}", "dim")
            self._samples.addWidget(text)
            text.show()
        grouped = next((region.segment for region in map.regions if region.groups), None)
        if grouped is not None:
            self._add("kernel", "One kernel", grouped)
        if map.breaks:
            self._add("break", "Graph break")

    def _add(self, kind: _SampleKind, title: str, segment: int = 1) -> None:
        pair = QWidget(self)
        line = QHBoxLayout(pair)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        line.addWidget(_Sample(kind, segment))
        text = label(title)
        text.setFont(fonts.interface(12))
        line.addWidget(text)
        self._samples.addWidget(pair)
        pair.show()  # so that the layout counts its size at once


class _Sample(QWidget):
    """A small sample of a drawing on the canvas."""

    def __init__(self, kind: _SampleKind, segment: int) -> None:
        super().__init__()
        self._kind, self._segment = kind, segment
        self.setFixedSize(QSize(24, 16))

    def paintEvent(self, event: QPaintEvent) -> None:
        style = RegionStyle(theme.current())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        body = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self._kind == "break":
            pen = QPen(style.graph_break(), 10, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
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
