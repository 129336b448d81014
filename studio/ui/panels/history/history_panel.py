"""The History panel: all edits of a project, with jumping to the state after any of them."""

from __future__ import annotations

import time

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.document.edit_history import HistoryEntry
from studio.ui.panels.history.history_model import (
    ENTRY,
    ICON,
    IS_CURRENT,
    IS_SAVED,
    IS_UNDONE,
    HistoryModel,
    replaced_text,
)
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import fonts, icons, theme

_ROW = 26


class HistoryPanel(QListView):
    """A click, Enter or Space goes to a state."""

    def __init__(self, store: ProjectStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._model = HistoryModel(store, self)
        self.setModel(self._model)
        self.setItemDelegate(_RowDelegate(self))
        self.setAccessibleName("Edit history")
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._go_to)
        store.document_changed.connect(self._refresh)
        store.saved_changed.connect(self._refresh)
        store.path_changed.connect(self._refresh)
        self._refresh()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._go_to(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _go_to(self, index: QModelIndex) -> None:
        if index.isValid() and index.row() != self._store.history.position:
            self._store.go_to(index.row())

    def _refresh(self, *_: object) -> None:
        self._model.refresh()
        current = self._model.index(self._store.history.position)
        self.setCurrentIndex(current)
        self.scrollTo(current)


class _RowDelegate(QStyledItemDelegate):
    """Icon and title on the left; marks and time on the right. Undone edits are dim."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(200, _ROW)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        entry: HistoryEntry = index.data(ENTRY)
        is_current, is_undone = index.data(IS_CURRENT), index.data(IS_UNDONE)
        colors, area = theme.current(), QRect(option.rect)
        dim = colors.color("text-dim")
        text = dim if is_undone else colors.color("text")
        view = option.widget
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if is_current:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("selection"))
            painter.drawRoundedRect(area.adjusted(4, 1, -4, -1), 5, 5)
        if isinstance(view, QListView) and view.hasFocus() and view.currentIndex() == index:
            painter.setPen(colors.color("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(4, 1, -5, -2), 5, 5)
        if is_undone:
            painter.setOpacity(0.75)
        icons.paint(painter, index.data(ICON), QRect(area.left() + 12, area.top() + 5, 16, 16), dim)
        marks = [replaced_text(entry)] if entry.replaced else []
        marks += ["saved"] if index.data(IS_SAVED) else []
        right = "   ".join([*marks, time.strftime("%H:%M:%S", time.localtime(entry.time))])
        painter.setFont(fonts.interface(12))
        painter.setPen(dim)
        room = area.adjusted(36, 0, -12, 0)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, right)
        room.setRight(room.right() - painter.fontMetrics().horizontalAdvance(right) - 16)
        painter.setFont(fonts.interface(bold=is_current))
        painter.setPen(text)
        title = painter.fontMetrics().elidedText(entry.title, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, title)
        painter.restore()
