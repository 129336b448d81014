"""The table of columns: name, role, type, missing values and examples. Role, type and fill can be changed."""

from __future__ import annotations

from typing import Any, cast

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from engine.data.tables.inference.column_guess import ColumnRole, ColumnType
from engine.data.tables.inference.table_schema import ColumnFill, ColumnSchema, TableSchema
from studio.ui.theme import icons, theme
from studio.ui.widgets.inputs import ComboBox
from studio.ui.widgets.labels import tip

Index = QModelIndex | QPersistentModelIndex

NAME, ROLE, TYPE, MISSING, FILL, DISTINCT, EXAMPLES = range(7)
_TITLES = ("Column", "Role", "Type", "Missing", "Fill", "Distinct", "Examples")
_WIDTHS = (144, 80, 92, 64, 104, 64, 96)
ROLES: dict[ColumnRole, str] = {"input": "Input", "target": "Target", "ignore": "Ignore"}
TYPES: dict[ColumnType, str] = {"number": "Number", "category": "Category", "date": "Date", "text": "Text"}
FILLS: dict[ColumnFill, str] = {
    "": "Default", "median": "Median", "mean": "Mean", "most frequent": "Frequent", "zero": "0",
}  # fmt: skip
_CHOICES: dict[int, dict[Any, str]] = {ROLE: dict(ROLES), TYPE: dict(TYPES), FILL: dict(FILLS)}
_ROW_HEIGHT = 26
_ARROW = 12
"""Size of the arrow of a cell with a list, in pixels."""


class ColumnTable(QTableView):
    """Emits `changed` with the schema that the user chose."""

    changed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = _ColumnModel(self)
        self._model.schema_changed.connect(self.changed)
        self.setModel(self._model)
        self.setItemDelegate(_ChoiceDelegate(self))
        self.setAccessibleName("Columns")
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        rows.setVisible(False)
        rows.setDefaultSectionSize(_ROW_HEIGHT)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        columns.setHighlightSections(False)
        columns.setStretchLastSection(True)
        columns.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, width in enumerate(_WIDTHS):
            self.setColumnWidth(column, width)
        self.clicked.connect(self._edit_choice)

    def show_schema(self, schema: TableSchema) -> None:
        self._model.show_schema(schema)
        if not self.currentIndex().isValid():
            self.setAutoScroll(False)  # the first column must stay visible
            self.setCurrentIndex(self._model.index(0, ROLE))
            self.setAutoScroll(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space, Enter and F2 open the list of a cell with choices."""
        keys = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F2)
        if event.key() in keys and not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._edit_choice(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _edit_choice(self, index: QModelIndex) -> None:
        if index.isValid() and _has_choice(index):
            self.edit(index)


class _ColumnModel(QAbstractTableModel):
    schema_changed = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._schema: TableSchema | None = None

    def show_schema(self, schema: TableSchema) -> None:
        old = self._schema
        self._schema = schema
        if old is None or len(old.columns) != len(schema.columns):
            self.beginResetModel()
            self.endResetModel()
        else:
            self.dataChanged.emit(self.index(0, 0), self.index(len(schema.columns) - 1, EXAMPLES))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() or self._schema is None else len(self._schema.columns)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _TITLES[section]
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags | Qt.ItemFlag.ItemIsEditable if self._has_choice(index) else flags

    def _has_choice(self, index: Index) -> bool:
        schema = self._schema
        if index.column() == FILL:
            return schema is not None and is_filled(schema.columns[index.row()])
        return index.column() in _CHOICES

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self._schema is None or not index.isValid():
            return None
        column = self._schema.columns[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _cell_text(column, index.column())
        if role == Qt.ItemDataRole.EditRole:
            return {ROLE: column.role, TYPE: column.type, FILL: column.fill}.get(index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(_explanation(column))
        if role == Qt.ItemDataRole.ForegroundRole and column.role == "ignore":
            return theme.manager().color("text-dim")
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in (MISSING, DISTINCT):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{column.name}, {_TITLES[index.column()]}: {_cell_text(column, index.column())}"
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if self._schema is None or role != Qt.ItemDataRole.EditRole:
            return False
        if index.column() == ROLE:
            schema = self._schema.with_column(index.row(), role=cast(ColumnRole, value))
        elif index.column() == TYPE:
            schema = self._schema.with_column(index.row(), type=cast(ColumnType, value))
        else:
            schema = self._schema.with_column(index.row(), fill=cast(ColumnFill, value))
        if schema == self._schema:
            return False
        self.show_schema(schema)
        self.schema_changed.emit(schema)
        return True


def _has_choice(index: Index) -> bool:
    return bool(index.flags() & Qt.ItemFlag.ItemIsEditable)


def is_filled(column: ColumnSchema) -> bool:
    """Whether missing values of a column are replaced by a number that can be chosen."""
    return bool(column.missing) and column.role == "input" and column.type == "number"


def _cell_text(column: ColumnSchema, index: int) -> str:
    return (
        " ".join(column.name.split()),
        ROLES[column.role],
        TYPES[column.type],
        f"{column.missing:,}" if column.missing else "–",
        FILLS[column.fill] if is_filled(column) else "",
        f"{column.distinct:,}{'' if column.is_counted else '+'}",
        ", ".join(" ".join(text.split())[:40] for text in column.examples),
    )[index]


def _explanation(column: ColumnSchema) -> str:
    """Why the column is read in this way."""
    format_text = f"Dates in the format {column.date_format}." if column.type == "date" else ""
    sign_text = "Numbers with signs, units or thousands separators." if column.guess.formatted else ""
    found = (column.guess.reason, format_text, sign_text, column.guess.suggestion)
    return " ".join(text for text in found if text) or f"{column.name}: {TYPES[column.type].lower()}"


class _ChoiceDelegate(QStyledItemDelegate):
    """Edits a cell with a list that opens at once. Cells with a list have an arrow."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if _has_choice(index):
            area: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue] - missing in the stubs
            place = QRect(area.right() - _ARROW - 4, area.center().y() - _ARROW // 2, _ARROW, _ARROW)
            icons.paint(painter, "chevron-down", place, theme.manager().color("text-dim"))

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = ComboBox(parent)
        editor.setAccessibleName(_TITLES[index.column()])
        for value, title in _CHOICES[index.column()].items():
            editor.addItem(title, value)
        editor.activated.connect(lambda: self._commit(editor))
        QTimer.singleShot(0, editor, editor.showPopup)
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, ComboBox)
        editor.setCurrentIndex(max(editor.findData(index.data(Qt.ItemDataRole.EditRole)), 0))

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, ComboBox)
        model.setData(index, editor.currentData())

    def _commit(self, editor: QWidget) -> None:
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)


__all__ = ["DISTINCT", "EXAMPLES", "FILL", "MISSING", "NAME", "ROLE", "ROLES", "TYPE", "TYPES", "ColumnTable"]
