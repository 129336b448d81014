"""Settings, graph and results of runs as a tree: one run, or two side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont, QIcon, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QTreeWidgetItemIterator, QWidget

from studio.document.training_settings import TRAINING_SETTINGS
from studio.training.runs.run_comparison import MISSING, ComparisonGroup, ComparisonRow
from studio.training.runs.run_history import Run
from studio.ui import number_format
from studio.ui.panels.runs.run_table import ColorDotIcon
from studio.ui.theme import fonts, theme
from studio.ui.widgets.labels import tip

_NODE_ROLE = Qt.ItemDataRole.UserRole
_MIN_COLUMN_WIDTH = 60
"""Minimum width of a column in pixels."""
_CELL_PADDING = 20
"""Horizontal padding of a cell."""
_EXPANDED_GROUPS = ("Results", "Problems", "Graph", "Settings")
"""Groups that are expanded at first."""
_SETTING_TITLES = {
    "validate_epochs": "Validate every N epochs",
    "validate_steps": "Validate every N batches",
    "follow": "Metric for best weights",
    "patience": "Early-stopping patience",
    "checkpoint_seconds": "Checkpoint every N seconds",
    "checkpoint_steps": "Checkpoint every N batches",
    "checkpoints": "Checkpoints to keep",
    "probe_steps": "Measure every N batches",
}
_PARTS = {"train": "train", "val": "val."}
"""Titles of the data parts that prefix the names of results."""


class RunProperties(QTreeWidget):
    node_requested = Signal(str)
    """Name of a node to show."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._groups: Sequence[ComparisonGroup] = ()
        self._runs: Sequence[Run] = ()
        self._names: tuple[str, ...] = ()
        self._only_differences = True
        self.setProperty("role", "outline")
        self.setUniformRowHeights(True)
        self.setIndentation(12)
        self.setAccessibleName("Run settings and results")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.header().setStretchLastSection(False)
        self.itemActivated.connect(self._open_node)
        self.itemClicked.connect(self._open_node)
        theme.manager().changed.connect(self._apply_theme)

    def show_facts(self, runs: Sequence[Run], groups: Sequence[ComparisonGroup], *, only_differences: bool) -> None:
        """`only_differences` hides rows with equal values."""
        only_differences = only_differences and len(runs) > 1
        names = tuple(run.name for run in runs)
        shown = (names, tuple(runs), tuple(groups), only_differences)
        self.header().viewport().update()
        if shown == (self._names, tuple(self._runs), tuple(self._groups), self._only_differences):
            return
        is_same_choice = tuple(runs) == tuple(self._runs)
        has_same_rows = is_same_choice and only_differences == self._only_differences
        expanded = {key: item.isExpanded() for key, item in self._items()} if is_same_choice else {}
        scroll_position = self.verticalScrollBar().value()
        self._names, self._runs, self._groups, self._only_differences = names, runs, groups, only_differences
        self.clear()
        self.setColumnCount(1 + len(runs))
        self.setHeaderLabels(["", *names])
        for column, run in enumerate(runs, start=1):
            self.headerItem().setIcon(column, QIcon(ColorDotIcon(run)))
            self.headerItem().setTextAlignment(column, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            self.headerItem().setToolTip(column, tip(run.name))
        self.setHeaderHidden(len(runs) == 1)
        for group in groups:
            if not only_differences or group.differs:
                self._add_group(group)
        for key, item in self._items():
            item.setExpanded(expanded.get(key, len(key) == 1 and (only_differences or key[0] in _EXPANDED_GROUPS)))
        if not has_same_rows:
            self._fit_columns()
        self.verticalScrollBar().setValue(scroll_position if is_same_choice else 0)

    def _add_group(self, group: ComparisonGroup) -> None:
        item = QTreeWidgetItem([group.title])
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        item.setFont(0, bold)
        self.addTopLevelItem(item)
        item.setFirstColumnSpanned(True)
        self._add_rows(item, group.rows, _ROW_TITLES.get(group.key, _plain_title))

    def _add_rows(self, parent: QTreeWidgetItem, rows: Iterable[ComparisonRow], title: Callable[[str], str]) -> None:
        for row in rows:
            if self._only_differences and not row.differs:
                continue
            item = QTreeWidgetItem([title(row.name), *map(_shown, row.values)])
            for column, value in enumerate(row.values, start=1):
                item.setFont(column, fonts.monospace() if row.node is None else self.font())
                item.setToolTip(column, tip(_shown(value)))
            item.setToolTip(0, tip(f"Show {row.node} on the canvas" if row.node else row.name))
            item.setData(0, _NODE_ROLE, row.node)
            parent.addChild(item)
            self._add_rows(item, row.rows, title)
            self._color(item)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """Fit columns to their texts; if space is short, values get at most half of it."""
        room, runs = self.viewport().width(), len(self._runs)
        if not runs:
            return
        values = [
            min(self._needed_width(column), max(room // 2 // runs, _MIN_COLUMN_WIDTH)) for column in range(1, runs + 1)
        ]
        widths = [min(self._needed_width(0), max(room - sum(values), _MIN_COLUMN_WIDTH)), *values]
        widths[-1] = max(room - sum(widths[:-1]), values[-1])
        for column, width in enumerate(widths):
            self.setColumnWidth(column, width)

    def _needed_width(self, column: int) -> int:
        metrics = self.fontMetrics()
        widths = (
            metrics.horizontalAdvance(item.text(column)) + (0 if column else self.indentation() * len(path))
            for path, item in self._items()
            if len(path) > 1
        )
        title = self.header().sectionSizeHint(column) if column and not self.isHeaderHidden() else 0
        return max(max(widths, default=0) + _CELL_PADDING, title, _MIN_COLUMN_WIDTH)

    def _color(self, item: QTreeWidgetItem) -> None:
        colors = theme.current()
        if item.data(0, _NODE_ROLE):
            item.setForeground(0, colors.color("accent"))
        for column in range(1, item.columnCount()):
            if item.text(column) == "–":
                item.setForeground(column, colors.color("text-dim"))

    def _items(self) -> Iterator[tuple[tuple[str, ...], QTreeWidgetItem]]:
        walk = QTreeWidgetItemIterator(self)
        while (item := walk.value()) is not None:
            yield _path(item), item
            walk += 1

    def _open_node(self, item: QTreeWidgetItem, *_: object) -> None:
        current: QTreeWidgetItem | None = item
        while current is not None and not current.data(0, _NODE_ROLE):
            current = current.parent()
        if current is not None:
            self.node_requested.emit(current.data(0, _NODE_ROLE))

    def _apply_theme(self, *_: object) -> None:
        for _, item in self._items():
            self._color(item)


def _path(item: QTreeWidgetItem) -> tuple[str, ...]:
    parent = item.parent()
    return (*_path(parent), item.text(0)) if parent is not None else (item.text(0),)


def _plain_title(name: str) -> str:
    return name.replace("_", " ")


def _result_title(name: str) -> str:
    """Return the title of a result: "Val. loss" for val_loss, "Best train accuracy" for "best train_accuracy"."""
    best, _, key = name.rpartition(" ")
    part, _, metric = key.partition("_")
    text = f"{_PARTS[part]} {metric}" if metric and part in _PARTS else key
    text = f"{best} {text}".strip().replace("_", " ")
    return text[:1].upper() + text[1:]


def _setting_title(name: str) -> str:
    """Return the title of a training setting that is clear without the headings of the inspector's form."""
    setting = TRAINING_SETTINGS.get(name)
    return _SETTING_TITLES.get(name) or (_plain_title(name) if setting is None else setting.title)


_ROW_TITLES = {"figures": _result_title, "settings": _setting_title}
"""Functions from names of rows to titles, by group."""


def _shown(value: Any) -> str:
    if value is MISSING:
        return "–"
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return number_format.measured(value) if value != int(value) else f"{value:g}"
        case int():
            return f"{value:,}"
        case timedelta():
            return number_format.duration(value.total_seconds())
        case dict():
            return ", ".join(f"{name}={part}" for name, part in value.items()) or "none"
        case list() | tuple():
            return ", ".join(map(_shown, value))
        case _:
            return str(value)


__all__ = ["RunProperties"]
