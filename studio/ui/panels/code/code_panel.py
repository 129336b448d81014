"""The Code panel: the generated source that is trained. Edits of its text become edits of the graph."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QStackedLayout, QVBoxLayout, QWidget

from studio.document.blocks.block_locations import Renaming, first_paths
from studio.document.model import Document
from studio.lowering.program import LoweringError, Program, shown_program
from studio.lowering.source_import.edits.checked_edits import apply_checked
from studio.lowering.source_import.reading.code_text import typed_sources
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.lowering.user_code.code_loader import is_trusted
from studio.lowering.user_code.document_code import trust_typed
from studio.ui.latest_task import LatestTask
from studio.ui.panels.code.code_corner import CodeCorner
from studio.ui.panels.code.code_editor import CodeEditor, CodeError
from studio.ui.panels.code.draft_bar import DraftBar
from studio.ui.panels.code.text_merge import merged
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import theme
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.notice_bar import NoticeBar

_DELAY_MS = 120
_PAUSE_MS = 400
"""Pause in typing after which edited code is checked."""


class CodePanel(QWidget):
    """Generates the code in a thread, only while visible, and once for several edits in quick succession.

    Until then, the code of the previous graph is shown. Selection is linked with the canvas in both directions. While
    the text is edited, it is a draft: changes of the graph do not replace it, and applying it is one edit.
    """

    problems_requested = Signal()
    """The problems of the graph should be shown."""

    def __init__(self, store: ProjectStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._program: Program | None = None
        self._shown: Document | None = None
        """The document that the text describes, apart from its draft."""
        self._clean = ""
        """The text without a draft: the source of the program; until that is generated, the draft that was applied."""
        self._made: tuple[str, Document] | None = None
        """A draft without errors, and the document that it makes."""
        self._is_applying = False
        self._stale = True
        self._timer = _single_shot(self, _DELAY_MS)
        self._timer.timeout.connect(self.refresh)
        self._pause = _single_shot(self, _PAUSE_MS)
        self._pause.timeout.connect(self._check_draft)
        self._generator = LatestTask("program", self)
        self._generator.finished.connect(self._on_generated)
        self._checker = LatestTask("code", self)
        self._checker.finished.connect(self._on_checked)

        self.editor = CodeEditor()
        self.editor.setAccessibleName("Code")
        self.editor.make_editable()
        self.notice = NoticeBar("Show problems", self.problems_requested.emit)
        self.notice.hide()
        self.draft = DraftBar(self.apply, self.revert)
        self._corner = CodeCorner(self._copy)
        self.activity = self._corner.activity
        self.editor.set_corner(self._corner)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.notice)
        column.addWidget(self.editor, 1)
        column.addWidget(self.draft)
        self._empty = EmptyState(
            "code",
            "No code yet",
            "The Python code generated from your graph appears here.",
            action="Show problems",
            run=self.problems_requested.emit,
        )
        self._empty.show_button(False)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(page)

        store.report_changed.connect(self._schedule)
        store.selection_changed.connect(self._mark)
        store.document_changed.connect(self._on_document_changed)
        store.add_draft_check(self._unapplied)
        self.editor.line_clicked.connect(self._select)
        self.editor.accepted.connect(self.apply)
        self.editor.cancelled.connect(self.revert)
        self.editor.textChanged.connect(self._on_text_changed)
        theme.manager().changed.connect(self._repaint)

    @property
    def program(self) -> Program | None:
        """The shown program; the last valid one while the graph has errors."""
        return self._program

    @property
    def is_draft(self) -> bool:
        """Whether the text differs from the generated code."""
        return self._shown is not None and self.editor.toPlainText() != self._clean

    def refresh(self) -> None:
        """Generate the code of the current document. Does nothing while its check is running; the report triggers
        this."""
        if not self._store.is_checked:
            return
        self._stale = False
        document, report = self._store.document, self._store.check_report
        if report.errors:
            self._generator.cancel()
            self._corner.hide_activity()
            if not self.is_draft:
                self._show_errors(len(report.errors))
            return
        self._corner.show_activity()
        self._generator.request(document, partial(shown_program, report, self._store.name))

    def _on_generated(self, document: Document, result: Program | LoweringError | Exception) -> None:
        if document is not self._store.document:
            return
        self._corner.hide_activity()
        if isinstance(result, LoweringError):
            if not self.is_draft:
                self._show_errors(len(result.problems))
        elif isinstance(result, Exception):
            raise result
        else:
            self._show(result, document)

    def _show(self, program: Program, document: Document) -> None:
        """Show a program. A draft that was made from other code stays, and cannot be applied."""
        source, is_draft = program.source, self.is_draft
        if is_draft and source != self._clean:
            if self._shown is not document:
                return
            self._rebase_draft(source)
        self._show_trust(program)
        self._stack.setCurrentIndex(1)
        self._program, self._shown, self._clean = program, document, source
        if is_draft:
            self._check_draft()
        else:
            self._show_source(source)
            self._mark()

    def _show_trust(self, program: Program) -> None:
        untrusted = [node for each in program.code if not is_trusted(each.source) for node in each.nodes]
        more = f" and {len(untrusted) - 1} more" if len(untrusted) > 1 else ""
        self.notice.text.setText(
            f"The Python code of {untrusted[0]}{more} is not trusted, so it is not run. "
            "Read it, then choose File › Trust Python code."
            if untrusted
            else ""
        )
        self.notice.setVisible(bool(untrusted))

    def _rebase_draft(self, source: str) -> None:
        """Make the draft one of the code that was generated for the draft that was applied before."""
        text = merged(self._clean, self.editor.toPlainText(), source)
        if text is not None:
            self._clean = source
            self.editor.show_source(text)
            self.editor.document().setModified(True)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.refresh()

    # -- editing

    def apply(self) -> None:
        """Apply the draft to the graph as soon as it is checked."""
        if not self.is_draft:
            return
        if self._shown is not self._store.document:
            self._on_document_changed()
            return
        text = self.editor.toPlainText()
        if self._made is not None and self._made[0] == text and not self._trust_draft():
            self._commit(self._made[1])
            return
        self._trust_draft()
        self._is_applying = True
        self._check_draft()

    def revert(self) -> None:
        """Discard the draft and show the code of the graph."""
        if not self.is_draft:
            return
        self._show_source(self._clean)
        self._end_draft()
        self.refresh()
        self._mark()

    def _commit(self, made: Document) -> None:
        self._end_draft()
        if made is self._store.document:  # only spaces or names of variables differ
            self.revert()
            return
        # The text is replaced by the code of the new graph. A draft that is typed until then is one of that code.
        self._program, self._shown, self._clean = None, made, self.editor.toPlainText()
        self._store.edit("Edit code", lambda _: made)

    def _trust_draft(self) -> bool:
        """Trust code that the user typed, unless the program has code that is not trusted. Whether it can now run."""
        if self._program is None:
            return False
        try:
            typed = typed_sources(self._program, self.editor.toPlainText())
        except SourceError:
            return False  # which the check reports
        known = set(filter(is_trusted, typed))
        trust_typed([section.source for section in self._program.code], typed)
        return known != set(filter(is_trusted, typed))

    def _end_draft(self) -> None:
        self._pause.stop()
        self._is_applying, self._made = False, None
        self.editor.show_error(None)
        self.draft.hide()

    def _on_text_changed(self) -> None:
        if not self.is_draft:
            self._end_draft()
            return
        self._made = None
        self.editor.mark(())
        self.draft.show_state("Edited")
        if self._shown is not self._store.document:
            self._on_document_changed()
            return
        self._pause.start()

    def _check_draft(self) -> None:
        self._pause.stop()
        program, document, report = self._program, self._shown, self._store.check_report
        if program is None or document is None or not self.is_draft or document is not self._store.document:
            return
        self.draft.show_state("Checking…")
        catalogue, base = self._store.catalogue, self._store.base
        text = self.editor.toPlainText()
        self._checker.request(text, partial(apply_checked, document, report, program, text, catalogue, base))

    def _on_checked(self, text: str, outcome: Document | Exception) -> None:
        if not self.is_draft or text != self.editor.toPlainText():
            return
        is_applying, self._is_applying = self._is_applying, False
        if isinstance(outcome, Exception):
            error = _code_error(outcome)
            self.editor.show_error(error, scroll=is_applying)
            self.draft.show_error(f"Line {error.line}: {error.message}")
            return
        self.editor.show_error(None)
        self._made = (text, outcome)
        if is_applying and self._shown is self._store.document:
            self._commit(outcome)
        else:
            self.draft.show_state("Edited. Apply to change the graph.")

    def _on_document_changed(self, *_: object) -> None:
        if self.is_draft and self._shown is not self._store.document:
            self.draft.show_error("The graph has changed. Undo that change, or revert to show its code.")
        elif self.is_draft:
            self._pause.start()

    def _unapplied(self) -> str:
        return "The code is edited. Apply or revert it in the Code panel first." if self.is_draft else ""

    # -- showing

    def _show_source(self, source: str) -> None:
        if source != self.editor.toPlainText():
            self.editor.show_source(source)
        self.editor.document().setModified(False)

    def _schedule(self, *_: object) -> None:
        self._stale = True
        if self.isVisible():
            self._timer.start()

    def _show_errors(self, count: int) -> None:
        errors = "1 error" if count == 1 else f"{count} errors"
        if self._shown is None:
            self._empty.set_text("No code yet", f"Fix {errors} in the graph to generate code.")
            self._empty.show_button(True)
            self._stack.setCurrentIndex(0)
        else:
            self.notice.text.setText(f"The graph has {errors}. This is the code of the last valid graph.")
            self.notice.show()

    def _mark(self, *_: object) -> None:
        """Highlight the lines of the selected nodes. The code may be that of an older graph."""
        if self._program is None or self._shown is None or self.is_draft:
            return
        shown = Renaming(self._store.document, self._shown)
        paths = (shown.path(path) for path in self._store.selection)
        selected = first_paths(self._shown, (path for path in paths if path is not None))
        self.editor.mark(line for line, node in self._program.lines.items() if node in selected)

    def _select(self, line: int) -> None:
        if self._program is None or self._shown is None or self.is_draft:
            return
        node = self._program.lines.get(line)
        path = None if node is None else Renaming(self._shown, self._store.document).path(node)
        if path is not None:
            self._store.select([path])

    def _copy(self) -> None:
        QApplication.clipboard().setText(self.editor.toPlainText())

    def _repaint(self) -> None:
        self._mark()


def _code_error(error: Exception) -> CodeError:
    if isinstance(error, SourceError):
        return CodeError(error.message, error.line, error.column, error.end_line, error.end_column)
    return CodeError(
        f"The code cannot be read: {type(error).__name__}: {error}. This is a bug; please report it.", line=1
    )


def _single_shot(parent: QWidget, interval: int) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(interval)
    return timer
