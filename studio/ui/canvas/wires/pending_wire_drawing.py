"""Draw a wire that is not in the document yet over the canvas."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter

from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.geometry import Point
from studio.ui.canvas.nodes.node_layout import PORT
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.canvas.wires.wire_curve import WireCurve, wire_curve
from studio.ui.canvas.wires.wire_painter import curve_path
from studio.ui.canvas.wires.wire_role import wire_role


def show_pending_wire(scene: CanvasScene, pending: PendingWire, loose: Point, *, refused: bool = False) -> None:
    """Show the wire with its loose end at a scene position, until the gesture overlay is cleared."""
    fixed = scene.nodes[pending.fixed.node].port(pending.side, pending.fixed.port)
    curve = wire_curve(fixed, loose) if pending.side == "output" else wire_curve(loose, fixed)
    box = curve.box
    rect = QRectF(box.left, box.top, box.width, box.height)
    scene.gesture_overlay.show_drawing(rect, partial(_draw, curve, loose, pending, refused))


def _draw(
    curve: WireCurve, loose: Point, pending: PendingWire, refused: bool, painter: QPainter, paint_context: PaintContext
) -> None:
    style, role = paint_context.style, wire_role(pending.kind, pending.fixed.port)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(style.wire_error if refused else style.wire_highlighted[role])
    painter.drawPath(curve_path(curve))
    painter.setPen(style.rim)
    painter.setBrush(style.error if refused else style.port_brush[role])
    painter.drawEllipse(QPointF(*loose), PORT, PORT)
