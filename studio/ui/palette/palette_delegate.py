"""Paints rows of the palettes."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QToolTip

from studio.nodes.palette_search import SearchMatch
from studio.nodes.types import NodeType
from studio.ui.palette.block_tooltip import block_tooltip
from studio.ui.palette.node_groups import NodeTypeGroup
from studio.ui.palette.node_type_tree import MATCH, not_understood_text, parameters_text
from studio.ui.theme import fonts, icons
from studio.ui.theme.theme import ThemeManager

ROW, HEADING = 28, 30
_ICON = 16
_DOT = 3.5
_BEFORE_COUNT = 8


class PaletteDelegate(QStyledItemDelegate):
    """Icon in the category color and title; with `wide` also the summary and the ports."""

    def __init__(self, themes: ThemeManager, *, wide: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._wide = wide
        self._bold = fonts.interface(12, bold=True)
        self._plain = fonts.interface(13)
        self._small = fonts.interface(12)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(160, HEADING if isinstance(index.data(Qt.ItemDataRole.UserRole), NodeTypeGroup) else ROW)

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        content = index.data(Qt.ItemDataRole.UserRole)
        text = block_tooltip(content) if isinstance(content, NodeType) else ""
        if event.type() != QHelpEvent.Type.ToolTip or not text:
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), text, view)
        return True

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        content = index.data(Qt.ItemDataRole.UserRole)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(content, NodeTypeGroup):
            self._paint_heading(painter, option, content)
        elif isinstance(content, NodeType):
            self._paint_type(painter, option, content, index.data(MATCH))
        painter.restore()

    def _paint_heading(self, painter: QPainter, option: QStyleOptionViewItem, group: NodeTypeGroup) -> None:
        text = QRectF(option.rect).adjusted(12, 4, -8, 0)
        dim = self._themes.color("text-dim")
        if not self._wide:
            arrow = "chevron-down" if option.state & QStyle.StateFlag.State_Open else "chevron-right"
            icons.paint(painter, arrow, QRectF(text.left() - 6, text.center().y() - 6, 12, 12), dim)
            text.setLeft(text.left() + 12)
        count, metrics = str(len(group.types)), QFontMetricsF(self._bold)
        room = text.width() - QFontMetricsF(self._small).horizontalAdvance(count) - _BEFORE_COUNT
        fits = metrics.horizontalAdvance(group.title) <= room
        title = metrics.elidedText(
            group.title if fits else group.name or group.title, Qt.TextElideMode.ElideRight, room
        )
        painter.setFont(self._bold)
        painter.setPen(dim)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, title)
        text.setLeft(text.left() + metrics.horizontalAdvance(title) + _BEFORE_COUNT)
        painter.setFont(self._small)
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, count)

    def _paint_type(self, painter: QPainter, option: QStyleOptionViewItem, kind: NodeType, match: SearchMatch) -> None:
        colors = self._themes
        rect = QRectF(option.rect).adjusted(4, 0, -4, 0)
        state = option.state
        background = None
        if state & QStyle.StateFlag.State_Selected:
            background = colors.color("selection")
        elif state & QStyle.StateFlag.State_MouseOver:
            background = colors.color("hover")
        if background is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(background)
            painter.drawRoundedRect(rect, 5, 5)
        icon = QRectF(rect.left() + 8, rect.center().y() - _ICON / 2, _ICON, _ICON)
        icons.paint(painter, kind.icon, icon, colors.category(kind.category))
        text = rect.adjusted(8 + _ICON + 8, 0, -8, 0)
        if self._wide:
            text.setRight(text.right() - self._paint_ports(painter, text, kind))
        painter.setFont(self._plain)
        painter.setPen(colors.color("text"))
        metrics = QFontMetricsF(self._plain)
        title = metrics.elidedText(kind.title, Qt.TextElideMode.ElideRight, text.width())
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, title)
        text.setLeft(text.left() + metrics.horizontalAdvance(title) + 12)
        if match.params or match.not_understood:
            refused = not_understood_text(match)
            kept = QFontMetricsF(self._small).horizontalAdvance(refused) + 12 if refused else 0.0
            room = text.adjusted(0, 0, -kept, 0)
            self._paint_line(painter, room, parameters_text(match, with_names=self._wide), "text")
            text.setLeft(room.left())
            self._paint_line(painter, text, refused, "error")
        elif self._wide:
            self._paint_line(painter, text, kind.summary, "text-dim")

    def _paint_line(self, painter: QPainter, room: QRectF, text: str, color: str) -> None:
        """Paint a text at the left of `room`, which is reduced by it."""
        if room.width() < 40 or not text:
            return
        painter.setFont(self._small)
        painter.setPen(self._themes.color(color))
        metrics = QFontMetricsF(self._small)
        line = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, line)
        room.setLeft(room.left() + metrics.horizontalAdvance(line) + 12)

    def _paint_ports(self, painter: QPainter, room: QRectF, kind: NodeType) -> float:
        """Paint the port dots: inputs, an arrow, outputs. Returns their width."""
        pitch, arrow = 10.0, 16.0
        width = pitch * (len(kind.inputs) + len(kind.outputs)) + arrow
        x, y = room.right() - width + pitch / 2, room.center().y()
        painter.setPen(Qt.PenStyle.NoPen)
        for port in kind.inputs:
            painter.setBrush(self._themes.port(port.type))
            painter.drawEllipse(QPointF(x, y), _DOT, _DOT)
            x += pitch
        painter.setPen(self._themes.color("border-strong"))
        middle = x - pitch / 2 + arrow / 2
        painter.drawLine(QPointF(middle - 4, y), QPointF(middle + 4, y))
        painter.drawLine(QPointF(middle + 1, y - 3), QPointF(middle + 4, y))
        painter.drawLine(QPointF(middle + 1, y + 3), QPointF(middle + 4, y))
        x += arrow
        painter.setPen(Qt.PenStyle.NoPen)
        for port in kind.outputs:
            painter.setBrush(self._themes.port(port.type))
            painter.drawEllipse(QPointF(x, y), _DOT, _DOT)
            x += pitch
        return width + 12
