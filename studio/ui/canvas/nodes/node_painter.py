"""Painting of one node at the three levels of detail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPainterPath

from studio.training.statistics.color_scale import Shade
from studio.ui.canvas.canvas_style import NAME_PX, CanvasStyle, interface_font
from studio.ui.canvas.level_of_detail import LevelOfDetail, Zoom
from studio.ui.canvas.nodes.far_name import FAR_TEXT, FarName, far_name
from studio.ui.canvas.nodes.node_content import NodeContent
from studio.ui.canvas.nodes.node_layout import CORNER, HEADER, PORT, NodeLayout
from studio.ui.canvas.wires.wire_role import WireRole, wire_role

MARGIN = 14.0
"""How far ports, glow, badges and outline extend beyond the node."""

_ICON = 16.0
_BADGE = 16.0
_SHORTEST_KIND = 24.0
"""Beside a long name, a type that would have less room is left out."""


@dataclass(slots=True)
class NodeDrawing:
    """Precomputed paths and text positions of a node."""

    content: NodeContent
    layout: NodeLayout
    body: QPainterPath
    header: QPainterPath
    name: str
    kind: str
    kind_x: float
    line: str
    ports: tuple[tuple[str, WireRole, QPointF], ...] = ()
    """Key as in `NodeState`, role and position."""
    labels: tuple[tuple[str, QPointF], ...] = ()
    badges: tuple[tuple[str, QColor], ...] = ()
    """Icon and color of each state that the node shows."""
    far_name: tuple[int, FarName] | None = None
    """Cached name at low zoom, with the preferred font size."""


@dataclass(slots=True)
class NodeState:
    """Visual state that changes without the content: selection, hover and highlights."""

    selected: bool = False
    highlighted: bool = False
    """Highlighted by a panel."""
    hovered_port: str | None = None
    """Name of the port under the pointer, as "input.NAME" or "output.NAME"."""
    wired_ports: frozenset[str] = frozenset()
    """Keys of connected ports."""
    fitting_ports: frozenset[str] = frozenset()
    """Keys of ports that match the wire being drawn."""
    faded: bool = False
    progress: float | None = None
    shade: Shade | None = None
    """Color of the node's figure; None while nodes are not colored by a figure."""


def prepare_drawing(content: NodeContent, layout: NodeLayout, style: CanvasStyle) -> NodeDrawing:
    width, height = layout.width, layout.height
    edge = QRectF(0.5, 0.5, width - 1, height - 1)
    body = QPainterPath()
    body.addRoundedRect(edge, CORNER, CORNER)
    inner = QPainterPath()
    inner.addRoundedRect(edge.adjusted(0.5, 0.5, -0.5, -0.5), CORNER - 0.5, CORNER - 0.5)
    strip = QPainterPath()
    strip.addRect(QRectF(0, 0, width, HEADER))
    name = style.elided(content.name, "name", width - 28 - 12)
    kind_x = 28 + style.measure(name, "name") + 8
    kind_width = width - kind_x - 8
    return NodeDrawing(
        content,
        layout,
        body,
        inner if content.collapsed else inner.intersected(strip),
        name,
        style.elided(content.kind, "text", kind_width) if kind_width >= _SHORTEST_KIND else "",
        kind_x,
        style.elided(content.line, "mono", width - 24),
        tuple(
            (f"{side}.{port.name}", wire_role(port.type, port.name), QPointF(*positions[port.name]))
            for ports, (side, positions) in zip((content.inputs, content.outputs), layout.sides, strict=True)
            for port in ports
        ),
        () if content.collapsed else _labels(content, layout, style),
        _badges(content, style),
    )


def _labels(content: NodeContent, layout: NodeLayout, style: CanvasStyle) -> tuple[tuple[str, QPointF], ...]:
    left = ((label, QPointF(12, style.baseline(layout.inputs[label].y, "text"))) for label in content.input_labels)
    right = (
        (label, QPointF(layout.width - 12 - style.measure(label, "text"), style.baseline(position.y, "text")))
        for label in content.output_labels
        for position in (layout.outputs[label],)
    )
    return (*left, *right)


def paint_node(painter: QPainter, node: NodeDrawing, state: NodeState, style: CanvasStyle, zoom: Zoom) -> None:
    """Paint a node with its top left corner at the origin."""
    if is_translucent := state.faded or node.content.muted:
        painter.setOpacity(0.3 if state.faded else 0.55)
    if zoom.detail is LevelOfDetail.FULL:
        _paint_body(painter, node, state, style, zoom)
        _paint_ports(painter, node, state, style)
    else:
        _paint_patch(painter, node, state, style, zoom)
        if zoom.has_ports:
            _paint_ports(painter, node, state, style)
    if is_translucent:
        painter.setOpacity(0.3 if state.faded else 1.0)
    _paint_state(painter, node.layout, state, style)
    if node.badges:
        _paint_badges(painter, node.badges, node.layout.width, style, zoom)
    if is_translucent:
        painter.setOpacity(1.0)


def _paint_body(painter: QPainter, node: NodeDrawing, state: NodeState, style: CanvasStyle, zoom: Zoom) -> None:
    content = node.content
    painter.setPen(style.failed if content.error else style.border_muted if content.muted else style.border)
    painter.setBrush(style.body if state.shade is None else style.shade[state.shade])
    painter.drawPath(node.body)
    painter.setPen(style.no_pen)
    painter.setBrush(style.header[content.category])
    painter.drawPath(node.header)
    picture = style.icon(content.icon, style.category[content.category], _ICON, zoom.device_scale)
    painter.drawPixmap(QRectF(7, (HEADER - _ICON) / 2, _ICON, _ICON), picture, QRectF(picture.rect()))
    painter.setPen(style.text)
    painter.setFont(style.fonts["name"])
    painter.drawText(QPointF(28, style.baseline(HEADER / 2, "name")), node.name)
    _paint_text(painter, node, state, style)
    if node.line and node.layout.line is not None:
        painter.setPen(style.text if content.live or state.shade is not None else style.dim)
        painter.setFont(style.fonts["mono"])
        painter.drawText(QPointF(12, style.baseline(node.layout.line, "mono")), node.line)


def _paint_text(painter: QPainter, node: NodeDrawing, state: NodeState, style: CanvasStyle) -> None:
    """The type's title and the labels of ports, which are legible on the colors of figures."""
    if not node.kind and not node.labels:
        return
    painter.setFont(style.fonts["text"])
    painter.setPen(style.dim if state.shade is None else style.text)
    for label, position in node.labels:
        painter.drawText(position, label)
    if node.kind:
        painter.setPen(style.quiet[node.content.category])
        painter.drawText(QPointF(node.kind_x, style.baseline(HEADER / 2, "name")), node.kind)


def _paint_state(painter: QPainter, layout: NodeLayout, state: NodeState, style: CanvasStyle) -> None:
    """Paint the progress bar and the selection outline."""
    if state.progress is not None:
        painter.fillRect(
            QRectF(CORNER, layout.height - 2, (layout.width - 2 * CORNER) * state.progress, 2), style.accent
        )
    if state.selected or state.highlighted:
        painter.setPen(style.selected)
        painter.setBrush(style.no_brush)
        painter.drawRoundedRect(QRectF(-2, -2, layout.width + 4, layout.height + 4), CORNER + 2, CORNER + 2)


def _paint_ports(painter: QPainter, node: NodeDrawing, state: NodeState, style: CanvasStyle) -> None:
    for key, role, position in node.ports:
        if key in state.fitting_ports:
            painter.setPen(style.no_pen)
            painter.setBrush(style.port_glow[role])
            painter.drawEllipse(position, PORT + 5, PORT + 5)
        extra = 1.5 if key == state.hovered_port else 0.0
        if key in state.wired_ports or key == state.hovered_port:
            painter.setPen(style.rim)
            painter.setBrush(style.port_brush[role])
        else:
            painter.setPen(style.port_ring[role])
            painter.setBrush(style.body)
            extra -= 0.5
        painter.drawEllipse(position, PORT + extra, PORT + extra)


def _paint_patch(painter: QPainter, node: NodeDrawing, state: NodeState, style: CanvasStyle, zoom: Zoom) -> None:
    """Paint color and readable name at low zoom."""
    content = node.content
    painter.setPen(style.failed if content.error else style.category_line[content.category])
    painter.setBrush(style.patch[content.category] if state.shade is None else style.shade[state.shade])
    painter.drawPath(node.body)
    pixels = round(FAR_TEXT / zoom.scale)
    if node.far_name is None or node.far_name[0] != pixels:
        node.far_name = pixels, _far_name(node, pixels, style)
    name = node.far_name[1]
    painter.setFont(interface_font(name.pixels))
    painter.setPen(style.text)
    for text, x, y in name.lines:
        painter.drawText(QPointF(x + CORNER, y), text)


def _far_name(node: NodeDrawing, pixels: int, style: CanvasStyle) -> FarName:
    return far_name(
        node.content.name,
        node.layout.width - 2 * CORNER,
        node.layout.height,
        pixels,
        lambda text: style.measure(text, "name") / NAME_PX,
    )


def _badges(content: NodeContent, style: CanvasStyle) -> tuple[tuple[str, QColor], ...]:
    """The most severe first."""
    return tuple(
        (name, color)
        for name, color, shown in (
            ("error", style.error, bool(content.error)),
            ("warning", style.warning, bool(content.warning)),
            ("breakpoint", style.error, content.breakpoint == "enabled"),
            ("circle", style.dim, content.breakpoint == "disabled"),
            ("frozen", style.accent, content.frozen),
            ("recomputed", style.accent, content.recomputed),
            ("link", style.accent, bool(content.shares)),
            ("mute", style.dim, content.muted),
            ("lock", style.dim, content.locked),
        )
        if shown
    )


def _paint_badges(
    painter: QPainter, badges: Iterable[tuple[str, QColor]], width: float, style: CanvasStyle, zoom: Zoom
) -> None:
    """Paint state badges on the upper edge, the first outermost, readable at low zoom."""
    size = max(_BADGE, min(10 / zoom.scale, 26.0))
    x = width - 4
    for name, color in badges:
        circle = QRectF(x - size / 2, -size / 2, size, size)
        painter.setPen(style.pill_line)
        painter.setBrush(style.body)
        painter.drawEllipse(circle)
        inner = circle.adjusted(size / 8, size / 8, -size / 8, -size / 8)
        picture = style.icon(name, color, inner.width(), zoom.device_scale)
        painter.drawPixmap(inner, picture, QRectF(picture.rect()))
        x -= size + 2
