"""Tooltip next to the pointer with the values of all curves."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QWidget

from studio.ui import number_format
from studio.ui.theme import fonts

_MAX_ROWS = 24
"""Maximum number of rows; more would not fit the panel."""


@dataclass(frozen=True, slots=True)
class Reading:
    run: str
    kind: str
    value: float
    color: QColor


class CrosshairReadout(QLabel):
    """A child of the window, so that it can extend beyond a small plot."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._plot = parent
        self.setProperty("role", "readout")
        self.setFont(fonts.interface(12))
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_at(self, position: QPoint, title: str, readings: Sequence[Reading]) -> None:
        """Show beside `position`, in plot coordinates, on the side with more space."""
        window = self._plot.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        rows = "".join(map(_row, readings[:_MAX_ROWS]))
        more = f"<br>and {len(readings) - _MAX_ROWS} more" if len(readings) > _MAX_ROWS else ""
        self.setText(f"{title}<table cellspacing='0'>{rows}</table>{more}")
        self.adjustSize()
        origin = self._plot.mapTo(window, position)
        left = origin.x() + 14
        if left + self.width() > window.width() - 4:
            left = origin.x() - 14 - self.width()
        top = min(max(origin.y() - self.height() // 2, 4), max(window.height() - self.height() - 4, 4))
        self.move(max(left, 4), top)
        self.show()
        self.raise_()


def _row(reading: Reading) -> str:
    line = "&#9473;" if reading.kind == "train" else "&#9477;"
    return (
        f'<tr><td style="color:{reading.color.name()}">{line}&nbsp;</td>'
        f"<td>{html.escape(reading.run)} {reading.kind}&nbsp;&nbsp;</td>"
        f'<td align="right">{number_format.measured(reading.value)}</td></tr>'
    )
