"""The list of runs: filter, sort, and check boxes that show curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStackedLayout,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from studio.training.runs.run_history import Run
from studio.ui.panels.runs.run_table import RUN_ROLE, SORT_ROLE, WIDEST_STATE, RunColumn, RunTable
from studio.ui.theme import icons, theme
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.inputs import LineEdit

_WIDTHS = {"name": 100, "epochs": 80, "started": 96, "differs": 240}
"""Initial column widths in pixels. Other columns fit their titles."""
_MIN_COLUMN_WIDTH = 72
_MAX_NAME_WIDTH = 220
"""Initial width of the column of names, as far as they need it. Tooltips show longer ones."""
_CELL_PADDING = 16
"""Horizontal padding of a cell."""


class RunList(QWidget):
    toggled = Signal()
    """A run was shown or hidden."""
    renamed = Signal(object, str)
    """A Run and its new name."""
    chosen = Signal()
    """The selection changed."""
    hovered = Signal(object)
    """The Run under the pointer, or None."""
    menu_requested = Signal(QPoint)
    """Global position."""

    columns_chosen = Signal(object)
    """Keys of all hidden columns."""

    def __init__(self, hidden: Iterable[str] = (), parent: QWidget | None = None) -> None:
        """`hidden`: keys of the hidden columns."""
        super().__init__(parent)
        self.table = RunTable()
        self._filtered = _RunFilterModel()
        self._filtered.setSourceModel(self.table)
        self.search = LineEdit()
        self.search.setPlaceholderText("Filter by name, note, state or setting")
        self.search.setAccessibleName("Filter runs")
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icons.themed("search", "text-dim"), LineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self._filter)
        self.view = QTreeView()
        self.view.setModel(self._filtered)
        self.view.setProperty("role", "outline")
        self.view.setRootIsDecorated(False)
        self.view.setUniformRowHeights(True)
        self.view.setAllColumnsShowFocus(True)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.view.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.view.setSortingEnabled(True)
        self.view.setMouseTracking(True)
        self.view.setAccessibleName("Runs")
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.viewport().installEventFilter(self)
        header = self.view.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        header.sectionResized.connect(self._store_width)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._choose_columns)
        self.view.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        self._hidden = set(hidden)
        self._previous_selection: tuple[list[Run], Run | None] = [], None
        """Selection before the table was reset."""
        self._widths: dict[str, int] = {}
        """Widths of columns that the user resized."""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = QVBoxLayout()
        row.setContentsMargins(8, 6, 8, 4)
        row.addWidget(self.search)
        column.addLayout(row)
        self._stack = QStackedLayout()
        column.addLayout(self._stack, 1)
        self._stack.addWidget(self.view)
        self._stack.addWidget(
            EmptyState("search", "No matching runs", "The filter covers names, notes, states and settings that differ.")
        )
        self.table.toggled.connect(self.toggled)
        self.table.renamed.connect(self.renamed)
        self.table.dataChanged.connect(self._fit_names)
        self.table.modelAboutToBeReset.connect(self._remember)
        self.table.modelReset.connect(self._restore)
        self.view.selectionModel().selectionChanged.connect(self._emit_chosen)
        self.view.customContextMenuRequested.connect(self._request_menu)
        theme.manager().changed.connect(self._apply_theme)
        self._apply_columns()

    @property
    def selected(self) -> list[Run]:
        """The selected runs, in list order."""
        rows = sorted(self.view.selectionModel().selectedRows(), key=QModelIndex.row)
        return [row.data(RUN_ROLE) for row in rows]

    def show_runs(self, runs: Sequence[Run]) -> None:
        """Update the list and keep the selection."""
        self.table.show_runs(runs)
        self._show_matches()

    def select(self, runs: Iterable[Run], current: Run | None = None) -> None:
        chosen = QItemSelection()
        for run in runs:
            row = self.table.row(run)
            if row is not None:
                index = self._filtered.mapFromSource(self.table.index(row, 0))
                chosen.select(index, index)
                if run is current:
                    self.view.setCurrentIndex(index)
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.view.selectionModel().select(chosen, flags)

    def rename(self) -> None:
        """Edit the name of the selected run."""
        rows = self.view.selectionModel().selectedRows()
        if rows:
            self.view.edit(rows[0])

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseMove:
            self.hovered.emit(self.view.indexAt(event.position().toPoint()).data(RUN_ROLE))  # pyright: ignore[reportAttributeAccessIssue]
        elif event.type() == QEvent.Type.Leave:
            self.hovered.emit(None)
        return False

    def _filter(self, text: str) -> None:
        self._filtered.set_filter(text)
        self._show_matches()

    def _show_matches(self) -> None:
        has_no_match = bool(self.search.text().strip()) and not self._filtered.rowCount()
        self._stack.setCurrentIndex(int(has_no_match))

    def _remember(self) -> None:
        """Store the selection before a model reset, for example for a new metric, which clears it."""
        self._previous_selection = self.selected, self.view.currentIndex().data(RUN_ROLE)

    def _restore(self) -> None:
        self._apply_columns()
        self.select(*self._previous_selection)

    def _emit_chosen(self, *_: object) -> None:
        self.chosen.emit()

    def _request_menu(self, position: QPoint) -> None:
        self.menu_requested.emit(self.view.viewport().mapToGlobal(position))

    def _apply_columns(self) -> None:
        for column, field in enumerate(self.table.fields):
            self.view.setColumnWidth(column, self._widths.get(field.key, self._width(field)))
            self.view.setColumnHidden(column, field.key in self._hidden)

    def _fit_names(self, *_: object) -> None:
        """Widen the column of names for a new or renamed run, unless the user has resized it."""
        if "name" not in self._widths and self.table.fields:
            width = self._width(self.table.fields[0])
            if width != self.view.columnWidth(0):
                self.view.setColumnWidth(0, width)

    def _choose_columns(self, position: QPoint) -> None:
        menu = QMenu(self)
        for field in self.table.fields[1:]:
            action = menu.addAction(field.title)
            action.setCheckable(True)
            action.setChecked(field.key not in self._hidden)
            action.setData(field.key)
        chosen = menu.exec(self.view.header().mapToGlobal(position))
        if chosen is not None:
            self._hidden ^= {chosen.data()}
            self._apply_columns()
            self.columns_chosen.emit(frozenset(self._hidden))

    def _width(self, field: RunColumn) -> int:
        """Initial width of a column."""
        if field.key == "name":
            return min(max(self.view.sizeHintForColumn(0), _WIDTHS["name"]), _MAX_NAME_WIDTH)
        if field.key in _WIDTHS:
            return _WIDTHS[field.key]
        widest = WIDEST_STATE if field.key == "state" else field.title
        return max(self.view.fontMetrics().horizontalAdvance(widest) + _CELL_PADDING, _MIN_COLUMN_WIDTH)

    def _store_width(self, column: int, _: int, width: int) -> None:
        if width and QGuiApplication.mouseButtons() and column < len(self.table.fields):
            self._widths[self.table.fields[column].key] = width

    def _apply_theme(self, *_: object) -> None:
        self.view.viewport().update()


class _RunFilterModel(QSortFilterProxyModel):
    def __init__(self) -> None:
        super().__init__()
        self.setSortRole(SORT_ROLE)
        self._terms: list[str] = []

    def set_filter(self, text: str) -> None:
        """Keep runs that match all words."""
        self._terms = text.casefold().split()
        self.setFilterFixedString(text)  # re-evaluates all rows

    def filterAcceptsRow(self, source_row: int, source_parent: QModelIndex | QPersistentModelIndex) -> bool:
        if not self._terms:
            return True
        table = self.sourceModel()
        assert isinstance(table, RunTable)
        run = table.run(table.index(source_row, 0))
        texts = (field.text(run) for field in table.fields if not field.is_number)
        haystack = " ".join((run.note, *texts)).casefold()
        return all(term in haystack for term in self._terms)


__all__ = ["RunList"]
