"""Tables of a profile: kernels or nodes, sorted, filtered, copied and exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QStackedLayout,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from studio.training.profiling.machine_limits import MachineLimits
from studio.training.profiling.profile_data import PHASE_TITLES, PHASES, Profile
from studio.training.profiling.profile_tables import rows_as_csv
from studio.training.profiling.roofline import roofline_point
from studio.ui import number_format
from studio.ui.theme import icons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.inputs import ComboBox, LineEdit
from studio.ui.widgets.labels import tip

Index = QModelIndex | QPersistentModelIndex
_SORT = Qt.ItemDataRole.UserRole
_ROW = Qt.ItemDataRole.UserRole + 1
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_NAME_WIDTH, _PADDING = 240, 24
_NO_PARENT = QModelIndex()


@dataclass(frozen=True, slots=True)
class TableRow:
    """Values by column, for sorting and CSV files, and their texts."""

    values: tuple[Any, ...]
    texts: tuple[str, ...]
    nodes: tuple[str, ...]
    kernel: int | None = None


@dataclass(frozen=True, slots=True)
class TableContent:
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


def kernel_content(profile: Profile, limits: MachineLimits) -> TableContent:
    """A row for each kernel, the slowest first."""
    columns = ("Kernel", "Time", "Share", "Runs", "Phase", "Nodes", "GFLOP/s", "GB/s", "Of limit", "Bound by")
    rows: list[TableRow] = []
    for kernel in profile.kernels:
        point = roofline_point(kernel, limits)
        share = kernel.seconds / profile.seconds if profile.seconds else 0.0
        phases, nodes = ", ".join(PHASE_TITLES[phase] for phase in kernel.phases), ", ".join(kernel.nodes)
        flops, rate = kernel.flops_per_second / 1e9, kernel.bytes_per_second / 1e9
        values = (
            kernel.name,
            kernel.seconds,
            share,
            kernel.count,
            phases,
            nodes,
            flops,
            rate,
            point.share,
            point.bound,
        )
        texts = (
            kernel.name,
            number_format.milliseconds(kernel.seconds),
            number_format.percent(share),
            str(kernel.count),
            phases,
            nodes,
            f"{flops:.1f}",
            f"{rate:.1f}",
            f"{point.share:.0%}",
            point.bound,
        )
        rows.append(TableRow(values, texts, kernel.nodes, kernel.number))
    return TableContent(columns, tuple(rows))


def node_content(profile: Profile) -> TableContent:
    """A row for each node, the slowest first."""
    memory = {node.node: node.total for node in profile.memory.nodes}
    times = profile.node_seconds()
    titles = [PHASE_TITLES[phase] for phase in PHASES[:-1]]
    rows: list[TableRow] = []
    for node in dict.fromkeys([*times, *filter(None, memory)]):
        found = times.get(node, {})
        total = sum(found.values())
        share = total / profile.seconds if profile.seconds else 0.0
        phases = [found.get(phase, 0.0) for phase in PHASES[:-1]]
        size = memory.get(node, 0)
        values = (node, total, share, *phases, size)
        texts = (
            node,
            _time(total),
            number_format.percent(share),
            *map(_time, phases),
            number_format.size(size) if size else "–",
        )
        rows.append(TableRow(values, texts, (node,)))
    rows.sort(key=lambda row: -row.values[1])
    return TableContent(("Node", "Time", "Share", *titles, "Memory"), tuple(rows))


class ProfileTable(QWidget):
    """The table of kernels or of nodes."""

    chosen = Signal(object)
    """The TableRow that became current by a click or a key."""
    activated = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._contents: dict[str, TableContent] = {}
        self.kind = ComboBox()
        self.kind.addItems(["Kernels", "Nodes"])
        self.kind.setAccessibleName("Rows of the table")
        self.kind.currentTextChanged.connect(self._show_kind)
        self.filter = LineEdit()
        self.filter.setPlaceholderText("Filter by kernel, node or phase")
        self.filter.setAccessibleName("Filter the table")
        self.filter.setClearButtonEnabled(True)
        self.filter.addAction(icons.themed("search", "text-dim"), LineEdit.ActionPosition.LeadingPosition)
        self.filter.textChanged.connect(self._filter)
        self._model = _Model()
        self._filtered = _Filter()
        self._filtered.setSourceModel(self._model)
        self.view = _View(self.copy)
        self.view.setModel(self._filtered)
        self.view.activated.connect(self._activate)
        self.view.selectionModel().currentRowChanged.connect(self._choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = QHBoxLayout()
        row.setContentsMargins(8, 4, 8, 4)
        row.addWidget(self.kind)
        row.addWidget(self.filter, 1)
        column.addLayout(row)
        self._stack = QStackedLayout()
        column.addLayout(self._stack, 1)
        self._stack.addWidget(self.view)
        self._stack.addWidget(EmptyState("search", "No matching rows", "The filter covers kernels, nodes and phases."))

    def show_profile(self, profile: Profile, limits: MachineLimits) -> None:
        self._contents = {"Kernels": kernel_content(profile, limits), "Nodes": node_content(profile)}
        self._show_kind()

    def mark_nodes(self, paths: Sequence[str]) -> None:
        """Select the rows of nodes that are selected on the canvas, without reporting it."""
        content = self._contents.get(self.kind.currentText())
        if content is None:
            return
        inner = tuple(f"{path}." for path in paths)
        wanted = set(paths)
        found = next(
            (
                number
                for number, row in enumerate(content.rows)
                if any(node in wanted or (inner and node.startswith(inner)) for node in row.nodes)
            ),
            None,
        )
        with _Silence(self):
            if found is None:
                self.view.clearSelection()
            else:
                index = self._filtered.mapFromSource(self._model.index(found, 0))
                self.view.setCurrentIndex(index)
                self.view.scrollTo(index)

    def copy(self) -> None:
        """Copy the selected rows with their header, separated by tabs."""
        indices = sorted(self.view.selectionModel().selectedRows(), key=lambda index: index.row())
        rows = [index.data(_ROW) for index in indices]
        lines = [self._model.content.columns, *[row.texts for row in rows]]
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))

    def csv_text(self) -> str:
        """The shown rows in their order as CSV."""
        rows = [self._filtered.index(number, 0).data(_ROW).values for number in range(self._filtered.rowCount())]
        return rows_as_csv(self._model.content.columns, rows)

    def _show_kind(self, *_: object) -> None:
        content = self._contents.get(self.kind.currentText())
        if content is None:
            return
        with _Silence(self):
            self._model.show_content(content)
        metrics = self.view.fontMetrics()
        for column, title in enumerate(content.columns):
            texts = (title, *[row.texts[column] for row in content.rows[:200]])
            widest = max(metrics.horizontalAdvance(text) for text in texts) + _PADDING
            self.view.setColumnWidth(column, min(widest, _NAME_WIDTH))
        self.view.sortByColumn(1, Qt.SortOrder.DescendingOrder)
        self._filter(self.filter.text())

    def _filter(self, text: str) -> None:
        self._filtered.show_matches(text)
        self._stack.setCurrentIndex(int(bool(text.strip()) and not self._filtered.rowCount()))

    def _choose(self, index: QModelIndex, _: QModelIndex) -> None:
        if not self.signalsBlocked() and index.isValid():
            self.chosen.emit(index.data(_ROW))

    def _activate(self, index: QModelIndex) -> None:
        self.activated.emit(index.data(_ROW))


class _Silence:
    """Blocks the signals of a widget."""

    def __init__(self, widget: QWidget) -> None:
        self._widget = widget

    def __enter__(self) -> None:
        self._before = self._widget.blockSignals(True)

    def __exit__(self, *_: object) -> None:
        self._widget.blockSignals(self._before)


class _View(QTreeView):
    def __init__(self, copy: Callable[[], object]) -> None:
        super().__init__()
        self._copy = copy
        self.setProperty("role", "outline")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSortingEnabled(True)
        self.setAccessibleName("Profile")
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.header().setStretchLastSection(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self._copy()
        else:
            super().keyPressEvent(event)


class _Model(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.content = TableContent((), ())

    def show_content(self, content: TableContent) -> None:
        self.beginResetModel()
        self.content = content
        self.endResetModel()

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.content.rows)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.content.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.content.columns[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.content.rows[index.row()]
        value = row.values[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.texts[index.column()]
            case Qt.ItemDataRole.ToolTipRole:
                return tip(row.texts[index.column()])
            case Qt.ItemDataRole.TextAlignmentRole:
                return None if isinstance(value, str) else _RIGHT
            case _ if role == _SORT:
                return value
            case _ if role == _ROW:
                return row
            case _:
                return None


class _Filter(QSortFilterProxyModel):
    def __init__(self) -> None:
        super().__init__()
        self.setSortRole(_SORT)
        self._terms: list[str] = []

    def show_matches(self, text: str) -> None:
        """Keep the rows that have all words."""
        self._terms = text.casefold().split()
        self.setFilterFixedString(text)  # re-evaluates all rows

    def filterAcceptsRow(self, source_row: int, source_parent: Index) -> bool:
        model = self.sourceModel()
        assert isinstance(model, _Model)
        row = model.content.rows[source_row]
        found = " ".join(value for value in row.values if isinstance(value, str)).casefold()
        return all(term in found for term in self._terms)


def _time(seconds: float) -> str:
    return number_format.milliseconds(seconds) if seconds else "–"


__all__ = ["ProfileTable", "TableContent", "TableRow", "kernel_content", "node_content"]
