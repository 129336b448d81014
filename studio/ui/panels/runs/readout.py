"""The box beside the pointer that tells the values of all curves there."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QWidget

from studio.ui import figures, fonts


@dataclass(frozen=True, slots=True)
class Reading:
    run: str
    kind: str
    value: float
    color: QColor


class Readout(QLabel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setProperty("role", "readout")
        self.setFont(fonts.interface(12))
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_at(self, place: QPoint, x: float, readings: Sequence[Reading]) -> None:
        """Beside `place`, on the side where there is room."""
        if not readings:
            self.hide()
            return
        rows = "".join(map(_row, readings))
        self.setText(f"Epoch {x:.2f}<table cellspacing='0'>{rows}</table>")
        self.adjustSize()
        left = place.x() + 14
        if left + self.width() > self._room.width() - 4:
            left = place.x() - 14 - self.width()
        top = min(max(place.y() - self.height() // 2, 4), max(self._room.height() - self.height() - 4, 4))
        self.move(max(left, 4), top)
        self.show()
        self.raise_()


def _row(reading: Reading) -> str:
    line = "&#9473;" if reading.kind == "train" else "&#9477;"
    return (
        f'<tr><td style="color:{reading.color.name()}">{line}&nbsp;</td>'
        f"<td>{html.escape(reading.run)} {reading.kind}&nbsp;&nbsp;</td>"
        f'<td align="right">{figures.measured(reading.value)}</td></tr>'
    )
