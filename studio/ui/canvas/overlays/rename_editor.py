"""In-place editor for the name of a node, with validation while typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from studio.document import edits, node_names
from studio.ui.canvas.overlays.pointer_message import PointerMessage
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import ThemeManager
from studio.ui.widgets.inputs import LineEdit

Rename: TypeAlias = Callable[[str, str], object]
"""Called with the old and the new name."""


class RenameEditor(LineEdit):
    """An editor over the header of a node. Enter accepts; Escape and loss of focus cancel."""

    closed = Signal()

    def __init__(
        self, store: ScopeStore, themes: ThemeManager, name: str, parent: QWidget, rename: Rename | None = None
    ) -> None:
        super().__init__(name, parent)
        self._store = store
        self._name = name
        self._rename = rename or self._rename_node
        self._done = False
        self.setAccessibleName(f"New name of {name}")
        self.reason = PointerMessage(themes, parent)
        self.textChanged.connect(self._validate)
        store.document_changed.connect(self._document_changed)
        self.installEventFilter(self)

    def open_at(self, rect: QRect) -> None:
        self.setGeometry(rect)
        self.show()
        self.raise_()
        self.selectAll()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def problem(self, text: str) -> str | None:
        """Why `text` is not a valid name; None if it is valid."""
        new = node_names.name_from_title(text)
        if new == self._name:
            return None
        if (problem := node_names.problem(new)) is not None:
            return f"The name {problem}."
        return f"There is already a node {new}. Choose another name." if new in self._store.document.nodes else None

    def close_editor(self) -> None:
        if self._done:
            return
        self._done = True
        self._store.document_changed.disconnect(self._document_changed)
        self.hide()
        self.reason.hide()
        self.closed.emit()
        self.reason.deleteLater()
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:
            self.close_editor()
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() == Qt.Key.Key_Escape:
                self.close_editor()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):  # which a line edit passes on to the canvas
                self._accept()
                return True
        return super().eventFilter(watched, event)

    def _validate(self, text: str) -> None:
        problem = self.problem(text)
        self.setProperty("invalid", "true" if problem else "false")
        self.style().unpolish(self)
        self.style().polish(self)
        new = node_names.name_from_title(text)
        becomes = f"Will be named {new}" if new != text.strip() else ""
        self.reason.show_message(problem or becomes, self.geometry().bottomLeft() - QPoint(16, 10))

    def _accept(self) -> None:
        new, old = node_names.name_from_title(self.text()), self._name
        if self.problem(self.text()) is not None:
            return
        self.close_editor()
        if new != old:
            self._rename(old, new)

    def _rename_node(self, old: str, new: str) -> None:
        self._store.edit(f"Rename {old} to {new}", lambda document: edits.rename(document, old, new))

    def _document_changed(self) -> None:
        """Close if the node was removed, for example by an undo."""
        if self._name not in self._store.document.nodes:
            self.close_editor()
