"""The list of differences over the canvas."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from studio.document.graph_comparison import Change
from studio.ui.canvas.comparison.comparison_layer import SIGNS
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel

_WIDTH, _ROWS = 320, 8
_MARGINS, _ROW_GAP = 40, 6
"""Pixels beside the texts of the rows, with the scroll bar, and above and below each."""


class ComparisonList(QFrame):
    """Up and Down, a click or the buttons show a difference on the canvas; Escape ends the comparison."""

    chosen = Signal(object)
    """A Change."""

    def __init__(self, close: Callable[[], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self.setAccessibleName("Differences")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._close = close
        self._changes: Sequence[Change] = ()
        self.title = ElidedLabel("", self)
        self.list = QListWidget()
        self.list.setAccessibleName("List of differences")
        self.list.setWordWrap(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentRowChanged.connect(self._on_row_changed)
        row = QHBoxLayout()
        row.addWidget(self.title, 1)
        for icon, text, run in (
            ("chevron-left", "Previous difference", lambda: self.step(-1)),
            ("chevron-right", "Next difference", lambda: self.step(1)),
            ("close", "End the comparison", close),
        ):
            button = buttons.icon_button(icon, text, run, token="text-dim", size=12)
            button.setProperty("kind", "small")
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 6, 6, 6)
        column.addLayout(row)
        column.addWidget(self.list)
        self.hide()

    def show_changes(self, title: str, changes: Sequence[Change], others: Sequence[str]) -> None:
        """List the changes of nodes, then other differences as text."""
        if (title, changes, others) == (self.title.text(), self._changes, self._others()):
            return
        current = self.list.currentRow()
        self.title.setText(title)
        self._changes = changes
        self.list.blockSignals(True)
        self.list.clear()
        for change in changes:
            self.list.addItem(QListWidgetItem(f"{SIGNS[change.kind]}\N{NO-BREAK SPACE}{change}"))
        self.list.addItems(list(others))
        if not changes and not others:
            self.list.addItem("No differences. Positions are not compared.")
        self.list.setCurrentRow(min(current, len(changes) - 1))
        self.list.blockSignals(False)

    def sizeHint(self) -> QSize:
        width = _WIDTH - _MARGINS
        metrics, area = self.list.fontMetrics(), QRect(0, 0, width, 10_000)
        texts = (self.list.item(row).text() for row in range(min(self.list.count(), _ROWS)))
        height = sum(metrics.boundingRect(area, Qt.TextFlag.TextWordWrap, text).height() + _ROW_GAP for text in texts)
        return QSize(_WIDTH, 52 + min(height, 34 * _ROWS))

    def show_first(self) -> None:
        """Show the first difference. Qt does so by itself only if the window is active when the list gets the focus."""
        self.list.setCurrentRow(-1)
        if self._changes:
            self.list.setCurrentRow(0)

    def step(self, by: int) -> None:
        """Show the next or previous difference on the canvas."""
        if self._changes:
            self.list.setCurrentRow((max(self.list.currentRow(), -1 if by > 0 else 0) + by) % len(self._changes))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._close()
        else:
            super().keyPressEvent(event)

    def _others(self) -> list[str]:
        rows = range(len(self._changes), self.list.count())
        return [self.list.item(row).text() for row in rows]

    def _on_row_changed(self, row: int) -> None:
        if 0 <= row < len(self._changes):
            self.chosen.emit(self._changes[row])


__all__ = ["ComparisonList"]
