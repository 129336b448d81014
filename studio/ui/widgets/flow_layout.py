"""A layout of rows that wraps widgets which do not fit."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Places visible widgets from left to right in rows of equal height, as many as needed."""

    def __init__(self, parent: QWidget | None = None, *, spacing: int = 16, row_spacing: int = 8) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._spacing, self._row_spacing = spacing, row_spacing
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), moves=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, moves=True)

    def sizeHint(self) -> QSize:
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in sizes) + self._spacing * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width, height = (max((side(size) for size in sizes), default=0) for side in (QSize.width, QSize.height))
        return QSize(width, height)

    def _arrange(self, rect: QRect, *, moves: bool) -> int:
        """Place the widgets within the width of `rect`; returns the height that they need."""
        x = top = 0
        height = self.sizeHint().height()
        for item in self._items:
            if item.isEmpty():
                continue
            width = item.sizeHint().width()
            if x and x + width > rect.width():
                x, top = 0, top + height + self._row_spacing
            if moves:
                item.setGeometry(QRect(rect.topLeft() + QPoint(x, top), QSize(width, height)))
            x += width + self._spacing
        return top + height
