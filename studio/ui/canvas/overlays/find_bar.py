"""The find bar: a field over the canvas that selects nodes, also inside blocks."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.ui.canvas.node_finder import FoundNode, find_nodes
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import icons
from studio.ui.widgets import buttons
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label

_WIDTH, _MARGIN = 380, 12
_DELAY_MS = 120
"""Time after the last typed letter until the first match is shown."""


class FindBar(QFrame):
    """At the top right of the canvas. Enter goes to the next match, Shift+Enter to the previous; Escape closes.

    Args:
        reveal: selects a node by its path and brings it into view
        highlight: highlights nodes by their paths
    """

    closed = Signal()

    def __init__(
        self,
        store: ScopeStore,
        reveal: Callable[[str], object],
        highlight: Callable[[list[str]], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._store, self._reveal, self._highlight = store, reveal, highlight
        self.setProperty("role", "popup")
        self.setAccessibleName("Find nodes")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.matches: list[FoundNode] = []
        self._current = -1
        self._timer = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self._timer.timeout.connect(self._show_first)
        self.field = LineEdit()
        self.field.setPlaceholderText("Name, type, parameter or problem")
        self.field.setAccessibleName("Find nodes by name, type, parameter or problem")
        self.field.addAction(icons.themed("search", "text-dim"), LineEdit.ActionPosition.LeadingPosition)
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._on_text_changed)
        self.count: QLabel = label("", "dim")
        self.reason: QLabel = label("", "dim")
        self._build()
        store.project.document_changed.connect(self._on_document_changed)
        self.beside: QWidget | None = None
        """The bar at the top left."""
        self.hide()

    def _build(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        row.addWidget(buttons.icon_button("chevron-up", "Previous match (Shift+F3)", lambda: self.go(-1)))
        row.addWidget(buttons.icon_button("chevron-down", "Next match (F3)", lambda: self.go(1)))
        row.addWidget(buttons.icon_button("close", "Close (Escape)", self.close_bar))
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self.reason)

    def open(self) -> None:
        """Open and focus the field, with its text selected."""
        self.show()
        self._search()
        self._update_texts()
        self.place()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def close_bar(self) -> None:
        self._timer.stop()
        self._highlight([])
        self.hide()
        self.closed.emit()

    def place(self) -> None:
        """Keep the bar at the top right, below the other bar if there is no room beside it."""
        parent = self.parentWidget()
        assert parent is not None
        width = max(min(_WIDTH, parent.width() - 2 * _MARGIN), 0)
        size = QSize(width, self.sizeHint().height())
        left = parent.width() - _MARGIN - size.width()
        other = None if self.beside is None or self.beside.isHidden() else self.beside.geometry()
        has_room = other is None or left >= other.right() + _MARGIN
        top = _MARGIN if other is None or has_room else other.bottom() + 1 + _MARGIN
        self.setGeometry(left, top, size.width(), size.height())
        self.raise_()

    def go(self, step: int) -> None:
        """Show the next (1) or previous (-1) match, from the last one on the first again."""
        if self._timer.isActive():
            self._timer.stop()
            self._search()
        if self.matches:
            start = self._current if self._current >= 0 or step > 0 else 0
            self._current = (start + step) % len(self.matches)
            self._reveal(self.matches[self._current].path)
            self._mark()
        self._update_texts()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Escape:
                self.close_bar()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.go(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
            case Qt.Key.Key_Down:
                self.go(1)
            case Qt.Key.Key_Up:
                self.go(-1)
            case _:
                super().keyPressEvent(event)

    def _on_text_changed(self) -> None:
        self._current = -1
        self._timer.start()

    def _show_first(self) -> None:
        self._search()
        self._current = -1
        self.go(1)

    def _search(self) -> None:
        """Find the matches in the present document; the current one stays current."""
        shown = self.matches[self._current].path if 0 <= self._current < len(self.matches) else None
        project = self._store.project
        self.matches = find_nodes(project.document, project.catalogue, project.report.problems, self.field.text())
        paths = [found.path for found in self.matches]
        self._current = paths.index(shown) if shown in paths else -1
        self._mark()

    def _mark(self) -> None:
        self._highlight([found.path for found in self.matches])

    def _update_texts(self) -> None:
        total = len(self.matches)
        if not self.field.text().strip():
            self.count.setText("")
        elif not total:
            self.count.setText("No matches")
        else:
            self.count.setText(f"{self._current + 1} of {total}" if self._current >= 0 else f"{total}")
        found = self.matches[self._current] if 0 <= self._current < total else None
        text = f"{found.path}: {found.reason}" if found and found.reason else found.path if found else ""
        metrics = self.reason.fontMetrics()
        self.reason.setText(metrics.elidedText(text, Qt.TextElideMode.ElideRight, _WIDTH - 24))
        self.reason.setVisible(bool(text))
        announce(self.field, ", ".join(filter(None, (self.count.text(), text))))
        self.place()

    def _on_document_changed(self) -> None:
        if self.isVisible():
            self._search()
            self._update_texts()


__all__ = ["FindBar"]
