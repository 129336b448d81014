"""The command palette: find a command of the window or a node of the project by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from studio.ui.fuzzy_match import score
from studio.ui.theme import fonts, icons, theme
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label

_WIDTH, _ROW, _ROWS = 560, 32, 11
_ROLE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One row of the command palette."""

    title: str
    run: Callable[[], object]
    category: str = ""
    """Menu or kind shown on the right, such as "File" or "Node"."""
    keys: str = ""
    icon: str = ""


class CommandPalette(QFrame):
    """Floats over the window. Typing filters, Enter runs, Escape closes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self.setProperty("role", "popup")
        self.setObjectName("command-palette")
        self._choices: list[PaletteEntry] = []
        self._previous_focus: QWidget | None = None
        self.edit = LineEdit()
        self.edit.setPlaceholderText("Type a command or a node name")
        self.edit.setAccessibleName("Search commands")
        self.edit.addAction(icons.themed("search", "text-dim"), LineEdit.ActionPosition.LeadingPosition)
        self.list = QListWidget()
        self.list.setItemDelegate(_RowDelegate(self.list))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.note = label("", "dim", wrap=True)
        self.note.setContentsMargins(8, 0, 8, 8)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(8)
        column.addWidget(self.edit)
        column.addWidget(self.note)
        column.addWidget(self.list, 1)
        self.edit.textChanged.connect(self._filter)
        self.edit.installEventFilter(self)
        self.list.itemClicked.connect(self._run)
        self.hide()

    def open(self, choices: Iterable[PaletteEntry]) -> None:
        """Open with these entries and focus the search field."""
        self._choices = list(choices)
        self._previous_focus = self.window().focusWidget()
        self.edit.clear()
        width = min(_WIDTH, self._parent.width() - 32)
        self.setGeometry((self._parent.width() - width) // 2, 72, width, self.height())
        self._filter("")
        self.show()
        self.raise_()
        self.edit.setFocus()

    def dismiss(self) -> None:
        """Close without running anything and restore the previous focus."""
        self.hide()
        if self._previous_focus is not None:
            self._previous_focus.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and event.type() == QEvent.Type.FocusOut and self.isVisible():
            if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
                self.hide()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._press(event)
        return super().eventFilter(watched, event)

    def _press(self, event: QKeyEvent) -> bool:
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: _ROWS, Qt.Key.Key_PageUp: -_ROWS}
        match event.key():
            case Qt.Key.Key_Escape:
                self.dismiss()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                if (item := self.list.currentItem()) is not None:
                    self._run(item)
            case key if Qt.Key(key) in steps:
                row = self.list.currentRow() + steps[Qt.Key(key)]
                self.list.setCurrentRow(max(0, min(row, self.list.count() - 1)))
            case _:
                return False
        return True

    def _filter(self, text: str) -> None:
        self.list.clear()
        scored = [(score(text, choice.title), choice) for choice in self._choices]
        matches = [(points, choice) for points, choice in scored if points is not None]
        if text:
            matches.sort(key=lambda pair: -pair[0])
        for _, choice in matches:
            item = QListWidgetItem(choice.title)
            item.setData(_ROLE, choice)
            item.setSizeHint(QSize(0, _ROW))
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.note.setText("No matching commands or nodes")
        self.note.setVisible(not matches)
        self.list.setVisible(bool(matches))
        self._fit()

    def _fit(self) -> None:
        """Fit the height to the number of results."""
        around = self.contentsMargins()
        width = self.width() - 16 - around.left() - around.right()
        rows = min(self.list.count(), _ROWS)
        below = _ROW * rows if rows else self.note.heightForWidth(width)
        self.setFixedHeight(around.top() + 8 + self.edit.sizeHint().height() + 8 + below + 8 + around.bottom())

    def _run(self, item: QListWidgetItem) -> None:
        choice: PaletteEntry = item.data(_ROLE)
        self.dismiss()
        choice.run()


class _RowDelegate(QStyledItemDelegate):
    """Icon and title on the left; menu and shortcut dimmed on the right."""

    def __init__(self, of: QListWidget) -> None:
        super().__init__(of)
        self._list = of

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        choice: PaletteEntry = index.data(_ROLE)
        colors = theme.current()
        area = QRect(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if index.row() == self._list.currentRow():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colors.color("selection"))
            painter.drawRoundedRect(area.adjusted(0, 1, 0, -1), 5, 5)
        icons.paint(
            painter,
            choice.icon or "chevron-right",
            QRect(area.left() + 8, area.top() + 8, 16, 16),
            colors.color("text-dim"),
        )
        painter.setFont(fonts.interface(12))
        painter.setPen(colors.color("text-dim"))
        right = area.adjusted(0, 0, -10, 0)
        keys = QKeySequence(choice.keys).toString(QKeySequence.SequenceFormat.NativeText)
        hint = "   ".join(filter(None, (choice.category, keys)))
        painter.drawText(right, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, hint)
        used = painter.fontMetrics().horizontalAdvance(hint) + 24
        painter.setFont(fonts.interface())
        painter.setPen(colors.color("text"))
        room = area.adjusted(34, 0, -used, 0)
        title = painter.fontMetrics().elidedText(choice.title, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, title)
        painter.restore()
