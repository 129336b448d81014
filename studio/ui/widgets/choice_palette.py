"""A list of choices that floats over a widget: the command palette, and the lists of ports and wires on the canvas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QHideEvent, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from studio.ui.fuzzy_match import SCATTERED, partial_score, score
from studio.ui.theme import fonts, icons, theme
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label

_WIDTH, _ROW, _ROWS = 560, 32, 11
_MARGIN = 8
_REFUSED = 3.0
"""What a disabled choice loses of its score."""
_TOP = 72
"""Distance from the top of the parent by default, in pixels."""
_ROLE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class Choice:
    """One row of the list."""

    title: str
    run: Callable[[], object]
    category: str = ""
    """Menu or kind shown on the right, such as "File" or "Node"."""
    keys: str = ""
    icon: str = ""
    refusal: str = ""
    """Why the choice is disabled; empty if it can be chosen."""
    synonyms: str = ""
    """Further words that find it."""
    rank: float = 0.0
    """Added to the score of a search; a word of the title counts 10."""

    @property
    def description(self) -> str:
        """The whole row as text."""
        return ", ".join(filter(None, (self.title, self.category, self.keys, self.refusal)))


class ChoicePalette(QFrame):
    """Typing filters, Enter runs the current choice, Escape closes.

    Args:
        name: accessible name of the search field
        placeholder: hint in the empty search field
        no_match: text shown if no choice matches
        rows: number of rows before the list scrolls
    """

    closed = Signal()
    current_changed = Signal(object)
    """The current Choice, or None."""

    def __init__(self, parent: QWidget, name: str, placeholder: str, no_match: str, rows: int = _ROWS) -> None:
        super().__init__(parent)
        self._parent = parent
        self._no_match, self._rows = no_match, rows
        self.setProperty("role", "popup")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._choices: list[Choice] = []
        self._previous_focus: QWidget | None = None
        self.edit = LineEdit()
        self.edit.setPlaceholderText(placeholder)
        self.edit.setAccessibleName(name)
        self.edit.addAction(icons.themed("search", "text-dim"), LineEdit.ActionPosition.LeadingPosition)
        self.list = QListWidget()
        self.list.setAccessibleName("Choices")
        self.list.setItemDelegate(_RowDelegate(self.list))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.note = label("", "dim", wrap=True)
        self.note.setContentsMargins(8, 0, 8, 8)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        column.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        column.setSpacing(_MARGIN)
        column.addWidget(self.edit)
        column.addWidget(self.list, 1)
        column.addWidget(self.note)
        self.edit.textChanged.connect(self._filter)
        self.edit.installEventFilter(self)
        self.list.itemClicked.connect(self._run)
        self.list.currentItemChanged.connect(self._show_current)
        self.hide()

    def open(self, choices: Iterable[Choice], at: QPoint | None = None, placeholder: str = "") -> None:
        """Open with these choices and focus the search field.

        Args:
            choices: in their order without a search
            at: position of the top left corner in the parent; by default centered near the top
            placeholder: another hint in the empty search field
        """
        self._choices = list(choices)
        self._previous_focus = self.window().focusWidget()
        if placeholder:
            self.edit.setPlaceholderText(placeholder)
        self.edit.clear()
        width = min(_WIDTH, self._parent.width() - 4 * _MARGIN)
        self.resize(width, self.height())
        self._filter("")
        centered = QPoint((self._parent.width() - width) // 2, min(_TOP, self._space - self.height()))
        self.move(self._bounded(at or centered))
        self.show()
        self.raise_()
        self.edit.setFocus()
        self._show_current()

    def dismiss(self) -> None:
        """Close without running anything and restore the previous focus."""
        self.hide()
        if self._previous_focus is not None:
            self._previous_focus.setFocus()

    @property
    def current(self) -> Choice | None:
        """The choice that Enter runs."""
        item = self.list.currentItem()
        return item.data(_ROLE) if item is not None else None

    @property
    def shown(self) -> list[Choice]:
        """The choices that match the typed text."""
        return [self.list.item(row).data(_ROLE) for row in range(self.list.count())]

    def hideEvent(self, event: QHideEvent) -> None:
        self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and event.type() == QEvent.Type.FocusOut and self.isVisible():
            if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
                self.hide()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._press(event)
        return super().eventFilter(watched, event)

    def _press(self, event: QKeyEvent) -> bool:
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: self._rows, Qt.Key.Key_PageUp: -self._rows}
        match event.key():
            case Qt.Key.Key_Escape | Qt.Key.Key_Tab | Qt.Key.Key_Backtab:
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
        self.list.blockSignals(True)
        self.list.clear()
        matches = self._matches(text)
        for choice in matches:
            item = QListWidgetItem(choice.title)
            item.setData(_ROLE, choice)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, choice.description)
            item.setToolTip(choice.refusal)
            item.setSizeHint(QSize(0, _ROW))
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.list.blockSignals(False)
        self.list.setVisible(bool(matches))
        self._show_current()

    def _matches(self, text: str) -> list[Choice]:
        """The choices that match all typed words, else letters in this order, else some words; the best first."""
        if not text:
            return self._choices
        for match in (score, partial_score):
            scored = [(match(text, choice.title, choice.synonyms), choice) for choice in self._choices]
            found = [(points, choice) for points, choice in scored if points]
            if any(points > SCATTERED for points, _ in found):
                found = [(points, choice) for points, choice in found if points > SCATTERED]
            if found:
                found.sort(key=lambda pair: -(pair[0] + pair[1].rank - _REFUSED * bool(pair[1].refusal)))
                return [choice for _, choice in found]
        return []

    def _show_current(self, *_: object) -> None:
        """Describe the current choice: why it is disabled below the list, and all of it for screen readers."""
        choice = self.current
        self.note.setText(self._no_match if choice is None else choice.refusal)
        self.note.setVisible(bool(self.note.text()))
        self.edit.setAccessibleDescription(self._no_match if choice is None else choice.description)
        self._fit()
        if self.isVisible():
            announce(self.edit, self.edit.accessibleDescription())
            self.current_changed.emit(choice)

    @property
    def _space(self) -> int:
        """Height within the parent."""
        return max(self._parent.height() - _MARGIN, 0)

    def _bounded(self, at: QPoint) -> QPoint:
        """The nearest position within the parent."""
        right, bottom = self._parent.width() - self.width() - _MARGIN, self._space - self.height()
        return QPoint(max(min(at.x(), right), _MARGIN), max(min(at.y(), bottom), _MARGIN))

    def _fit(self) -> None:
        """Fit the height to the number of results, within the parent."""
        around = self.contentsMargins()
        width = self.width() - 2 * _MARGIN - around.left() - around.right()
        parts = [self.edit.sizeHint().height()]
        if self.note.text():
            parts.append(self.note.heightForWidth(width))
        if self.list.count():
            room = self._space - _MARGIN - around.top() - around.bottom() - sum(parts) - _MARGIN * (len(parts) + 2)
            parts.append(max(min(_ROW * min(self.list.count(), self._rows), room), _ROW))
        self.setFixedHeight(around.top() + _MARGIN + sum(part + _MARGIN for part in parts) + around.bottom())
        if self.isVisible():
            self.move(self._bounded(self.pos()))

    def _run(self, item: QListWidgetItem) -> None:
        choice: Choice = item.data(_ROLE)
        if not choice.refusal:
            self.dismiss()
            choice.run()


class _RowDelegate(QStyledItemDelegate):
    """Icon and title on the left; menu and shortcut, or the reason of a refusal, dimmed on the right."""

    def __init__(self, of: QListWidget) -> None:
        super().__init__(of)
        self._list = of

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        choice: Choice = index.data(_ROLE)
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
        keys = QKeySequence(choice.keys).toString(QKeySequence.SequenceFormat.NativeText)
        hint = "   ".join(filter(None, (choice.category, keys, choice.refusal)))
        right = area.adjusted(area.width() // 2 if choice.refusal else 34, 0, -10, 0)
        wanted = QFontMetrics(fonts.interface()).horizontalAdvance(choice.title)
        right.setLeft(min(right.left() + wanted + 14, max(right.left(), area.center().x())))
        hint = painter.fontMetrics().elidedText(hint, Qt.TextElideMode.ElideRight, right.width())
        painter.drawText(right, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, hint)
        used = painter.fontMetrics().horizontalAdvance(hint) + 24
        painter.setFont(fonts.interface())
        painter.setPen(colors.color("text-dim" if choice.refusal else "text"))
        room = area.adjusted(34, 0, -used, 0)
        title = painter.fontMetrics().elidedText(choice.title, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, title)
        painter.restore()
