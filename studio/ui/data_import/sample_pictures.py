"""Pictures of the first samples of an import."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.training.data.imports.preview_samples import PreviewSamples
from studio.ui.panels.data.sample_painting import paint_numbers
from studio.ui.theme import fonts, theme

_SIDE, _CAPTION, _GAP, _LINE = 80, 18, 12, 22


class SamplePictures(QWidget):
    """As many samples as fit, each above its class or target; lines of a text."""

    def __init__(self) -> None:
        super().__init__()
        self._samples: PreviewSamples | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_samples(self, samples: PreviewSamples | None) -> None:
        self._samples = samples
        self.setVisible(samples is not None)
        labels = ", ".join(samples.labels) if samples is not None else ""
        self.setAccessibleName(f"Training samples: {labels}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(4 * (_SIDE + _GAP), 2 * (_SIDE + _CAPTION + _GAP))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._samples is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._samples.kind == "text":
            self._paint_lines(painter, self._samples)
        else:
            self._paint_grid(painter, self._samples)

    def _paint_lines(self, painter: QPainter, samples: PreviewSamples) -> None:
        painter.setFont(fonts.monospace())
        painter.setPen(theme.current().color("text"))
        for index, text in enumerate(samples.labels[: max(self.height() // _LINE, 1)]):
            area = QRect(0, index * _LINE, self.width(), _LINE)
            line = painter.fontMetrics().elidedText(" ".join(text.split()), Qt.TextElideMode.ElideRight, area.width())
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, line)

    def _paint_grid(self, painter: QPainter, samples: PreviewSamples) -> None:
        columns = max((self.width() + _GAP) // (_SIDE + _GAP), 1)
        rows = max((self.height() + _GAP) // (_SIDE + _CAPTION + _GAP), 1)
        painter.setFont(fonts.interface(12))
        for index, values in enumerate(samples.inputs[: columns * rows]):
            row, column = divmod(index, columns)
            area = QRect(column * (_SIDE + _GAP), row * (_SIDE + _CAPTION + _GAP), _SIDE, _SIDE)
            paint_numbers(painter, area, values, samples.kind, samples.scale)
            painter.setPen(theme.current().color("text-dim"))
            caption = QRect(area.left(), area.bottom() + 2, _SIDE, _CAPTION)
            text = painter.fontMetrics().elidedText(samples.labels[index], Qt.TextElideMode.ElideRight, _SIDE)
            painter.drawText(caption, Qt.AlignmentFlag.AlignVCenter, text)


__all__ = ["SamplePictures"]
