"""A small drawn picture of a graph: nodes as blocks in their colours, wires between them."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.document.model import Document
from studio.nodes.catalogue import Catalogue
from studio.ui import icons, theme
from studio.ui.layered import Link, Spacing, arrange

_MARGIN = 16.0
_LARGEST_STEP = 40.0
_SPACING = Spacing(column=0, row=0, bend=0.5, grid=0.25)


class Thumbnail(QWidget):
    """Laid out for a small place, whatever the document's own layout is."""

    def __init__(self, document: Document, catalogue: Catalogue, height: int = 120) -> None:
        super().__init__()
        self._document = document
        self._categories = {
            name: kind.category if (kind := catalogue.get(node.type)) else "unknown"
            for name, node in document.nodes.items()
        }
        self._icons = {
            name: kind.icon if (kind := catalogue.get(node.type)) else "unknown"
            for name, node in document.nodes.items()
        }
        links = [Link(wire.source.node, wire.target.node) for wire in document.wires]
        self._layout = arrange(dict.fromkeys(document.nodes, (1.0, 1.0)), links, _SPACING).places
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
        places = self._places()
        pen = QPen(colors.color("border-strong"), 1.5)
        for wire in self._document.wires:
            if wire.source.node in places and wire.target.node in places:
                painter.strokePath(_curve(places[wire.source.node], places[wire.target.node]), pen)
        for name, place in places.items():
            painter.setPen(Qt.PenStyle.NoPen)
            color = colors.category(self._categories[name])
            painter.setBrush(color)
            painter.drawRoundedRect(place, 4, 4)
            side = min(place.height() - 6, place.width() - 6, 14.0)
            if side >= 9:
                picture = QRectF(0, 0, side, side)
                picture.moveCenter(place.center())
                icons.paint(painter, self._icons[name], picture, colors.on(color))

    def _places(self) -> dict[str, QRectF]:
        """The nodes' rectangles in the widget."""
        if not self._layout:
            return {}
        room = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        xs, ys = zip(*self._layout.values(), strict=True)
        step = min(room.width() / (max(xs) + 1), _LARGEST_STEP)
        down = min(room.height() / (max(ys) - min(ys) + 1), step)
        width, height = step * 0.68, min(step * 0.68, down * 0.8)
        left = room.center().x() - (max(xs) * step + width) / 2
        middle = (max(ys) + min(ys)) / 2
        return {
            name: QRectF(left + x * step, room.center().y() + (y - middle) * down - height / 2, width, height)
            for name, (x, y) in self._layout.items()
        }


def _curve(source: QRectF, target: QRectF) -> QPainterPath:
    start = QPointF(source.right(), source.center().y())
    end = QPointF(target.left(), target.center().y())
    reach = max(abs(end.x() - start.x()) / 2, 6.0)
    path = QPainterPath(start)
    path.cubicTo(start + QPointF(reach, 0), end - QPointF(reach, 0), end)
    return path
