"""The one graphics item of a node. It is told what to show and holds no state of the document."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.ui.canvas.geometry import Box, Point, Side
from studio.ui.canvas.nodes.node_content import Face
from studio.ui.canvas.nodes.node_layout import Layout, node_layout
from studio.ui.canvas.nodes.node_painter import MARGIN, Look, Sketch, paint_node, sketch
from studio.ui.canvas.paint_context import Surface

NODE_Z, RAISED_Z = 1.0, 2.0


class NodeItem(QGraphicsRectItem):
    """Derived from the rectangle item so that Qt asks for bounds in C++, which a pan over thousands of nodes feels."""

    def __init__(self, surface: Surface, face: Face, at: tuple[float, float]) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(NODE_Z)
        self.setPos(*at)
        self._surface = surface
        self.look = Look()
        self.face = face
        self.layout: Layout
        self._sketch: Sketch | None = None
        self._arrange()

    @property
    def name(self) -> str:
        return self.face.name

    @property
    def at(self) -> tuple[float, float]:
        return self.x(), self.y()

    @property
    def box(self) -> Box:
        return self.layout.box(self.at)

    def port(self, side: Side, name: str) -> Point:
        """The place of a port on the canvas."""
        place = self.layout.port(side, name)
        return Point(place.x + self.x(), place.y + self.y())

    def show_face(self, face: Face) -> bool:
        """Show something else. True if ports may have moved."""
        if face == self.face:
            return False
        old = self.layout
        self.face = face
        self._arrange()
        return self.layout != old

    def restyle(self) -> None:
        """Take over another theme or font."""
        self._arrange()

    def look_selected(self, selected: bool) -> None:
        self.look.selected = selected
        self.setZValue(RAISED_Z if selected else NODE_Z)
        self.update()

    def set_quiet(self, quiet: bool) -> None:
        """Leave the drawing to the layer that draws everything at once."""
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemHasNoContents, quiet)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style = self._surface.style
        if self._sketch is None:
            self._sketch = sketch(self.face, self.layout, style)
        paint_node(painter, self._sketch, self.look, style, self._surface.zoom)

    def _arrange(self) -> None:
        style = self._surface.style
        self.layout = node_layout(self.face, style.measure)
        self._sketch = None  # made when it is painted: most nodes of a large graph are not, for long
        self.setRect(QRectF(0, 0, self.layout.width, self.layout.height).adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN))
        self.update()
