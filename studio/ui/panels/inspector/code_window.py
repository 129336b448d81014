"""The source of the selected Python node in a separate window."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QStackedLayout, QVBoxLayout, QWidget

from studio.document.blocks.block_locations import UNSET, Location, block_at, value_at
from studio.document.document_errors import EditError
from studio.document.located_edits import set_at
from studio.document.model import Document
from studio.nodes.python_node import DEFAULT_SOURCE, PYTHON, SOURCE
from studio.nodes.types import NodeType
from studio.ui.panels.code.draft_bar import DraftBar
from studio.ui.panels.code.python_highlighter import PythonHighlighter
from studio.ui.panels.inspector.code_field import CodeField
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import theme
from studio.ui.widgets import buttons
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import label

_SIZE = QSize(760, 600)
_KEYS = "Ctrl+Enter applies the source, Escape restores it, and Escape again closes the window."


class CodeWindow(QDialog):
    """Shows the source of the only selected Python node, and follows the selection.

    A draft is applied when another node is selected, and when the window is closed.
    """

    def __init__(self, store: ScopeStore, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Tool)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.store = store
        self._shown: tuple[Location, str] | None = None
        """The location and name of the node; None if there is none."""
        parameter = store.catalogue[PYTHON].param(SOURCE)
        assert parameter is not None
        self.field = CodeField(parameter, is_large=True)
        self.editor = self.field.code
        self.editor.setAccessibleName("Python code")
        self._highlighter = PythonHighlighter(self.editor.document(), theme.current())
        self.draft = DraftBar(self.field.apply, self.field.restore)
        self.hint = label(_KEYS, "dim", wrap=True)
        self.hint.setContentsMargins(12, 6, 12, 6)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.hint)
        column.addWidget(self.field, 1)
        column.addWidget(self.draft)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(
            EmptyState("code", "No Python node selected", "Select one Python node on the canvas to edit its code here.")
        )
        self._stack.addWidget(page)
        self.field.edited.connect(self._set)
        self.editor.textChanged.connect(self._show_draft)
        self.editor.dismissed.connect(self.close)
        self._update = DeferredChange(self._follow, self)
        store.selection_changed.connect(self._update.run)
        store.location_changed.connect(self._update.run)
        store.project.document_changed.connect(self._update.run)
        theme.manager().changed.connect(self._repaint)
        self.resize(_SIZE)
        self._follow()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.field.apply()
        super().closeEvent(event)

    def _follow(self) -> None:
        node = selected_code(self.store)
        shown = None if node is None else (self.store.location, node)
        if shown != self._shown:
            self.field.apply()
            self._shown = shown
        self.setWindowTitle("Python code" if node is None else f"Python code of {self.store.prefix}{node}")
        self._stack.setCurrentIndex(0 if node is None else 1)
        if node is not None:
            found = value_at(self.store.project.document, self.store.location, node, SOURCE)
            self.field.show_value(DEFAULT_SOURCE if found is UNSET else found, is_set=True, implied="")
            self._show_draft()

    def _set(self, source: str, _gesture: str) -> None:
        if self._shown is None:
            return
        location, name = self._shown
        if not has_node(self.store.project.document, location, name):
            return

        def edit(document: Document) -> Document:
            return set_at(document, location, name, SOURCE, source)

        self.store.project.edit(f"Set {name}.{SOURCE}", edit)

    def _show_draft(self) -> None:
        error = self.editor.error
        if error is not None:
            self.draft.show_error(f"Line {error.line}: {error.message}.")
        elif self.field.is_draft:
            self.draft.show_state("Edited. Apply to change the node.")
        else:
            self.draft.hide()

    def _repaint(self) -> None:
        self._highlighter.set_theme(theme.current())


def has_node(document: Document, location: Location, name: str) -> bool:
    """Whether a graph that may be gone has a node."""
    try:
        block = block_at(document, location)
    except (KeyError, EditError):
        return False
    return name in (document.blocks[block] if block else document).nodes


def selected_code(store: ScopeStore) -> str | None:
    """The only selected node, if it is a Python node."""
    names = list(store.selection)
    node = store.document.nodes.get(names[0]) if len(names) == 1 else None
    return names[0] if node is not None and node.type == PYTHON else None


def show_code_window(store: ScopeStore, parent: QWidget) -> CodeWindow:
    """Open the window of a project, or bring it to the front."""
    found = next((each for each in parent.findChildren(CodeWindow) if each.store is store), None)
    window = found or CodeWindow(store, parent)
    window.show()
    window.raise_()
    window.activateWindow()
    window.editor.setFocus()
    return window


def code_window_row(store: ScopeStore, name: str, kind: NodeType) -> QWidget | None:
    """The button below the code of a Python node."""
    if kind.key != PYTHON:
        return None
    button = buttons.text_button(
        "Edit in larger window", lambda: show_code_window(store, button.window()), icon="external"
    )
    button.setAccessibleName(f"Edit the code of {name} in larger window")
    button.setToolTip("Edit the code in a separate window, which follows the selection")
    return button


__all__ = ["CodeWindow", "code_window_row", "selected_code", "show_code_window"]
