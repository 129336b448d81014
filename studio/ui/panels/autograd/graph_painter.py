"""Draws the visible part of an autograd graph: one item of a scene, however many nodes there are."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from engine.inspect import GraphNode
from engine.shape import format_shape
from studio.training.autograd.graph_arrangement import HEIGHT, TITLE, WIDTH, Frame
from studio.training.autograd.graph_outline import Group, Key
from studio.ui import number_format
from studio.ui.panels.autograd.graph_layouter import ShownGraph
from studio.ui.panels.autograd.norm_scale import NormScale
from studio.ui.theme import fonts, theme
from studio.ui.theme.theme import Theme, mix

READABLE = 0.5
"""Text is hidden below this scale."""
OVERVIEW = 0.16
"""Below this scale items are plain rectangles, and edges straight lines."""
_LEVELS = 16
"""Steps of the colors of norms in an overview."""
_STRIP = 6.0
_FOLD = 18.0
"""Width of the area with the mark that folds and unfolds."""


@dataclass(frozen=True, slots=True)
class Highlights:
    """What is emphasized."""

    selected: Key | None = None
    marked: frozenset[Key] = frozenset()
    """Items and groups of the nodes that are selected on the canvas."""
    matches: frozenset[Key] = frozenset()
    """Items that contain search results."""
    current: int | None = None
    """Node that the backward pass has reached; later ones are faint. None: not stepping."""


@dataclass(slots=True)
class PaintedCounts:
    """What the last paint has drawn."""

    items: int = 0
    texts: int = 0
    edges: int = 0
    curves: int = 0


@dataclass(slots=True)
class _Shapes:
    """Shapes of a drawing, made when they are first needed."""

    rects: dict[int, QRectF] = field(default_factory=dict[int, QRectF])
    lines: dict[int, list[QLineF]] = field(default_factory=dict[int, list[QLineF]])
    paths: dict[int, QPainterPath] = field(default_factory=dict[int, QPainterPath])


class GraphPainter(QGraphicsItem):
    """All nodes, groups, frames and edges as one item."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: ShownGraph | None = None
        self._shapes = _Shapes()
        self._scale = NormScale(())
        self._levels: dict[int, int | None] = {}
        """Row → level of its color in an overview; None without norm."""
        self.highlights = Highlights()
        self._current_key: Key | None = None
        """The item that contains the node that the backward pass has reached."""
        self.painted = PaintedCounts()
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)

    def show_graph(self, shown: ShownGraph, scale: NormScale) -> None:
        self.prepareGeometryChange()
        if self._shown is None or self._shown.drawing is not shown.drawing:
            self._shapes = _Shapes()
        self._shown, self._scale = shown, scale
        self._levels = {}
        self.update()

    def highlight(self, highlights: Highlights) -> None:
        if highlights != self.highlights:
            self.highlights = highlights
            self.update()

    def boundingRect(self) -> QRectF:
        if self._shown is None:
            return QRectF()
        drawing = self._shown.drawing
        return QRectF(0, 0, drawing.width, drawing.height).adjusted(-4, -4, 4, 4)

    # -- painting

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        shown, self.painted = self._shown, PaintedCounts()
        if shown is None:
            return
        current, exposed = self.highlights.current, option.exposedRect
        self._current_key = None if current is None else shown.outline.visible(current, shown.expanded)
        box = (exposed.left(), exposed.top(), exposed.right(), exposed.bottom())
        zoom = option.levelOfDetailFromTransform(painter.worldTransform())
        colors = theme.current()
        for frame in shown.drawing.frames_in(box):
            self._paint_frame(painter, frame, zoom, colors)
        edges, items = shown.drawing.edges_in(box).tolist(), shown.drawing.items_in(box).tolist()
        self.painted.edges, self.painted.items = len(edges), len(items)
        if zoom < OVERVIEW:
            self._paint_overview(painter, edges, items, colors)
            return
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colors.color("border-strong"), 1.25))
        for row in edges:
            painter.drawPath(self._path(row))
        self.painted.curves = len(edges)
        for row in items:
            self._paint_item(painter, row, zoom, colors)

    def _paint_overview(self, painter: QPainter, edges: list[int], items: list[int], colors: Theme) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(colors.color("border"), 0))
        painter.drawLines([line for row in edges for line in self._lines(row)])
        by_color: defaultdict[tuple[int | None, bool], list[QRectF]] = defaultdict(list)
        is_stepping = self.highlights.current is not None
        for row in items:
            by_color[self._level(row), is_stepping and self._is_ahead(self._key(row))].append(self._rect(row))
        painter.setPen(QPen(colors.color("border-strong"), 0))
        for (level, is_ahead), rects in by_color.items():
            color = colors.color("border") if level is None else self._scale.color_at(level / _LEVELS, colors)
            color = colors.color("error") if level is not None and level > _LEVELS else color
            painter.setBrush(mix(colors.color("background"), color, 0.25) if is_ahead else color)
            painter.drawRects(rects)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colors.color("accent"), 3 / max(painter.worldTransform().m11(), 1e-6)))
        marks, rows = self.highlights, self._shown.drawing.rows if self._shown is not None else {}
        outlined = {marks.selected, self._current_key, *marks.marked, *marks.matches}
        painter.drawRects([self._rect(rows[key]) for key in outlined if key is not None and key in rows])

    def _level(self, row: int) -> int | None:
        """Color of an item in steps; those above `_LEVELS` are norms that are not finite."""
        if row not in self._levels:
            assert self._shown is not None
            norm = _norm(self._shown, self._key(row))
            is_finite = norm is not None and math.isfinite(norm)
            self._levels[row] = (
                None if norm is None else round(self._scale.share(norm) * _LEVELS) if is_finite else _LEVELS + 1
            )
        return self._levels[row]

    def _rect(self, row: int) -> QRectF:
        if row not in self._shapes.rects:
            assert self._shown is not None
            left, top = self._shown.drawing.boxes[row, :2].tolist()
            self._shapes.rects[row] = QRectF(left, top, WIDTH, HEIGHT)
        return self._shapes.rects[row]

    def _lines(self, row: int) -> list[QLineF]:
        if row not in self._shapes.lines:
            assert self._shown is not None
            self._shapes.lines[row] = _straight(self._shown.drawing.points[row])
        return self._shapes.lines[row]

    def _paint_item(self, painter: QPainter, row: int, zoom: float, colors: Theme) -> None:
        shown, key = self._shown, self._key(row)
        assert shown is not None
        body, marks = self._rect(row), self.highlights
        group = shown.outline.groups[key] if isinstance(key, str) else None
        node = None if isinstance(key, str) else shown.snapshot.graph.nodes[key]
        if self._is_ahead(key):
            painter.setOpacity(0.4)
        if group is not None:  # a second sheet behind the first one
            painter.setPen(QPen(colors.color("border-strong"), 1))
            painter.setBrush(colors.color("surface"))
            painter.drawRoundedRect(body.translated(3, 3), 6, 6)
        fill = "selection" if key in marks.marked or self._is_current(key) else "raised"
        painter.setPen(self._outline(key, node, colors))
        painter.setBrush(colors.color(fill))
        painter.drawRoundedRect(body, 6, 6)
        strip = body.adjusted(1.5, 6, _STRIP - WIDTH, -6)
        painter.fillRect(strip, self._scale.color(_norm(shown, key), colors))
        if zoom >= READABLE:
            self.painted.texts += 1
            room = body.adjusted(_STRIP + 7, 5, -8, -5)
            if group is not None:
                self._write_group(painter, group, room, colors)
            elif node is not None:
                self._write_node(painter, node, room, colors)
        painter.setOpacity(1)

    def _outline(self, key: Key, node: GraphNode | None, colors: Theme) -> QPen:
        marks = self.highlights
        if key == marks.selected or self._is_current(key):
            return QPen(colors.color("accent"), 2.5)
        if key in marks.marked:
            return QPen(colors.color("accent"), 1.5)
        if key in marks.matches:
            return QPen(colors.color("warning"), 2)
        if node is not None and node.changed:
            return QPen(colors.color("error"), 1.5)
        pen = QPen(colors.color("border-strong"), 1)
        if node is not None and node.leaf is not None:
            pen.setStyle(Qt.PenStyle.DashLine)
        return pen

    def _write_node(self, painter: QPainter, node: GraphNode, room: QRectF, colors: Theme) -> None:
        shown = self._shown
        assert shown is not None
        badge, token = _badge(shown, node)
        painter.setFont(fonts.interface(10, bold=True))
        width = painter.fontMetrics().horizontalAdvance(badge) + 4 if badge else 0
        if badge:
            painter.setPen(colors.color(token))
            painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight, badge)
        title = node.leaf.rpartition(".")[2] if node.leaf else node.name
        _write(painter, title, room.adjusted(0, 0, -width, 0), fonts.interface(12, bold=node.leaf is None), colors)
        norm = None if node.gradient_norm is None else number_format.norm(node.gradient_norm)
        _write_details(painter, format_shape(node.spec.shape), norm, room, colors)

    def _write_group(self, painter: QPainter, group: Group, room: QRectF, colors: Theme) -> None:
        _paint_chevron(painter, QPointF(room.left() + 3, room.top() + 8), colors, expanded=False)
        _write(painter, group.title, room.adjusted(_FOLD - 4, 0, 0, 0), fonts.interface(12, bold=True), colors)
        norm = None if group.gradient_norm is None else number_format.norm(group.gradient_norm)
        _write_details(painter, number_format.count(len(group.members), "nodes"), norm, room, colors)

    def _paint_frame(self, painter: QPainter, frame: Frame, zoom: float, colors: Theme) -> None:
        shown, marks = self._shown, self.highlights
        assert shown is not None
        body = QRectF(frame.x, frame.y, frame.width, frame.height)
        is_selected = frame.path == marks.selected
        token = "accent" if is_selected or frame.path in marks.marked else "border"
        painter.setPen(QPen(colors.color(token), 2 if is_selected else 1.25))
        painter.setBrush(colors.color("surface", 0.6))
        painter.drawRoundedRect(body, 8, 8)
        if zoom < READABLE:
            return
        self.painted.texts += 1
        _paint_chevron(painter, QPointF(body.left() + 12, body.top() + 13), colors, expanded=True)
        group = shown.outline.groups[frame.path]
        room = QRectF(body.left() + 22, body.top() + 5, body.width() - 30, TITLE - 6)
        _write(painter, group.title, room, fonts.interface(12, bold=True), colors)
        if not group.saved_bytes:
            return
        used = painter.fontMetrics().horizontalAdvance(group.title) + 12
        painter.setFont(fonts.interface(11))
        painter.setPen(colors.color("text-dim"))
        saved = number_format.size(group.saved_bytes)
        text = painter.fontMetrics().elidedText(
            f"{saved} saved", Qt.TextElideMode.ElideRight, max(round(room.width() - used), 0)
        )
        painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight, text)

    # -- what a row is

    def _key(self, row: int) -> Key:
        assert self._shown is not None
        return self._shown.drawing.keys[row]

    def _is_current(self, key: Key) -> bool:
        return self.highlights.current is not None and key == self._current_key

    def _is_ahead(self, key: Key) -> bool:
        """Whether the backward pass has not reached an item yet."""
        current, shown = self.highlights.current, self._shown
        if current is None or shown is None:
            return False
        return (shown.outline.groups[key].members[0] if isinstance(key, str) else key) > current

    def _path(self, row: int) -> QPainterPath:
        if row not in self._shapes.paths:
            assert self._shown is not None
            self._shapes.paths[row] = _curve(self._shown.drawing.points[row])
        return self._shapes.paths[row]


def folds_at(at: QPointF, left: float, top: float) -> bool:
    """Whether a point is on the mark that folds and unfolds a group."""
    return at.x() - left <= _STRIP + _FOLD and at.y() - top <= TITLE


def _norm(shown: ShownGraph, key: Key) -> float | None:
    if isinstance(key, str):
        return shown.outline.groups[key].gradient_norm
    return shown.snapshot.graph.nodes[key].gradient_norm


def _badge(shown: ShownGraph, node: GraphNode) -> tuple[str, str]:
    """Short mark of what is special about a node, and its color."""
    if node.changed:
        return "changed", "error"
    if node.id in shown.cut_nodes:
        return "cut", "warning"
    if node.uses > 1:
        return f"Σ {node.uses}", "text-dim"
    return ("hook", "text-dim") if node.hooks else ("", "text-dim")


def _write(painter: QPainter, text: str, room: QRectF, font: QFont, colors: Theme) -> None:
    painter.setFont(font)
    painter.setPen(colors.color("text"))
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, max(round(room.width()), 0))
    painter.drawText(room, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, shown)


def _write_details(painter: QPainter, left: str, right: str | None, room: QRectF, colors: Theme) -> None:
    painter.setFont(fonts.monospace(10))
    painter.setPen(colors.color("text-dim"))
    used = 0
    if right is not None:
        painter.drawText(room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignRight, right)
        used = painter.fontMetrics().horizontalAdvance(right) + 6
    text = painter.fontMetrics().elidedText(left, Qt.TextElideMode.ElideRight, max(round(room.width()) - used, 0))
    painter.drawText(room, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, text)


def _paint_chevron(painter: QPainter, center: QPointF, colors: Theme, *, expanded: bool) -> None:
    painter.setPen(QPen(colors.color("text-dim"), 1.5))
    dx, dy = (4.0, 2.0) if expanded else (2.0, 4.0)
    ends = ((-dx, -dy), (0.0, dy), (dx, -dy)) if expanded else ((-dx, -dy), (dx, 0.0), (-dx, dy))
    points = [center + QPointF(*each) for each in ends]
    for start, end in pairwise(points):
        painter.drawLine(start, end)


def _straight(points: tuple[tuple[float, float], ...]) -> list[QLineF]:
    return [QLineF(*start, *end) for start, end in pairwise(points)]


def _curve(points: tuple[tuple[float, float], ...]) -> QPainterPath:
    """Curve through points, horizontal at each."""
    stops = [QPointF(*point) for point in points]
    path = QPainterPath(stops[0])
    for before, stop in pairwise(stops):
        reach = QPointF((stop.x() - before.x()) / 2, 0)
        path.cubicTo(before + reach, stop - reach, stop)
    return path
