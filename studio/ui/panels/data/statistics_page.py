"""Statistics of the data: problems, class balance, and figures of each column or channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QScrollArea,
    QStackedLayout,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from studio.lowering.problems.problem import Problem
from studio.training.data.data_statistics import Progress
from studio.training.data.sample_preview import Part
from studio.training.data.statistics_records import ChannelFigures, Statistics
from studio.ui import number_format
from studio.ui.panels.data.distribution_charts import COLORS, ClassBars, HistogramView, PointsView, number
from studio.ui.panels.fix_button import fix_button
from studio.ui.project.fix_previewer import FixPreviewer
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label
from studio.ui.widgets.row_layout import row_of
from studio.ui.widgets.severity import severity_style

_TITLES = ("", "Missing", "Min", "Max", "Mean", "Std")
_MISSING = 1
_NARROW = 820
"""Below this width the sections are stacked."""
_SWATCH_SIDE, _SWATCH_GAP = 10, 8
"""Side of the color of a data part, and its distance from the text, in pixels."""
_BESIDE, _BELOW = (3, 2, 6), (0, 0, 1)
"""Stretch factors of the sections, horizontally and vertically."""


class StatisticsPage(QWidget):
    sample_requested = Signal(str, int)
    """Show an example of a problem: data part and row."""
    fix_requested = Signal(object)
    """Apply the fix of a problem."""

    def __init__(
        self, *, describe: Callable[[], object], cancel: Callable[[], object], fix_previewer: FixPreviewer
    ) -> None:
        super().__init__()
        self._fix_previewer = fix_previewer
        self._statistics: Statistics | None = None
        self._problems: Sequence[Problem] = ()
        self._stack = QStackedLayout(self)
        self.empty = EmptyState(
            "metric",
            "No statistics yet",
            "Sample counts, class balance, value ranges, missing values and duplicates.",
            action="Compute statistics",
            run=describe,
        )
        self.failed = EmptyState("error", "Statistics could not be computed", "", action="Try again", run=describe)
        self.working = _ProgressView(cancel)
        self.sheet = QScrollArea()
        self.sheet.setAccessibleName("Statistics")
        self.sheet.setWidgetResizable(True)
        self.sheet.setFrameShape(QFrame.Shape.NoFrame)
        self.sheet.setWidget(self._page())
        for page in (self.empty, self.working, self.failed, self.sheet):
            self._stack.addWidget(page)

    def show_state(
        self, statistics: Statistics | None, problems: Sequence[Problem], progress: Progress | None, failure: str
    ) -> None:
        """Show statistics with the problems of the data, progress, or why there are no statistics."""
        if progress is not None:
            self.working.show_progress(progress)
            self._stack.setCurrentWidget(self.working)
        elif statistics is not None:
            if statistics is not self._statistics or problems != self._problems:
                self._fill(statistics, problems)
            self._stack.setCurrentWidget(self.sheet)
        elif failure:
            self.failed.set_text("Statistics could not be computed", failure)
            self._stack.setCurrentWidget(self.failed)
        else:
            self._stack.setCurrentWidget(self.empty)

    def resizeEvent(self, event: QResizeEvent) -> None:
        narrow = self.width() < _NARROW
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._row.direction() != direction:
            self._row.setDirection(direction)
            for index, share in enumerate(_BELOW if narrow else _BESIDE):
                self._row.setStretch(index, share)
        super().resizeEvent(event)

    # -- widgets

    def _page(self) -> QWidget:
        page = QWidget()
        page.setObjectName("page")
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, page)
        self._row.setContentsMargins(12, 8, 12, 12)
        self._row.setSpacing(24)
        left = QVBoxLayout()
        left.setSpacing(6)
        self.counts = QVBoxLayout()
        self.counts.setSpacing(4)
        self.problems = QVBoxLayout()
        self.problems.setSpacing(8)
        left.addLayout(self.counts)
        left.addSpacing(4)
        left.addLayout(self.problems)
        left.addStretch(1)
        self._balance = QWidget()
        middle = QVBoxLayout(self._balance)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.setSpacing(4)
        title = label("Class balance", "section")
        self._balance_caption = label("", "small")
        middle.addLayout(row_of(title, self._balance_caption, wide=title))
        self.bars = ClassBars()
        middle.addWidget(self.bars)
        middle.addStretch(1)
        right = QVBoxLayout()
        right.setSpacing(6)
        right.addWidget(label("Values of training samples", "section"))
        self.table = _table()
        self.table.currentCellChanged.connect(self._choose)
        self.histogram = HistogramView()
        right.addWidget(self.table)
        self.points = PointsView()
        plots = QHBoxLayout()
        plots.setSpacing(12)
        plots.addWidget(self.points, 2)
        plots.addWidget(self.histogram, 3)
        right.addLayout(plots, 1)
        self._row.addLayout(left, _BESIDE[0])
        self._row.addWidget(self._balance, _BESIDE[1])
        self._row.addLayout(right, _BESIDE[2])
        return page

    def _fill(self, statistics: Statistics, problems: Sequence[Problem]) -> None:
        self._statistics, self._problems = statistics, problems
        _clear(self.counts)
        _clear(self.problems)
        for part in statistics.parts:
            analyzed = "" if part.looked_at == part.samples else f", {part.looked_at:,} of them analyzed"
            size = number_format.count(part.samples, "samples")
            size = f"the first {size} of a stream" if part.is_stream else size
            self.counts.addWidget(_PartCount(part.part, f"{size}{analyzed}"))
            if part.repeated:
                duplicates = label(number_format.count(part.repeated, "duplicates"), "small")
                duplicates.setContentsMargins(_SWATCH_SIDE + _SWATCH_GAP, 0, 0, 0)
                self.counts.addWidget(duplicates)
        if len(statistics.parts) == 1:
            self.counts.addWidget(label("No validation samples", "dim"))
        for problem in problems:
            button = None
            if (fix := problem.fix) is not None:
                button = fix_button(fix, partial(self.fix_requested.emit, fix), self._fix_previewer)
            examples = problem.evidence.get("examples", ())
            row = _ProblemRow(problem.severity, problem.message, examples, self.sample_requested.emit, button)
            self.problems.addWidget(row)
        if not problems:
            self.problems.addWidget(_ProblemRow("ok", "No problems found."))
        self._balance.setVisible(bool(statistics.class_names))
        self._balance_caption.setText(" / ".join(part.part for part in statistics.parts))
        self.bars.show_statistics(statistics)
        self.points.show_statistics(statistics)
        training = statistics.parts[0]
        rows = [*training.channels, *training.targets]
        _fill_table(self.table, rows)
        self.table.setCurrentCell(0, 0)
        self._choose(0)

    def _choose(self, row: int, *_: int) -> None:
        statistics = self._statistics
        if statistics is None or row < 0:
            return
        channels: list[tuple[Part, ChannelFigures]] = []
        for part in statistics.parts:
            rows = [*part.channels, *part.targets]
            channels.append((part.part, rows[row]))
        self.histogram.show_channels(channels)


class _PartCount(QWidget):
    """A data part in its chart color, with its size."""

    def __init__(self, part: Part, text: str) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(_SWATCH_GAP)
        row.addWidget(_ColorSwatch(part))
        row.addWidget(label(part.capitalize()))
        row.addWidget(label(text, "dim"), 1)


class _ColorSwatch(QFrame):
    def __init__(self, part: Part) -> None:
        super().__init__()
        self._part: Part = part
        self.setFixedSize(_SWATCH_SIDE, _SWATCH_SIDE)
        theme.manager().changed.connect(self._paint)
        self._paint()

    def _paint(self, *_: object) -> None:
        self.setStyleSheet(f"background: {theme.current().series[COLORS[self._part]]}; border-radius: 2px;")


class _ProblemRow(QWidget):
    """A problem with its fix and clickable examples; "ok" if there is none."""

    def __init__(
        self,
        severity: str,
        message: str,
        examples: Sequence[tuple[str, int]] = (),
        show: Callable[[str, int], object] | None = None,
        fix: QWidget | None = None,
    ) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        top = QVBoxLayout()
        style = severity_style(severity)
        top.addWidget(IconWidget(style.icon, style.token))
        top.addStretch(1)
        row.addLayout(top)
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addWidget(label(message, wrap=True, selectable=True))
        below = QHBoxLayout()
        below.setSpacing(4)
        if fix is not None:
            below.addWidget(fix)
        if show is not None:
            for part, index in examples[:2]:
                below.addWidget(
                    buttons.text_button(f"{part.capitalize()} {index}", partial(show, part, index), kind="link")
                )
        if below.count():
            below.addStretch(1)
            column.addLayout(below)
        row.addLayout(column, 1)


class _ProgressView(QWidget):
    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setSpacing(10)
        column.addStretch(1)
        self._text = label("", "dim")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(240)
        self.cancel = buttons.text_button("Cancel", cancel)
        for widget in (self._text, self.bar, self.cancel):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)

    def show_progress(self, progress: Progress) -> None:
        self.bar.setRange(0, progress.total)
        self.bar.setValue(progress.done)
        text = f"{progress.done:,} of {progress.total:,} samples" if progress.total else "Loading data…"
        self._text.setText(text)


class _StatisticsTable(QTableWidget):
    """Height of up to eight rows plus the scroll bar."""

    def sizeHint(self) -> QSize:
        rows = min(self.rowCount(), 8)
        head, bar = self.horizontalHeader().sizeHint().height(), self.horizontalScrollBar().sizeHint().height()
        return QSize(420, head + rows * self.verticalHeader().defaultSectionSize() + bar + 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(260, min(self.sizeHint().height(), 110))


def _table() -> _StatisticsTable:
    table = _StatisticsTable(0, len(_TITLES))
    table.setHorizontalHeaderLabels(list(_TITLES))
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    table.setAccessibleName("Statistics of the values")
    table.verticalHeader().setVisible(False)
    table.verticalHeader().setDefaultSectionSize(24)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(header.ResizeMode.ResizeToContents)
    header.setMinimumSectionSize(48)
    table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    return table


def _fill_table(table: QTableWidget, channels: list[ChannelFigures]) -> None:
    table.setRowCount(len(channels))
    for row, channel in enumerate(channels):
        values = [number(value) for value in (channel.low, channel.high, channel.mean, channel.std)]
        missing = f"{channel.missing:,}" if channel.missing else "–"
        missing = f"{missing}, {channel.infinite:,} ∞" if channel.infinite else missing
        for column, text in enumerate((channel.name, missing, *(values if channel.numbers else ["–"] * 4))):
            item = QTableWidgetItem(text)
            if column:
                item.setFont(fonts.monospace(12))
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            table.setItem(row, column, item)
    for column in range(1, len(_TITLES)):
        head = table.horizontalHeaderItem(column)
        if head is not None:
            head.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    table.setColumnHidden(_MISSING, not any(channel.missing or channel.infinite for channel in channels))
    table.updateGeometry()


def _clear(layout: QVBoxLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()


__all__ = ["StatisticsPage"]
