"""The import page of a data file: what it contains, how it is used, and a preview of the samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QProgressBar,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from engine.data.file_access import format_bytes
from engine.data.tables.csv_dialect import Dialect
from engine.data.tables.inference.table_schema import TableSchema, infer_table
from studio.training.data.imports.file_import import image_column, is_table, plan_file, plan_image_list
from studio.training.data.imports.import_plan import ImportPlan, ReportProgress
from studio.training.data.imports.table_import import ImportOptions, plan_table, schema_problem, table_warnings
from studio.ui.data_import.column_table import ColumnTable
from studio.ui.data_import.dialect_form import DialectForm
from studio.ui.data_import.import_job import ImportJob
from studio.ui.data_import.import_preview import ImportPreviewPanel
from studio.ui.data_import.options_form import OptionsForm
from studio.ui.widgets.buttons import text_button
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import ElidedLabel, label, line

LIVE_PREVIEW_BYTES = 32 * 2**20
"""Largest table whose preview follows each change; that of a larger one is computed at the import."""
_PREVIEW_DELAY = 150
"""Milliseconds between a change and its preview."""
_SCREEN_MARGIN = 32
_LONGEST_NAME = 40
_WARNING_LINES = 5
_WARNING_MARGIN = 28
"""Border and padding of the notes in pixels."""


class ImportDialog(QDialog):
    """Reads the file in a thread, then shows the guesses. Emits `planned` once if the user imports."""

    planned = Signal(object)
    """The plan to apply."""

    def __init__(
        self, path: Path, base: Path | None, parent: QWidget | None = None, *, offers_network: bool = False
    ) -> None:
        """Args: offers_network: whether the user can add a network after the data; not if the project has one."""
        super().__init__(parent)
        self.setWindowTitle(f"Import {path.name}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(True)
        self._path, self._base = path, base
        self._schema: TableSchema | None = None
        self._plan: ImportPlan | None = None
        self._job: ImportJob | None = None
        self._offers_network = offers_network
        self._imports = False
        """Whether the plan is applied when it is ready."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PREVIEW_DELAY)
        self._timer.timeout.connect(self._compute_plan)
        self._create_widgets()
        self._lay_out()
        self._connect()
        room = self.screen().availableSize()
        self.resize(min(1120, room.width() - _SCREEN_MARGIN), min(680, room.height() - _SCREEN_MARGIN))
        self._read(None)

    # -- widgets

    def _create_widgets(self) -> None:
        self.facts = ElidedLabel(str(self._path))
        self.dialect = DialectForm()
        self.columns = ColumnTable()
        self.preview = ImportPreviewPanel()
        self.options = OptionsForm()
        self.warnings = QPlainTextEdit()
        self.warnings.setReadOnly(True)
        self.warnings.setTabChangesFocus(True)
        self.warnings.setAccessibleName("Notes")
        self.failed = EmptyState("error", f"{_shortened(self._path.name)} cannot be imported", "")
        self.reading = EmptyState(
            "data", f"Reading {_shortened(self._path.name)}", "Roles and types of columns are guessed."
        )
        self.progress = QProgressBar()
        self.progress.setRange(0, 1000)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self.network = QCheckBox("Add a network")
        self.network.setToolTip("Add layers, a loss, a metric and an optimizer after the data, so that you can train")
        self.network.setChecked(True)
        self.network.hide()
        self.cancel_button = text_button("Cancel", self.reject)
        self.import_button = text_button("Import", self._import, kind="primary")
        self.import_button.setDefault(True)
        self.cancel_button.setAutoDefault(False)

    def _lay_out(self) -> None:
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self._left = _column(label("Columns", "heading"), self.columns)
        self.splitter.addWidget(self._left)
        self.splitter.addWidget(self.preview)
        self.splitter.setStretchFactor(0, 3)
        self.splitter.setStretchFactor(1, 2)
        self.splitter.setSizes([680, 440])
        self.splitter.setChildrenCollapsible(False)
        self.stack = QStackedWidget()
        for page in (self.reading, self.failed, self.splitter):
            self.stack.addWidget(page)
        heading = QHBoxLayout()
        heading.setSpacing(12)
        heading.addWidget(label(_shortened(self._path.name), "title"))
        heading.addWidget(self.facts, 1)
        bottom = QHBoxLayout()
        bottom.setSpacing(8)
        bottom.addWidget(self.progress, 1)
        bottom.addStretch(1)
        bottom.addWidget(self.network)
        bottom.addWidget(self.cancel_button)
        bottom.addWidget(self.import_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addLayout(heading)
        column.addWidget(self.dialect)
        column.addWidget(self.stack, 1)
        column.addWidget(self.options)
        column.addWidget(self.warnings)
        column.addWidget(line())
        column.addLayout(bottom)

    def _connect(self) -> None:
        self.dialect.changed.connect(self._read)
        self.columns.changed.connect(self._change_schema)
        self.options.options_changed.connect(self._request_plan)
        self.options.task_changed.connect(self._change_task)
        QShortcut(QKeySequence("Ctrl+Return"), self, self._import)

    # -- reading

    def _read(self, dialect: Dialect | None) -> None:
        """Read the file and guess its content, in a thread."""
        self._show_page(self.reading)
        self._start(partial(_read_file, self._path, self._base, dialect), self._on_read)

    def _on_read(self, found: object) -> None:
        if isinstance(found, TableSchema):
            self._show_schema(found)
            self._request_plan()
        elif isinstance(found, ImportPlan):
            self._on_planned(found)
        self._show_page(self.splitter)
        self.import_button.setFocus()

    def _show_schema(self, schema: TableSchema) -> None:
        self._schema = schema
        size = format_bytes(self._path.stat().st_size)
        self.facts.setText(f"{schema.rows:,} rows · {len(schema.columns):,} columns · {size} · {self._path}")
        self.dialect.show_dialect(schema.dialect)
        self.columns.show_schema(schema)
        self.options.show_schema(schema)
        self.preview.show_schema(schema)
        self._show_warnings(table_warnings(schema, self.options.options))

    def _change_schema(self, schema: TableSchema) -> None:
        self._show_schema(schema)
        self._request_plan()

    def _change_task(self, task: str) -> None:
        if self._schema is not None:
            self._change_schema(self._schema.with_task("classes" if task == "classes" else "number"))

    # -- planning

    def _request_plan(self) -> None:
        """Compute the plan shortly after the last change."""
        self._cancel_job()
        self._imports = False
        self._plan = None
        schema = self._schema
        problem = schema_problem(schema) if schema is not None else ""
        self.import_button.setEnabled(not problem)
        if schema is not None:
            self._show_warnings(table_warnings(schema, self.options.options))
        if problem:
            self.preview.show_plan(None, problem[0].upper() + problem[1:])
        elif self._path.stat().st_size > LIVE_PREVIEW_BYTES:
            self.preview.show_plan(None)
            self.preview.summary.setText("The preview of a large table is computed at the import.")
        else:
            self.preview.show_plan(None)
            self._timer.start()

    def _compute_plan(self) -> None:
        schema = self._schema
        if schema is not None:
            self._start(partial(_plan_table, schema, self.options.options, self._base), self._on_planned)

    def _on_planned(self, plan: object) -> None:
        assert isinstance(plan, ImportPlan)
        self._plan = plan
        self.preview.show_plan(plan)
        self._show_network_choice()
        self._show_warnings(plan.warnings)
        self.import_button.setEnabled(True)
        if self._imports:
            self._import()

    def _import(self) -> None:
        """Emit the plan; if it is not ready, wait for it."""
        if not self.import_button.isEnabled():
            return
        if self._plan is not None:
            is_wanted = self._offers_network and self.network.isChecked()
            self.planned.emit(self._plan if is_wanted else replace(self._plan, network=None))
            self.accept()
            return
        self._imports = True
        self.import_button.setEnabled(False)
        if self._job is None:
            self._timer.stop()
            self._compute_plan()

    # -- jobs

    def _start(self, work: Callable[[ReportProgress], object], done: Callable[[object], None]) -> None:
        self._cancel_job()
        job = ImportJob(work, self)
        self._job = job
        job.progressed.connect(self._show_progress)
        job.succeeded.connect(partial(self._finish, done))
        job.failed.connect(self._fail)
        self.progress.setValue(0)
        self.progress.show()
        job.start()

    def _finish(self, done: Callable[[object], None], result: object) -> None:
        self._job = None
        self.progress.hide()
        done(result)

    def _fail(self, problem: str) -> None:
        self._job = None
        self.progress.hide()
        was_read, self._imports = self._schema is not None, False
        if was_read and self.stack.currentWidget() is self.splitter:
            self.preview.show_plan(None, problem)
            self.import_button.setEnabled(False)
            return
        self.failed.set_text(f"{_shortened(self._path.name)} cannot be imported", problem)
        self._show_page(self.failed)

    def _cancel_job(self) -> None:
        self._timer.stop()
        if self._job is not None:
            self._job.cancel()
            self._job = None
            self.progress.hide()

    def _show_progress(self, share: float) -> None:
        self.progress.setValue(round(1000 * share))

    # -- pages

    def _show_page(self, page: QWidget) -> None:
        self.stack.setCurrentWidget(page)
        is_table = self._schema is not None
        self.dialect.setVisible(is_table and self._schema is not None and self._schema.format == "CSV")
        self.options.setVisible(page is self.splitter and is_table)
        self._left.setVisible(is_table)
        self.warnings.setVisible(page is self.splitter and bool(self.warnings.toPlainText()))
        self._show_network_choice()
        self.import_button.setEnabled((page is self.splitter and self.import_button.isEnabled()) or self._can_import())

    def _show_network_choice(self) -> None:
        """Offer a network unless the plan shows that there is none for these samples."""
        is_possible = self._plan.network is not None if self._plan is not None else self._schema is not None
        is_read = self.stack.currentWidget() is self.splitter
        self.network.setVisible(self._offers_network and is_read and is_possible)

    def _can_import(self) -> bool:
        if self.stack.currentWidget() is not self.splitter:
            return False
        return self._plan is not None or (self._schema is not None and not schema_problem(self._schema))

    def _show_warnings(self, warnings: tuple[str, ...]) -> None:
        self.warnings.setPlainText("\n".join(warnings))
        lines = min(max(len(warnings), 1), _WARNING_LINES)
        self.warnings.setFixedHeight(lines * self.warnings.fontMetrics().lineSpacing() + _WARNING_MARGIN)
        self.warnings.setVisible(bool(warnings) and self.stack.currentWidget() is self.splitter)

    def reject(self) -> None:
        self._cancel_job()
        super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._cancel_job()
        super().closeEvent(event)


def _shortened(name: str) -> str:
    """A file name of at most 40 characters."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 + 1 :]}"


def _column(*widgets: QWidget) -> QWidget:
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(8)
    for widget in widgets:
        column.addWidget(widget)
    return holder


def _read_file(path: Path, base: Path | None, dialect: Dialect | None, report: ReportProgress) -> object:
    """The content of a table, or the plan for another file."""
    if dialect is None and not is_table(path):
        return plan_file(path, base, report)
    return infer_table(path, dialect, report)


def _plan_table(schema: TableSchema, options: ImportOptions, base: Path | None, report: ReportProgress) -> ImportPlan:
    image = image_column(schema)
    if image is not None:
        return plan_image_list(schema, image, base, report)
    return plan_table(schema, options, base, report)


__all__ = ["LIVE_PREVIEW_BYTES", "ImportDialog"]
