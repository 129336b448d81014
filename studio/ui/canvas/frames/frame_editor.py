"""In-place editor for the title of a frame or the text of a comment."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QWidget

from studio.document.frames import change_frame
from studio.document.model import Frame
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.frames.frame_actions import described
from studio.ui.widgets.inputs import TextEdit

Field = Literal["title", "text"]


class FrameEditor(TextEdit):
    """Enter or Ctrl+Enter accepts, also leaving the editor; Shift+Enter adds a line to a text; Escape cancels."""

    closed = Signal()

    def __init__(self, context: CanvasContext, name: str, field: Field, parent: QWidget) -> None:
        super().__init__(parent)
        self._store = context.store
        self._name = name
        self._field: Field = field
        self._is_done = False
        frame = context.store.document.frames[name]
        self.setPlainText(getattr(frame, field))
        self.setAccessibleName("Title of the frame" if field == "title" else "Text of the comment")
        if field == "title":
            self.setLineWrapMode(TextEdit.LineWrapMode.NoWrap)
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        else:
            self.setToolTip("Enter accepts, Shift+Enter adds a line, Escape cancels")
        self._store.document_changed.connect(self._on_document_changed)

    def open_at(self, rect: QRect) -> None:
        self.setGeometry(rect)
        self.show()
        self.raise_()
        self.selectAll()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_editor(self, *, accept: bool) -> None:
        if self._is_done:
            return
        self._is_done = True
        self._store.document_changed.disconnect(self._on_document_changed)
        if accept:
            self._accept()
        self.hide()
        self.closed.emit()
        self.deleteLater()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() == Qt.Key.Key_Escape:
            self.close_editor(accept=False)
        elif is_enter and self._field == "text" and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.insertPlainText("\n")
            self.moveCursor(QTextCursor.MoveOperation.NoMove)
        elif is_enter or event.key() == Qt.Key.Key_Tab:
            self.close_editor(accept=True)
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.close_editor(accept=True)

    def _accept(self) -> None:
        text, field, name = self.toPlainText().strip(), self._field, self._name
        if field == "title":
            text = " ".join(text.split())
        frame = self._store.document.frames.get(name)
        if frame is None or text == getattr(frame, field) or not _is_visible(frame, field, text):
            return
        what = described(self._store.document, [name])
        title = f"Rename {what} to {text}" if field == "title" and text else f"Edit {what}"
        self._store.edit(title, lambda document: change_frame(document, name, **{field: text}))

    def _on_document_changed(self) -> None:
        """Close if the frame was removed, for example by an undo."""
        if self._name not in self._store.document.frames:
            self.close_editor(accept=False)


def _is_visible(frame: Frame, field: Field, text: str) -> bool:
    """Whether the frame would still have a title or a text."""
    return bool(text or (frame.text if field == "title" else frame.title))
