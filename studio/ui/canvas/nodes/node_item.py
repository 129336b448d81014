"""The graphics item of a node."""

from __future__ import annotations

from itertools import count

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.ui.canvas.geometry import Box, Point, Side
from studio.ui.canvas.nodes.node_content import NodeContent
from studio.ui.canvas.nodes.node_layout import NodeLayout, node_layout
from studio.ui.canvas.nodes.node_painter import MARGIN, NodeDrawing, NodeState, paint_node, prepare_drawing
from studio.ui.canvas.paint_context import PaintContext

NODE_Z, RAISED_Z = 1.0, 2.0
_numbers = count()


class NodeItem(QGraphicsRectItem):
    """Derived from QGraphicsRectItem so that Qt reads the bounds in C++, which speeds up panning."""

    def __init__(self, paint_context: PaintContext, content: NodeContent, at: tuple[float, float]) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(NODE_Z)
        self.setPos(*at)
        self.at = at
        """Position of the top left corner. Kept here, because reading it from Qt is slow for thousands of nodes."""
        self.number = next(_numbers)
        """Increases with each node: among overlapping nodes the newest is on top."""
        self._paint_context = paint_context
        self.state = NodeState()
        self.content = content
        self.layout: NodeLayout
        self.box: Box
        self._drawing: NodeDrawing | None = None
        self._update_layout()

    @property
    def name(self) -> str:
        return self.content.name

    def move_to(self, at: tuple[float, float]) -> None:
        self.setPos(*at)
        self.place_at(at)

    def place_at(self, at: tuple[float, float]) -> None:
        """Set the position, but show the node where it was, until `move_to`."""
        self.at = at
        self.box = self.layout.box(at)

    def port(self, side: Side, name: str) -> Point:
        """Scene position of a port."""
        position = self.layout.port(side, name)
        return Point(position.x + self.at[0], position.y + self.at[1])

    def set_content(self, content: NodeContent) -> bool:
        """Set the content. Returns whether ports may have moved."""
        if content == self.content:
            return False
        old = self.layout
        self.content = content
        self._update_layout()
        return self.layout != old

    def restyle(self) -> None:
        """Apply a changed theme or font."""
        self._update_layout()

    def set_selected(self, selected: bool) -> None:
        self.state.selected = selected
        self.setZValue(RAISED_Z if selected else NODE_Z)
        self.update()

    def set_painting_disabled(self, disabled: bool) -> None:
        """Disable painting while the overview layer paints all items."""
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemHasNoContents, disabled)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style = self._paint_context.style
        if self._drawing is None:
            self._drawing = prepare_drawing(self.content, self.layout, style)
        paint_node(painter, self._drawing, self.state, style, self._paint_context.zoom)

    def _update_layout(self) -> None:
        style = self._paint_context.style
        self.layout = node_layout(self.content, style.measure)
        self.box = self.layout.box(self.at)
        self._drawing = None  # created on first paint: most nodes of a large graph are off screen
        self.setRect(QRectF(0, 0, self.layout.width, self.layout.height).adjusted(-MARGIN, -MARGIN, MARGIN, MARGIN))
        self.update()
