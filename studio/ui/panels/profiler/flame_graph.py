"""Flame graph of a step: one widget paints all items, from the step at the top to kernels at the bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from studio.training.profiling.profile_data import PHASE_TITLES, Profile
from studio.training.profiling.profile_tree import TimeItem, items_of, time_tree
from studio.ui import number_format
from studio.ui.panels.profiler.profile_colors import item_color, item_fill
from studio.ui.theme import theme
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.labels import tip

ROW = 24
_GAP, _PADDING, _EDGE = 1, 5, 8
_SMALLEST = 0.5
"""Width in pixels from which an item is painted."""
_TEXT = 26
"""Width in pixels from which an item has its name."""


class FlameGraph(QWidget):
    """A click or Enter zooms to an item, Escape zooms out, arrow keys go to the neighbors."""

    chosen = Signal(object)
    """The TimeItem that was clicked or reached with keys."""

    def __init__(self, category: Callable[[str], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._category = category
        self.profile: Profile | None = None
        self.root: TimeItem | None = None
        self.zoomed: TimeItem | None = None
        self.current: TimeItem | None = None
        self._hovered: TimeItem | None = None
        self._marked: set[TimeItem] = set()
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Flame graph")
        theme.manager().changed.connect(self._repaint)

    def show_profile(self, profile: Profile) -> None:
        self.profile = profile
        self.root = self.zoomed = self.current = time_tree(profile)
        self._hovered = None
        self._marked = set()
        depth = max(item.depth for item in self.root.walk()) + 1
        self.setMinimumHeight(depth * ROW + 2 * _EDGE)
        self._describe()
        self.update()

    def mark_nodes(self, paths: list[str]) -> None:
        """Highlight nodes that are selected on the canvas, and what is inside block instances."""
        self._marked = items_of(self.root, paths) if self.root is not None else set()
        self.update()

    def choose(self, item: TimeItem, *, zoom: bool = False) -> None:
        """Make an item the current one."""
        self.current = item
        if zoom:
            self.zoomed = item
        self._describe()
        announce(self, self.text_of(item))
        self.update()
        self.chosen.emit(item)

    def zoom_out(self) -> None:
        """Zoom to the item around the zoomed one."""
        if self.zoomed is not None and self.zoomed.parent is not None:
            self.choose(self.zoomed.parent, zoom=True)

    def rect_of(self, item: TimeItem) -> QRectF:
        """The rectangle of an item in pixels; empty if it is outside of the zoomed one."""
        zoomed = self.zoomed
        if zoomed is None or not zoomed.seconds:
            return QRectF()
        left, width = _EDGE, self.width() - 2 * _EDGE
        top = _EDGE + item.depth * ROW
        if item.depth <= zoomed.depth:
            is_around = item is zoomed or any(item is outer for outer in _around(zoomed))
            return QRectF(left, top, width, ROW - _GAP) if is_around else QRectF()
        scale = width / zoomed.seconds
        start, end = item.start - zoomed.start, item.start + item.seconds - zoomed.start
        if end <= 0 or start >= zoomed.seconds:
            return QRectF()
        return QRectF(left + start * scale, top, item.seconds * scale, ROW - _GAP)

    def item_at(self, point: QPointF) -> TimeItem | None:
        return next((item for item, rect in self._visible() if rect.contains(point)), None)

    def text_of(self, item: TimeItem) -> str:
        """The details of an item."""
        profile = self.profile
        if profile is None:
            return ""
        share = item.seconds / profile.seconds if profile.seconds else 0.0
        name = item.path if item.is_node else item.title
        lines = [f"{name}: {number_format.milliseconds(item.seconds)}, {number_format.percent(share)} of the step"]
        if item.phase is not None and item.depth > 1:
            inside = "" if item.is_node or not item.path else f" of {item.path}"
            lines.append(f"{PHASE_TITLES[item.phase]}{inside}")
        if item.kernel is not None:
            kernel = profile.kernels[item.kernel]
            lines.append(
                f"reads {number_format.size(kernel.read)}, writes {number_format.size(kernel.written)}, "
                f"{number_format.count(kernel.flops)} floating-point operations"
            )
            if len(kernel.nodes) > 1:
                lines.append(f"computes {', '.join(kernel.nodes)}; this is the share of one node")
        return "\n".join(lines)

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colors = theme.current()
        for item, rect in self._visible():
            painter.fillRect(rect.adjusted(0, 0, -min(1.0, rect.width() / 4), 0), self._fill(item))
            painter.fillRect(QRectF(rect.left(), rect.top(), min(2.0, rect.width()), rect.height()), self._color(item))
            if rect.width() >= _TEXT:
                self._paint_text(painter, item, rect)
        for items, token in ((self._marked, "target"), ({self.current}, "accent")):
            for item in items:
                rect = QRectF() if item is None else self.rect_of(item)
                if rect.width() >= _SMALLEST:
                    is_focused = token == "accent" and self.hasFocus()
                    painter.setPen(QPen(colors.color(token), 2.5 if is_focused else 2))
                    painter.setBrush(Qt.BrushStyle.NoBrush)
                    painter.drawRect(rect.adjusted(1, 1, -1, -1))

    def _paint_text(self, painter: QPainter, item: TimeItem, rect: QRectF) -> None:
        colors = theme.current()
        room = rect.adjusted(_PADDING + 2, 0, -_PADDING, 0)
        metrics = self.fontMetrics()
        name = metrics.elidedText(item.title, Qt.TextElideMode.ElideRight, int(room.width()))
        time = number_format.milliseconds(item.seconds)
        painter.setPen(colors.color("text"))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
        used = metrics.horizontalAdvance(item.title) + 12
        if room.width() >= used + metrics.horizontalAdvance(time):
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, time)

    def _fill(self, item: TimeItem) -> QColor:
        fill = item_fill(item, self._category)
        return theme.mix(fill, theme.current().color("text"), 0.08) if item is self._hovered else fill

    def _color(self, item: TimeItem) -> QColor:
        return item_color(item, self._category)

    def _visible(self) -> Iterator[tuple[TimeItem, QRectF]]:
        """The items that are wide enough to be seen, with their rectangles."""
        stack = [] if self.root is None else [self.root]
        while stack:
            item = stack.pop()
            rect = self.rect_of(item)
            if rect.width() >= _SMALLEST:
                yield item, rect
                stack += item.children

    # -- input

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            item = self.item_at(QPointF(event.pos()))
            if item is not None:
                QToolTip.showText(event.globalPos(), tip(self.text_of(item)), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        hovered = self.item_at(event.position())
        if hovered is not self._hovered:
            self._hovered = hovered
            self.setCursor(Qt.CursorShape.ArrowCursor if hovered is None else Qt.CursorShape.PointingHandCursor)
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = None
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        item = self.item_at(event.position())
        if item is not None and event.button() == Qt.MouseButton.LeftButton:
            is_again = item is self.zoomed and item.parent is not None
            self.choose(item.parent if is_again and item.parent is not None else item, zoom=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        current = self.current
        if current is None:
            return
        siblings = [current] if current.parent is None else current.parent.children
        index = siblings.index(current)
        match event.key():
            case Qt.Key.Key_Left if index > 0:
                self._go(siblings[index - 1])
            case Qt.Key.Key_Right if index + 1 < len(siblings):
                self._go(siblings[index + 1])
            case Qt.Key.Key_Up if current.parent is not None:
                self._go(current.parent)
            case Qt.Key.Key_Down if current.children:
                self._go(max(current.children, key=lambda child: child.seconds))
            case Qt.Key.Key_Left | Qt.Key.Key_Right | Qt.Key.Key_Up | Qt.Key.Key_Down:
                return
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space:
                self.choose(current, zoom=True)
            case Qt.Key.Key_Escape | Qt.Key.Key_Backspace if self.zoomed is not self.root:
                self.zoom_out()
            case Qt.Key.Key_Home if self.root is not None:
                self.choose(self.root, zoom=True)
            case _:
                super().keyPressEvent(event)

    def _go(self, item: TimeItem) -> None:
        """Go to an item, and zoom out as far as needed to see it."""
        while self.zoomed is not None and self.zoomed.parent is not None and not self.rect_of(item).width():
            self.zoomed = self.zoomed.parent
        self.choose(item)

    def _describe(self) -> None:
        self.setAccessibleDescription("" if self.current is None else self.text_of(self.current))

    def _repaint(self, *_: object) -> None:
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(600, 8 * ROW)


def _around(item: TimeItem) -> Iterator[TimeItem]:
    while item.parent is not None:
        item = item.parent
        yield item


__all__ = ["ROW", "FlameGraph"]
