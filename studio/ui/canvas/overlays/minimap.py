"""The minimap: all nodes and frames of the graph, and the visible part."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QEnterEvent, QHideEvent, QMouseEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from studio.ui.canvas.camera import Camera
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.frames.frame_geometry import box_of
from studio.ui.canvas.geometry import Box, bounds

_MAX_SIZE = QSize(184, 120)
_MIN_SIZE = QSize(80, 52)
_SHARE = 5
"""The minimap is at most 1/_SHARE as wide and as high as the canvas."""
_PAD = 8.0
COLLAPSED_SIZE = QSize(32, 24)
"""Size of the collapsed minimap."""


class Minimap(QWidget):
    """Shows all nodes, frames and the visible part; a click or drag moves the view. Collapsed, it is a small tab.

    Nodes are drawn into a cached pixmap, so that camera movements only repaint the frame.
    """

    hovered = Signal()
    """The pointer entered, left or released the minimap."""

    def __init__(self, scene: CanvasScene, camera: Camera, parent: QWidget) -> None:
        super().__init__(parent)
        self._scene = scene
        self._camera = camera
        self._picture: QPixmap | None = None
        self._graph_box = Box(0, 0, 1, 1)
        self._is_pressed = False
        self._is_under_pointer = False
        self._is_collapsed = False
        self.setFixedSize(_MAX_SIZE)
        self.setAccessibleName("Minimap")
        self.setToolTip("Minimap: click or drag to move the view")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        camera.changed.connect(self.update)

    @property
    def graph_box(self) -> Box:
        """The bounds of all nodes and frames."""
        return self._graph_box

    @property
    def is_pressed(self) -> bool:
        """Whether a mouse button is pressed on the minimap."""
        return self._is_pressed

    @property
    def is_in_use(self) -> bool:
        """Whether the pointer is over the minimap or pressed on it."""
        return self._is_pressed or self._is_under_pointer

    @property
    def is_collapsed(self) -> bool:
        return self._is_collapsed

    def size_for(self, room: QSize) -> QSize | None:
        """Expanded size for a canvas of this size; None if the canvas is too small."""
        share = min(room.width() / _SHARE / _MAX_SIZE.width(), room.height() / _SHARE / _MAX_SIZE.height(), 1.0)
        size = QSize(round(_MAX_SIZE.width() * share), round(_MAX_SIZE.height() * share))
        if size.width() < _MIN_SIZE.width() or size.height() < _MIN_SIZE.height():
            return None
        return size

    def show_at(self, geometry: QRect, *, collapsed: bool) -> None:
        """Set the geometry and whether the minimap is collapsed."""
        if geometry.size() != self.size() or collapsed != self._is_collapsed:
            self._is_collapsed = collapsed
            self.setFixedSize(geometry.size())
            self._picture = None
        self.setGeometry(geometry)

    def refresh(self) -> None:
        """Repaint the nodes and frames."""
        self._picture = None
        boxes = (*self._scene.boxes().values(), *self._scene.frames.boxes().values())
        self._graph_box = bounds(boxes) or Box(0, 0, 1, 1)
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._is_pressed = True
        self._center_on(event.position(), animated=True)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._is_pressed = False
        self.hovered.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._center_on(event.position(), animated=False)

    def enterEvent(self, event: QEnterEvent) -> None:
        self._is_under_pointer = True
        self.hovered.emit()

    def leaveEvent(self, event: QEvent) -> None:
        self._is_under_pointer = False
        self.hovered.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        self._is_under_pointer = False
        super().hideEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        self._picture = None
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._picture is None or self._picture.devicePixelRatio() != self.devicePixelRatioF():
            self._picture = self._render()
        style = self._scene.paint_context.style
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.drawPixmap(0, 0, self._picture)
        if self._is_collapsed:
            return
        visible = self._camera.visible
        frame = QRectF(self._to_map(visible.topLeft()), self._to_map(visible.bottomRight()))
        frame = frame.intersected(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        painter.setPen(style.band_line)
        painter.setBrush(style.band_fill)
        painter.drawRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)

    def _render(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(round(self.width() * ratio), round(self.height() * ratio))
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        style = self._scene.paint_context.style
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(style.pill_line)
        painter.setBrush(style.pill)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        if self._is_collapsed:
            icon = style.icon("minimap", style.dim, 16, ratio)
            painter.drawPixmap(QRectF(self.width() / 2 - 8, self.height() / 2 - 8, 16, 16), icon, QRectF(icon.rect()))
            painter.end()
            return picture
        self._paint_frames(painter)
        painter.setPen(style.no_pen)
        for category, rects in self._node_rects().items():
            painter.setBrush(style.category_brush[category] if category else QBrush(style.error))
            painter.drawRects(rects)
        painter.end()
        return picture

    def _paint_frames(self, painter: QPainter) -> None:
        """Paint frames in their colors, the largest first."""
        style = self._scene.paint_context.style
        for item in sorted(self._scene.frames.items, key=lambda item: item.zValue()):
            painter.setPen(style.frame_line[item.frame.color])
            painter.setBrush(style.frame_header[item.frame.color])
            box = box_of(item.frame)
            corners = QPointF(box.left, box.top), QPointF(box.right, box.bottom)
            painter.drawRect(QRectF(*map(self._to_map, corners)))

    def _node_rects(self) -> dict[str, list[QRectF]]:
        """The nodes by category, those with errors last, under ""."""
        scale, offset = self._mapping()
        x, y = offset.x(), offset.y()
        found: dict[str, list[QRectF]] = {}
        failed: list[QRectF] = []
        for node in self._scene.nodes.values():
            left, top, right, bottom = node.box
            size = max((right - left) * scale, 1.5), max((bottom - top) * scale, 1.5)
            rects = failed if node.content.error else found.setdefault(node.content.category, [])
            rects.append(QRectF(left * scale + x, top * scale + y, *size))
        return found | {"": failed} if failed else found

    def _center_on(self, point: QPointF, *, animated: bool) -> None:
        scale, offset = self._mapping()
        self._camera.center_on((point - offset) / scale, animated=animated)

    def _to_map(self, point: QPointF) -> QPointF:
        scale, offset = self._mapping()
        return point * scale + offset

    def _mapping(self) -> tuple[float, QPointF]:
        """Scale and offset that center the whole graph."""
        graph_box = self._graph_box
        room = (self.width() - 2 * _PAD, self.height() - 2 * _PAD)
        scale = min(room[0] / max(graph_box.width, 1), room[1] / max(graph_box.height, 1), 0.2)
        middle = QPointF(self.width() / 2, self.height() / 2)
        return scale, middle - QPointF(*graph_box.center) * scale
