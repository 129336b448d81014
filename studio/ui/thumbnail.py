"""A small drawn picture of a graph: nodes as blocks in their colours, wires between them."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.document.model import Document
from studio.nodes.catalogue import Catalogue
from studio.ui import icons, theme

_NODE = (150.0, 60.0)
"""What a node measures on the canvas, near enough."""
_MARGIN = 16.0
_LARGEST_SCALE = 0.4


class Thumbnail(QWidget):
    """Follows the document's own layout, fitted into the widget."""

    def __init__(self, document: Document, catalogue: Catalogue, height: int = 112) -> None:
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
        if not self._document.nodes:
            return {}
        width, height = _NODE
        boxes = {name: QRectF(*node.at, width, height) for name, node in self._document.nodes.items()}
        whole = QRectF()
        for box in boxes.values():
            whole = whole.united(box)
        room = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        across = min(room.width() / whole.width(), _LARGEST_SCALE)
        down = min(room.height() / whole.height(), _LARGEST_SCALE)
        return {
            name: QRectF(
                room.center().x() + (box.x() - whole.center().x()) * across,
                room.center().y() + (box.y() - whole.center().y()) * down,
                max(box.width() * across * 0.86, 12.0),
                max(box.height() * down, 12.0),
            )
            for name, box in boxes.items()
        }


def _curve(source: QRectF, target: QRectF) -> QPainterPath:
    start = QPointF(source.right(), source.center().y())
    end = QPointF(target.left(), target.center().y())
    reach = max(abs(end.x() - start.x()) / 2, 6.0)
    path = QPainterPath(start)
    path.cubicTo(start + QPointF(reach, 0), end - QPointF(reach, 0), end)
    return path
