"""The Code panel: the generated source that is trained. Selection is linked with the canvas in both directions."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QStackedLayout, QVBoxLayout, QWidget

from studio.document.block_locations import first_path
from studio.lowering.program import LoweringError, Program, lower
from studio.ui.panels.code.code_editor import CodeEditor
from studio.ui.panels.code.python_highlighter import PythonHighlighter
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import theme
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import label

_DELAY_MS = 120


class CodePanel(QWidget):
    """Generates the code only while visible, and once for several edits in quick succession."""

    def __init__(self, store: ProjectStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._program: Program | None = None
        self._stale = True
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY_MS)
        self._timer.timeout.connect(self.refresh)

        self.editor = CodeEditor()
        self._highlighter = PythonHighlighter(self.editor.document(), theme.current())
        self._notice = label("", "warning")
        self._notice.setContentsMargins(12, 6, 12, 6)
        self._notice.hide()
        copy = buttons.icon_button("copy", "Copy code", self._copy)
        copy.setProperty("kind", "chip")
        self.editor.set_corner(copy)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._notice)
        column.addWidget(self.editor, 1)
        self._empty = EmptyState("code", "No code yet", "The Python code generated from your graph appears here.")
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(page)

        store.report_changed.connect(self._schedule)
        store.selection_changed.connect(self._mark)
        self.editor.line_clicked.connect(self._select)
        theme.manager().changed.connect(self._repaint)

    @property
    def program(self) -> Program | None:
        """The shown program; the last valid one while the graph has errors."""
        return self._program

    def refresh(self) -> None:
        """Show the code of the current document. Does nothing while its check is running; the report triggers this."""
        if not self._store.is_checked:
            return
        self._stale = False
        try:
            program = lower(self._store.check_report, self._store.name)
        except LoweringError:
            self._show_errors()
            return
        self._notice.hide()
        self._stack.setCurrentIndex(1)
        if self._program is None or program.source != self._program.source:
            position = self.editor.verticalScrollBar().value()
            self.editor.setPlainText(program.source)
            self.editor.verticalScrollBar().setValue(position)
        self._program = program
        self._mark()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            QTimer.singleShot(0, self, self._refresh_if_visible)

    def _refresh_if_visible(self) -> None:
        """A dock that opens in the background is shown for a moment."""
        if self._stale and self.isVisible():
            self.refresh()

    def _schedule(self, *_: object) -> None:
        self._stale = True
        if self.isVisible():
            self._timer.start()

    def _show_errors(self) -> None:
        count = len(self._store.report.errors)
        errors = "1 error" if count == 1 else f"{count} errors"
        if self._program is None:
            self._empty.set_text(
                "No code yet",
                f"Fix {errors} in the graph to generate code.",
            )
            self._stack.setCurrentIndex(0)
        else:
            self._notice.setText(f"The graph has {errors}. This is the code of the last valid graph.")
            self._notice.show()

    def _mark(self, *_: object) -> None:
        if self._program is None:
            return
        selected = {first_path(self._store.document, path) for path in self._store.selection}
        self.editor.mark(line for line, node in self._program.lines.items() if node in selected)

    def _select(self, line: int) -> None:
        node = self._program.lines.get(line) if self._program else None
        if node is not None:
            self._store.select([node])

    def _copy(self) -> None:
        QApplication.clipboard().setText(self.editor.toPlainText())

    def _repaint(self) -> None:
        self._highlighter.set_theme(theme.current())
        self._mark()
