"""A small preview of a graph: nodes as colored blocks, wires between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.inspect.layered_layout import Layout, Link, Spacing, arrange
from studio.document.model import Document
from studio.lowering.analysis.block_types import known_type
from studio.nodes.catalogue import Catalogue
from studio.ui.theme import icons, theme

_MARGIN = 16.0
_MAX_STEP = 40.0
_SPACING = Spacing(column=0, row=0, bend=0.5, grid=0.25)


class GraphThumbnail(QWidget):
    """Uses a compact layout instead of the document's node positions."""

    def __init__(self, document: Document, catalogue: Catalogue, height: int = 120) -> None:
        super().__init__()
        self._document = document
        self._categories = {
            name: kind.category if (kind := known_type(document, catalogue, name)) else "unknown"
            for name in document.nodes
        }
        self._icons = {
            name: kind.icon if (kind := known_type(document, catalogue, name)) else "unknown" for name in document.nodes
        }
        self._height = height
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def sizeHint(self) -> QSize:
        return QSize(240, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        clip = QPainterPath()
        clip.addRoundedRect(QRectF(self.rect()), 6, 6)
        painter.fillPath(clip, colors.color("background"))
        scale = self._scale()
        pen = QPen(colors.color("border-strong"), 1.5)
        for ends, route in self._layout.routes.items():
            start, end = (scale.block(self._layout.positions[name]) for name in ends)
            painter.strokePath(_path(start, [scale.block(point) for point in route], end), pen)
        for name, position in self._layout.positions.items():
            block = scale.block(position)
            painter.setPen(Qt.PenStyle.NoPen)
            color = colors.category(self._categories[name])
            painter.setBrush(color)
            painter.drawRoundedRect(block, 4, 4)
            side = min(block.height() - 6, block.width() - 6, 14.0)
            if side >= 9:
                picture = QRectF(0, 0, side, side)
                picture.moveCenter(block.center())
                icons.paint(painter, self._icons[name], picture, colors.on(color))

    @property
    def _layout(self) -> Layout[str]:
        """Computed when it is painted first: most previews are outside of the visible area."""
        return _arranged(
            tuple(self._document.nodes),
            tuple((wire.source.node, wire.target.node) for wire in self._document.wires),
        )

    def _scale(self) -> _Scale:
        """Scale that fits the layout into the widget, up to a maximum."""
        room = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        points = [*self._layout.positions.values(), *chain.from_iterable(self._layout.routes.values())]
        right = max((x for x, _ in points), default=0.0)
        ys = [y for _, y in points] or [0.0]
        step = min(room.width() / (right + 1), _MAX_STEP)
        down = min(room.height() / (max(ys) - min(ys) + 1), step)
        width, height = step * 0.68, min(step * 0.68, down * 0.8)
        left = room.center().x() - (right * step + width) / 2
        return _Scale(left, room.center().y() - height / 2, (max(ys) + min(ys)) / 2, step, down, width, height)


@lru_cache(maxsize=64)
def _arranged(names: tuple[str, ...], ends: tuple[tuple[str, str], ...]) -> Layout[str]:
    links = [Link(*pair) for pair in ends if set(names) >= set(pair)]
    return arrange(dict.fromkeys(names, (1.0, 1.0)), links, _SPACING)


class _Scale(NamedTuple):
    """Maps layout coordinates to pixels."""

    left: float
    center: float
    middle: float
    step: float
    down: float
    width: float
    height: float

    def block(self, position: tuple[float, float]) -> QRectF:
        """The rectangle of the node at a layout position."""
        x, y = position
        return QRectF(self.left + x * self.step, self.center + (y - self.middle) * self.down, self.width, self.height)


def _path(start: QRectF, crossed: Sequence[QRectF], end: QRectF) -> QPainterPath:
    """Path of a wire, horizontal where it crosses a column."""
    stops = [QPointF(start.right(), start.center().y())]
    for block in crossed:
        stops += [QPointF(block.left(), block.center().y()), QPointF(block.right(), block.center().y())]
    stops.append(QPointF(end.left(), end.center().y()))
    path = QPainterPath(stops[0])
    for before, stop in pairwise(stops):
        reach = QPointF((stop.x() - before.x()) / 2, 0)
        path.cubicTo(before + reach, stop - reach, stop)
    return path
