"""Table of samples: a row per sample, a column per value. Only visible rows are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from studio.training.data.sample_preview import Facts, Sample
from studio.training.data.statistics_records import PartFigures
from studio.ui import number_format
from studio.ui.theme import fonts, theme
from studio.ui.widgets.labels import tip

Index = QModelIndex | QPersistentModelIndex

_CACHE_SIZE = 5000
_WITH_MISSING = 160
"""Width of a column whose header shows the number of missing values."""
_ROW_HEIGHT = 24
_HEADER_PADDING, _MAX_INITIAL_WIDTH = 24, 280
"""Padding of a column header, and maximum initial width of a column, in pixels."""
_PREFETCHED_ROWS = 20
"""Number of rows read beyond the visible ones."""
_MAX_ROWS = 2**31 - 1


class SampleTable(QTableView):
    """Same interface as `SampleGrid`."""

    samples_requested = Signal(int, int)
    chosen = Signal(int)
    escaped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = _SampleModel()
        self.setModel(self._model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setCornerButtonEnabled(False)
        self.setAccessibleName("Samples")
        self.setTabKeyNavigation(False)
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        rows.setVisible(False)
        rows.setDefaultSectionSize(_ROW_HEIGHT)
        columns.setDefaultSectionSize(112)
        columns.setMinimumSectionSize(56)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        columns.setHighlightSections(False)
        self.verticalScrollBar().valueChanged.connect(self.request_missing)
        self.selectionModel().currentRowChanged.connect(self._choose)

    def show_facts(self, facts: Facts, total: int) -> None:
        self._model.begin(facts, total)
        self.setColumnWidth(0, 72)
        metrics = self.horizontalHeader().fontMetrics()
        for column in range(1, self._model.columnCount()):
            title_width = metrics.horizontalAdvance(self._model.name(column)) + _HEADER_PADDING
            self.setColumnWidth(column, max(168 if facts.pairs else 112, min(title_width, _MAX_INITIAL_WIDTH)))
        self.scrollToTop()
        self.request_missing()

    def show_figures(self, part: PartFigures | None) -> None:
        """Set the number of missing values per column, for the headers."""
        missing = {} if part is None else {each.name: each.missing for each in part.channels if each.missing}
        self._model.set_missing(missing)
        for column in range(1, self._model.columnCount()):
            if self._model.name(column) in missing:
                self.setColumnWidth(column, max(self.columnWidth(column), _WITH_MISSING))

    def add_samples(self, first: int, samples: tuple[Sample, ...], total: int) -> None:
        self._model.add_samples(first, samples, total)

    def sample(self, row: int) -> Sample | None:
        return self._model.samples.get(row)

    @property
    def current(self) -> int | None:
        index = self.currentIndex()
        return index.row() if index.isValid() else None

    @property
    def in_view(self) -> range:
        first, last = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        total = self._model.rowCount()
        return range(max(first, 0), total if last < 0 else last + 1)

    def select_sample(self, row: int | None) -> None:
        if row is None:
            self.setCurrentIndex(QModelIndex())
            self.clearSelection()
            return
        row = max(0, min(row, self._model.rowCount() - 1))
        index = self._model.index(row, max(self.currentIndex().column(), 0))
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def scroll_pages(self, step: int) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + step * max(len(self.in_view) - 1, 1))

    def request_missing(self, *_: object) -> None:
        missing = [row for row in self.in_view if row not in self._model.samples]
        if missing:
            self.samples_requested.emit(missing[0], missing[-1] - missing[0] + 1 + _PREFETCHED_ROWS)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.request_missing()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.current is not None:
            self.select_sample(None)
            self.escaped.emit()
            return
        super().keyPressEvent(event)

    def _choose(self, index: QModelIndex, _: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(index.row())


class _SampleModel(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.samples: dict[int, Sample] = {}
        self._facts: Facts | None = None
        self._total = 0
        self._names: tuple[str, ...] = ()
        self._missing: Mapping[str, int] = {}

    def begin(self, facts: Facts, total: int) -> None:
        self.beginResetModel()
        self._facts, self._total = facts, min(total, _MAX_ROWS)
        self._missing = {}
        self.samples = {}
        size = facts.input.shape[0]
        names = facts.columns or tuple(f"value {index}" for index in range(size if isinstance(size, int) else 0))
        self._names = ("Sample", *names, "Target")
        self.endResetModel()

    def set_missing(self, missing: Mapping[str, int]) -> None:
        if missing != self._missing:
            self._missing = missing
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)

    def name(self, column: int) -> str:
        return self._names[column]

    def add_samples(self, first: int, samples: tuple[Sample, ...], total: int) -> None:
        if total != self._total and self._facts is not None:
            self.begin(self._facts, total)
        self.samples.update(enumerate(samples, first))
        for index in list(self.samples)[: max(len(self.samples) - _CACHE_SIZE, 0)]:
            del self.samples[index]
        if samples:
            last = self.index(first + len(samples) - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(first, 0), last)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        return 0 if parent.isValid() else self._total

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        return 0 if parent.isValid() else len(self._names)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._names):
            return None
        name = self._names[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(f"{name}: {self._type(section)}") if section else "Sample index, from 0"
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{name}\n{self._type(section)}" if section else f"{name}\n"
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        sample = self.samples.get(index.row())
        column = index.column()
        if role == Qt.ItemDataRole.FontRole:
            return fonts.monospace(12)
        if sample is None:
            return None
        if sample.input is None:
            if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                problem = sample.problem if role == Qt.ItemDataRole.DisplayRole else tip(sample.problem)
                return problem if column == 1 else f"{sample.row:,}" if not column else None
            return theme.current().color("error") if role == Qt.ItemDataRole.ForegroundRole and column == 1 else None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(sample, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            if column == 0:
                return theme.current().color("text-dim")
            if 0 < column <= len(sample.input) and np.isnan(sample.input[column - 1]):
                return theme.current().color("warning")
        return None

    def _text(self, sample: Sample, column: int) -> str:
        assert sample.input is not None
        if column == 0:
            return f"{sample.row:,}"
        if column == len(self._names) - 1:
            before = sample.target_before
            after = sample.label
            return after if before is None or before.size != 1 else f"{_value_text(before.item())} → {after}"
        index = column - 1
        after = _value_text(sample.input[index])
        if sample.before is None or index >= len(sample.before):
            return after
        before = _value_text(sample.before[index])
        return after if before == after else f"{before} → {after}"

    def _type(self, section: int) -> str:
        facts = self._facts
        if facts is None or section == 0:
            return ""
        if section == len(self._names) - 1:
            return f"{len(facts.class_names)} classes" if facts.class_names else facts.target.dtype.name
        name = self._names[section]
        kind = "category" if "=" in name else facts.input.dtype.name
        missing = self._missing.get(name, 0)
        return f"{kind}, {number_format.count(missing)} missing" if missing else kind


def _value_text(value: Any) -> str:
    return "missing" if value != value else f"{value:.6g}"


__all__ = ["SampleTable"]
