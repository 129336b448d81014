"""Paints the view of a tensor in a rectangle, on the canvas at its zoom or in a panel."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter, QPen

from studio.training.probing.views.histogram import Histogram
from studio.training.probing.views.matrices import MatrixGrid
from studio.training.probing.views.projection import Projection
from studio.training.probing.views.tensor_view import TensorView
from studio.ui import number_format
from studio.ui.tensor_views.color_scale import bounds_of, color_table, matrix_image
from studio.ui.tensor_views.plots import paint_histogram, paint_projection
from studio.ui.theme import fonts
from studio.ui.theme.theme import Theme

TEXT_PX = 11
_LINE, _GAP = 15.0, 4.0
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)
_STRIP = 6.0
"""Height of the color scale."""


@dataclass(slots=True)
class ViewPainter:
    """Paints one view at a time, and keeps its images until the view or the theme changes."""

    _view: TensorView | None = None
    _theme: Theme | None = None
    _images: list[QImage] = field(default_factory=list[QImage])
    font: QFont = field(default_factory=lambda: fonts.interface(TEXT_PX))
    mono: QFont = field(default_factory=lambda: fonts.monospace(TEXT_PX))

    def paint(self, painter: QPainter, area: QRectF, view: TensorView, theme: Theme, *, has_text: bool = True) -> None:
        """Paint a view. Without text, only its picture, which gets all the room."""
        if view is not self._view or theme is not self._theme:
            self._view, self._theme, self._images = view, theme, []
        painter.save()
        painter.setClipRect(area)
        match view.drawing:
            case Histogram():
                paint_histogram(painter, area, view.drawing, theme, self.font, has_text=has_text)
            case MatrixGrid():
                self._paint_matrices(painter, area, view, view.drawing, theme, has_text=has_text)
            case Projection():
                paint_projection(painter, area, view.drawing, theme, self.font, has_text=has_text)
            case _:
                if has_text:
                    self._paint_statistics(painter, area, view, theme)
        painter.restore()

    def _paint_statistics(self, painter: QPainter, area: QRectF, view: TensorView, theme: Theme) -> None:
        values = view.statistics
        rows = [("shape", f"{'×'.join(map(str, values.shape)) or 'scalar'} {values.dtype}")]
        if values.nan:
            rows.append(("NaN", f"{values.nan:,}"))
        if values.infinite:
            rows.append(("infinite", f"{values.infinite:,}"))
        if values.count == 1:
            rows.append(("value", number_format.measured(values.low)))
        elif values.nan + values.infinite < values.count:
            named = (("mean", values.mean), ("std", values.std), ("min", values.low), ("max", values.high))
            rows += [(name, number_format.measured(value)) for name, value in named]
            rows.append(("zeros", number_format.percent(values.zeros)))
        top = area.top()
        for name, text in rows:
            line = QRectF(area.left(), top, area.width(), _LINE + 1)
            painter.setFont(self.font)
            painter.setPen(theme.color("error" if name in ("NaN", "infinite") else "text-dim"))
            painter.drawText(line, _LEFT, name)
            painter.setFont(self.mono)
            painter.setPen(theme.color("text"))
            painter.drawText(line.adjusted(52, 0, 0, 0), _LEFT, self._elided(text, self.mono, line.width() - 52))
            top += _LINE + 1

    def _paint_matrices(
        self, painter: QPainter, area: QRectF, view: TensorView, grid: MatrixGrid, theme: Theme, *, has_text: bool
    ) -> None:
        is_image = view.kind == "images"
        if not self._images:
            self._images = [matrix_image(cell, grid, theme, is_image=is_image) for cell in grid.cells]
        picture = area.adjusted(0, 0, 0, -(_LINE + _STRIP + 2 * _GAP)) if has_text else area
        self._paint_grid(painter, picture, grid, stretched=view.kind == "heat map")
        if has_text:
            below = QRectF(area.left(), picture.bottom() + _GAP, area.width(), area.bottom() - picture.bottom() - _GAP)
            self._paint_scale(painter, below, grid, theme, is_image=is_image)

    def _paint_grid(self, painter: QPainter, area: QRectF, grid: MatrixGrid, *, stretched: bool) -> None:
        """Images side by side, as large as possible. A single matrix far from a square is stretched."""
        count = len(self._images)
        rows, columns = grid.cells.shape[1:3]
        gap = 0.0 if count == 1 else 2.0
        across = _columns(count, area, columns, rows, gap)
        down = math.ceil(count / across)
        width, height = (area.width() - gap * (across - 1)) / across, (area.height() - gap * (down - 1)) / down
        scale = min(width / columns, height / rows)
        if not (stretched and count == 1):
            width, height = columns * scale, rows * scale
        # Sharp values: pixels are not interpolated where they are enlarged.
        smooth = width * painter.transform().m11() < columns
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        left = area.left() + (area.width() - across * width - (across - 1) * gap) / 2
        top = area.top() + (area.height() - down * height - (down - 1) * gap) / 2
        for index, image in enumerate(self._images):
            x, y = left + index % across * (width + gap), top + index // across * (height + gap)
            painter.drawImage(QRectF(x, y, width, height), image, QRectF(image.rect()))

    def _paint_scale(self, painter: QPainter, area: QRectF, grid: MatrixGrid, theme: Theme, *, is_image: bool) -> None:
        """The color scale with its bounds, and the caption below."""
        low, high = (number_format.short(value) for value in bounds_of(grid))
        metrics = QFontMetricsF(self.mono)
        ends = metrics.horizontalAdvance(low) + _GAP, metrics.horizontalAdvance(high) + _GAP
        line = QRectF(area.left(), area.top() - 3, area.width(), _STRIP + 6)
        painter.setFont(self.mono)
        painter.setPen(theme.color("text-dim"))
        painter.drawText(line, _LEFT, low)
        painter.drawText(line, _RIGHT, high)
        strip = QRectF(area.left() + ends[0], area.top(), max(area.width() - sum(ends), 0), _STRIP)
        if grid.cells.ndim < 4 and strip.width() > 0:
            table = color_table(theme, is_signed=grid.is_signed, is_image=is_image)
            image = QImage(table.tobytes(), len(table), 1, 3 * len(table), QImage.Format.Format_RGB888)
            painter.drawImage(strip, image, QRectF(image.rect()))
            painter.setPen(QPen(theme.color("border"), 0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(strip)
        painter.setFont(self.font)
        painter.setPen(theme.color("text-dim"))
        caption = QRectF(area.left(), area.top() + _STRIP + _GAP, area.width(), _LINE)
        painter.drawText(caption, _LEFT, self._elided(grid_caption(grid), self.font, area.width()))

    def _elided(self, text: str, font: QFont, width: float) -> str:
        return QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, width)


def grid_caption(grid: MatrixGrid) -> str:
    """What matrices are, how large they are, and what is particular about them."""
    parts = [grid.caption] if grid.caption else []
    parts.append(f"{grid.shape[0]}×{grid.shape[1]}")
    if grid.is_averaged and grid.cells.ndim < 4:
        parts.append("means of blocks")
    if grid.row_sums is not None:
        low, high = grid.row_sums
        is_softmax = grid.low >= 0 and abs(low - 1) < 1e-2 and abs(high - 1) < 1e-2
        parts.append("rows sum to 1" if is_softmax else "rows do not sum to 1")
    return " · ".join(parts)


def _columns(count: int, area: QRectF, columns: int, rows: int, gap: float) -> int:
    """How many images side by side make them largest."""
    best, found = 0.0, 1
    for across in range(1, count + 1):
        down = math.ceil(count / across)
        width, height = (area.width() - gap * (across - 1)) / across, (area.height() - gap * (down - 1)) / down
        scale = min(width / columns, height / rows)
        if scale > best * 1.0001:
            best, found = scale, across
    return found


def paint_message(painter: QPainter, area: QRectF, text: str, theme: Theme, *, token: str = "text-dim") -> None:
    """Why there is no view."""
    painter.setFont(fonts.interface(TEXT_PX))
    painter.setPen(theme.color(token))
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    painter.drawText(area, int(flags), text)


__all__ = ["TEXT_PX", "ViewPainter", "grid_caption", "paint_message"]
