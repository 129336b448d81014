"""Runs: the curves of this session, drawn while they grow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QHBoxLayout,
    QSlider,
    QSplitter,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.ui.panels.runs.legend import line_sample
from studio.ui.panels.runs.plot import CurvePlot, Shown
from studio.ui.panels.runs.run_list import RunList
from studio.ui.runner import Runner
from studio.ui.runs import Run
from studio.ui.settings import Settings
from studio.ui.widgets import buttons
from studio.ui.widgets.empty import EmptyState
from studio.ui.widgets.labels import label

REDRAW_MS = 50
"""Twenty pictures a second are enough for curves."""
_POINTS_PER_MS = 1000
"""Long curves cost more to draw and change less: so many points more make a millisecond between pictures."""


class RunsPanel(QWidget):
    """Empty until the first run; then a list of runs beside one plot for each quantity."""

    failed = Signal(str)
    """A file could not be written."""

    def __init__(self, runner: Runner, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runner, self._settings = runner, settings
        self._shown = Shown(smoothing=settings.smoothing)
        self.plots: dict[str, CurvePlot] = {}
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.timeout.connect(self.draw)

        self._empty = EmptyState(
            "runs",
            "No runs yet",
            "Loss and metrics are drawn here from the first batch on.",
            action="Run",
            run=runner.start,
        )
        self.list = RunList()
        self.list.setMinimumWidth(248)
        self.list.toggled.connect(self.draw)
        self._board = QWidget()
        self._plots = QHBoxLayout(self._board)
        self._plots.setContentsMargins(0, 0, 0, 0)
        self._plots.setSpacing(0)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._bar())
        column.addWidget(self._board, 1)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.addWidget(self.list)
        splitter.addWidget(right)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([248, 900])
        splitter.setChildrenCollapsible(False)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(splitter)

        runner.run_added.connect(self._add)
        runner.events.connect(self._schedule)
        runner.state_changed.connect(self._schedule)
        for run in runner.runs:
            self._add(run)

    def draw(self) -> None:
        """Draw all runs as they are now."""
        runs = self._runner.runs
        for quantity in dict.fromkeys(name for run in runs for name in run.quantities):
            if quantity not in self.plots:
                self._add_plot(quantity)
        for plot in self.plots.values():
            plot.show_runs(runs, self._shown)
        if runs:
            self.list.refresh(runs[-1])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.draw()

    # -- what is above the plots

    def _bar(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(12, 4, 8, 0)
        row.setSpacing(4)
        for kind, title in (("train", "Train"), ("validation", "Validation")):
            row.addWidget(self._switch(kind, title))
        row.addSpacing(12)
        row.addWidget(label("Smoothing", "dim"))
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setRange(0, 99)
        slider.setValue(round(100 * self._shown.smoothing))
        slider.setFixedWidth(96)
        slider.setAccessibleName("Smoothing")
        slider.setToolTip("Share of the past in the strong line. Faint lines are the values of each batch.")
        slider.valueChanged.connect(self._smooth)
        row.addWidget(slider)
        row.addSpacing(12)
        log = buttons.tool("log-axis", "Logarithmic axis")
        log.setCheckable(True)
        log.clicked.connect(lambda on: self._show(replace(self._shown, logarithmic=on)))
        row.addWidget(log)
        row.addStretch(1)
        row.addWidget(buttons.tool("fit", "Show all (double-click in a plot)", self._reset))
        row.addWidget(buttons.tool("picture", "Copy the plots as a picture", self._copy))
        row.addWidget(buttons.tool("table", "Save the points as CSV", self._save))
        return row

    def _switch(self, kind: str, title: str) -> QToolButton:
        button = QToolButton()
        button.setText(title)
        button.setIcon(line_sample(dashed=kind == "validation"))
        button.setIconSize(QSize(22, 14))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setCheckable(True)
        button.setChecked(True)
        button.setProperty("kind", "legend")
        button.setToolTip(f"Show or hide {title.lower()}")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda on: self._show(replace(self._shown, **{kind: on})))
        return button

    def _show(self, shown: Shown) -> None:
        self._shown = shown
        self.draw()

    def _smooth(self, percent: int) -> None:
        self._settings.smoothing = percent / 100
        self._shown = replace(self._shown, smoothing=percent / 100)
        self._schedule()

    def _reset(self) -> None:
        for plot in self.plots.values():
            plot.reset()

    def _copy(self) -> None:
        QApplication.clipboard().setPixmap(self._board.grab())

    def _save(self) -> None:
        run = self._runner.run
        if run is None:
            return
        suggestion = f"{run.name.lower().replace(' ', '_')}.csv"
        path, _ = QFileDialog.getSaveFileName(self, "Save the points", suggestion, "CSV (*.csv)")
        if not path:
            return
        try:
            Path(path).write_text(run.csv(), encoding="utf-8")
        except OSError as error:
            self.failed.emit(f"Could not write {path}: {error.strerror}. Choose another folder.")

    # -- runs that come and grow

    def _add(self, run: Run) -> None:
        self.list.add(run)
        self._stack.setCurrentIndex(1)
        for plot in self.plots.values():
            plot.reset()
        self._schedule()

    def _add_plot(self, quantity: str) -> None:
        plot = CurvePlot(quantity)
        if (first := next(iter(self.plots.values()), None)) is not None:
            plot.setXLink(first)
        self.plots[quantity] = plot
        self._plots.addWidget(plot, 1)

    def _schedule(self, *_: object) -> None:
        if self.isVisible() and not self._redraw.isActive():
            points = sum(len(curve) for run in self._runner.runs if run.is_shown for curve in run.curves.values())
            self._redraw.start(REDRAW_MS + points // _POINTS_PER_MS)
