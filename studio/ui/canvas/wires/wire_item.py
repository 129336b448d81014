"""The one graphics item of a wire."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import Wire
from studio.nodes.types import PortType
from studio.ui.canvas.geometry import Box, Point
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.canvas.paint_context import Surface
from studio.ui.canvas.wires import wire_label, wire_painter
from studio.ui.canvas.wires.route_search import Surroundings, around
from studio.ui.canvas.wires.wire_curve import Curve, wire_curve
from studio.ui.canvas.wires.wire_kind import Flow, flow
from studio.ui.canvas.wires.wire_label import Label

WIRE_Z, HOVERED_Z = 0.0, 3.0
_MARGIN = 18.0


class WireItem(QGraphicsRectItem):
    """Derived from the rectangle item for the same reason as nodes are."""

    def __init__(self, surface: Surface, wire: Wire, kind: PortType, start: Point, end: Point) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(WIRE_Z)
        self._surface = surface
        self.wire = wire
        self.kind = kind
        self.label = ""
        self.error = ""
        self._lit = False
        self._hovered = False
        self._selected = False
        self._lifted = False
        self._found: tuple[tuple[int, Zoom, str, bool], Label | None] | None = None
        self._direct = wire_curve(start, end)
        self.curve: Curve = self._direct
        self.path: QPainterPath = wire_painter.curve_path(self.curve)
        self._frame()

    def route(self, start: Point, end: Point) -> None:
        """Follow the nodes at its ends."""
        if start == self._direct.start and end == self._direct.end:
            return
        self._direct = wire_curve(start, end)
        self._follow(self._direct)

    @property
    def rank(self) -> tuple[float, Wire]:
        """The order in which wires choose their ways: the shortest first."""
        start, end = self._direct.start, self._direct.end
        return abs(end.x - start.x) + abs(end.y - start.y), self.wire

    def avoid(self, look: Callable[[Box], Surroundings]) -> None:
        """Run around what `look` gives for a box."""
        curve = around(self._direct, look)
        if curve != self.curve:
            self._follow(curve)

    def _follow(self, curve: Curve) -> None:
        self.curve = curve
        self.path = wire_painter.curve_path(self.curve)
        self._found = None
        self._frame()
        self.update()

    def carry(self, kind: PortType, label: str, error: str) -> None:
        """What flows through it, as a type and as text, and what is wrong with it."""
        if (kind, label, error) != (self.kind, self.label, self.error):
            self.kind, self.label, self.error = kind, label, error
            self.update()

    def look(
        self,
        *,
        lit: bool | None = None,
        hovered: bool | None = None,
        selected: bool | None = None,
        lifted: bool | None = None,
    ) -> None:
        """How it stands: on the hovered path, under the pointer, selected, taken off its input."""
        before = (self._lit, self._hovered, self._selected, self._lifted)
        self._lit = self._lit if lit is None else lit
        self._hovered = self._hovered if hovered is None else hovered
        self._selected = self._selected if selected is None else selected
        self._lifted = self._lifted if lifted is None else lifted
        if before != (self._lit, self._hovered, self._selected, self._lifted):
            # The label of the wire under the pointer must not hide below a node.
            self.setZValue(HOVERED_Z if self._hovered else WIRE_Z)
            self._frame()
            self.update()

    @property
    def flow(self) -> Flow:
        return flow(self.kind, self.wire.source.port, self.wire.target.port)

    @property
    def is_lit(self) -> bool:
        return self._lit

    @property
    def is_selected(self) -> bool:
        return self._selected

    def pen(self) -> QPen:
        return wire_painter.pen(
            self._surface.style, self.flow, lit=self._lit, selected=self._selected, failed=bool(self.error)
        )

    def set_quiet(self, quiet: bool) -> None:
        """Leave the drawing to the layer that draws everything at once."""
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemHasNoContents, quiet)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style, zoom = self._surface.style, self._surface.zoom
        painter.setOpacity(0.25 if self._lifted else 1.0)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(self.pen())
        painter.drawPath(self.path)
        label = self.placed_label()
        if label is not None:
            wire_label.paint_label(painter, label, style, strong=self._hovered)
        if self.error:
            wire_painter.paint_mark(painter, self.curve, style, zoom, label.box if label else None)
        painter.setOpacity(1.0)

    def placed_label(self) -> Label | None:
        """The label as it is drawn; None where there is no room for it, or nothing to say."""
        if not self.label:
            return None
        if self._hovered:
            return wire_label.asked(self.curve, self.label, self._surface.zoom)
        # Looked for again only when nodes have moved or the zoom may have changed what is readable.
        asked = (self._surface.revision, self._surface.zoom, self.label, bool(self.error))
        if self._found is None or self._found[0] != asked:
            self._found = (
                asked,
                wire_label.unasked(
                    self.curve, self.label, self._surface, beside=wire_painter.MARK if self.error else 0.0
                ),
            )
        return self._found[1]

    def _frame(self) -> None:
        """Bounds: the curve, and the label where it is drawn unasked on a short wire."""
        box = self.curve.box
        rect = QRectF(box.left, box.top, box.width, box.height)
        if self._hovered and self.label:
            rect = rect.united(wire_label.asked(self.curve, self.label, self._surface.zoom).rect)
        self.setRect(rect.adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN))
