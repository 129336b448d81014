"""Memory of a step by node: stacked bars, painted by one widget."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from studio.training.profiling.profile_data import MEMORY_KINDS, MemoryProfile, NodeMemory
from studio.ui import number_format
from studio.ui.panels.profiler.profile_colors import memory_color
from studio.ui.theme import theme
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.labels import tip

_ROW, _BAR, _EDGE, _GAP = 22, 12, 8, 8
_NAMES, _SIZES = 0.28, 76
_NO_NODE = "no node"


class MemoryChart(QWidget):
    """Rows are sorted by their size. Click or arrow keys choose one."""

    chosen = Signal(str)
    """The path of a node."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.memory = MemoryProfile()
        self.rows: list[NodeMemory] = []
        self.current = -1
        self._marked: set[int] = set()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Memory by node")
        theme.manager().changed.connect(self._repaint)

    def show_memory(self, memory: MemoryProfile) -> None:
        self.memory = memory
        self.rows = sorted((node for node in memory.nodes if node.total), key=lambda node: -node.total)
        self.current, self._marked = -1, set()
        self.setAccessibleDescription(self._summary())
        self.setMinimumHeight(int(self._top()) + len(self.rows) * _ROW + _EDGE)
        self.update()

    def mark_nodes(self, paths: Sequence[str]) -> None:
        inner, wanted = tuple(f"{path}." for path in paths), set(paths)
        self._marked = {
            index for index, row in enumerate(self.rows) if row.node in wanted or (inner and row.node.startswith(inner))
        }
        self.update()

    def text_of(self, row: NodeMemory) -> str:
        kinds = [f"{kind}: {number_format.size(row.kinds[kind])}" for kind in MEMORY_KINDS if row.kinds.get(kind)]
        return "\n".join([f"{row.node or _NO_NODE}: {number_format.size(row.total)}", *kinds])

    def row_rect(self, index: int) -> QRectF:
        return QRectF(0, self._top() + index * _ROW, self.width(), _ROW)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_summary(painter)
        self._paint_legend(painter)
        most = max((row.total for row in self.rows), default=1)
        for index, row in enumerate(self.rows):
            rect = self.row_rect(index)
            if rect.bottom() >= event.rect().top() and rect.top() <= event.rect().bottom():
                self._paint_row(painter, index, row, rect, most)

    def _paint_summary(self, painter: QPainter) -> None:
        painter.setPen(theme.current().color("text"))
        rect = QRectF(_EDGE, _EDGE, self.width() - 2 * _EDGE, self.fontMetrics().height())
        text = self.fontMetrics().elidedText(self._summary(), Qt.TextElideMode.ElideRight, int(rect.width()))
        painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, text)

    def _summary(self) -> str:
        memory = self.memory
        how = "of the compiled plan, which reuses memory" if memory.is_planned else "op by op"
        return (
            f"{number_format.size(memory.peak)} at the peak, {number_format.size(memory.intermediate)} of them for "
            f"intermediate values {how}"
        )

    def _paint_legend(self, painter: QPainter) -> None:
        colors, metrics = theme.current(), self.fontMetrics()
        x, y = float(_EDGE), _EDGE + metrics.height() + _GAP
        for kind in MEMORY_KINDS:
            total = self.memory.total(kind)
            text = f"{kind} {number_format.size(total)}"
            width = 10 + 5 + metrics.horizontalAdvance(text) + 14
            if x > _EDGE and x + width > self.width() - _EDGE:
                break
            painter.fillRect(QRectF(x, y + (metrics.height() - 10) / 2, 10, 10), memory_color(kind))
            painter.setPen(colors.color("text-dim"))
            rect = QRectF(x + 15, y, width, metrics.height())
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, text)
            x += width

    def _paint_row(self, painter: QPainter, index: int, row: NodeMemory, rect: QRectF, most: int) -> None:
        colors, metrics = theme.current(), self.fontMetrics()
        if index in self._marked or index == self.current:
            painter.fillRect(rect, colors.color("selection"))
        if index == self.current and self.hasFocus():
            painter.setPen(QPen(colors.color("accent"), 2))
            painter.drawRect(rect.adjusted(1, 1, -1, -1))
        names = _NAMES * self.width()
        name = QRectF(_EDGE, rect.top(), names - 2 * _EDGE, rect.height())
        painter.setPen(colors.color("text" if row.node else "text-dim"))
        shown = metrics.elidedText(row.node or _NO_NODE, Qt.TextElideMode.ElideMiddle, int(name.width()))
        painter.drawText(name, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        room = max(self.width() - names - _SIZES - _EDGE, 1.0)
        x = names
        for kind in MEMORY_KINDS:
            width = room * row.kinds.get(kind, 0) / most
            bar = QRectF(x, rect.center().y() - _BAR / 2, width, _BAR)
            painter.fillRect(bar, memory_color(kind))
            x += width
        size = QRectF(x + 6, rect.top(), _SIZES, rect.height())
        painter.setPen(colors.color("text-dim"))
        painter.drawText(
            size, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, number_format.size(row.total)
        )

    # -- input

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self._row_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), tip(self.text_of(self.rows[index])) if index >= 0 else "", self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._row_at(event.position())
        if index >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self._choose(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if step and self.rows:
            self._choose(min(max(self.current + step, 0), len(self.rows) - 1))
        else:
            super().keyPressEvent(event)

    def _choose(self, index: int) -> None:
        self.current = index
        row = self.rows[index]
        self.setAccessibleDescription(self.text_of(row))
        announce(self, self.text_of(row))
        self.update()
        if row.node:
            self.chosen.emit(row.node)

    def _row_at(self, point: QPointF) -> int:
        index = int((point.y() - self._top()) // _ROW)
        return index if 0 <= index < len(self.rows) else -1

    def _top(self) -> float:
        return _EDGE + 2 * (self.fontMetrics().height() + _GAP)

    def _repaint(self, *_: object) -> None:
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(600, 200)


__all__ = ["MemoryChart"]
