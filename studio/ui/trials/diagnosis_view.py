"""The experiments of a diagnosis as a list with verdicts, and the selected one with its picture and next step."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from studio.lowering.problems.problem import Fix, Problem
from studio.training.experiments.diagnosis_run import EXPERIMENTS
from studio.training.experiments.experiment import ExperimentProgress, ExperimentStarted, Result
from studio.training.experiments.report_files import VERDICTS
from studio.ui.panels.fix_button import fix_button
from studio.ui.project.fix_previewer import FixPreviewer
from studio.ui.theme import icons
from studio.ui.trials.experiment_plot import ExperimentPlot
from studio.ui.widgets.labels import label

_ICONS = {
    "passed": ("ok", "ok"),
    "problem": ("warning", "warning"),
    "inconclusive": ("info", "text-dim"),
    "running": ("run", "accent"),
    "waiting": ("clock", "text-dim"),
}
"""Icon and color of each state of an experiment."""


class DiagnosisView(QWidget):
    """A row per experiment. The running one is shown until the user selects another.

    Args:
        apply: applies a fix of a problem
        previewer: previews fixes
    """

    def __init__(self, apply: Callable[[Fix, Problem], None], previewer: FixPreviewer) -> None:
        super().__init__()
        self._apply, self._previewer = apply, previewer
        self.results: dict[str, Result] = {}
        self._pictures: dict[str, ExperimentProgress] = {}
        self._follows = True
        self.list = QListWidget()
        self.list.setAccessibleName("Experiments")
        self.list.setMinimumWidth(176)
        for experiment in EXPERIMENTS:
            item = QListWidgetItem(experiment.title)
            item.setData(Qt.ItemDataRole.UserRole, experiment.key)
            self.list.addItem(item)
            self._set_state(experiment.key, "waiting")
        self.list.currentRowChanged.connect(self._show_selected)
        self.list.itemClicked.connect(self._stop_following)
        self.question = label("", "heading", wrap=True)
        self.summary = label("", wrap=True, selectable=True)
        self.plot = ExperimentPlot()
        self.next_step = label("", "dim", wrap=True, selectable=True)
        self._fixes = QVBoxLayout()
        self._fixes.setSpacing(4)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.list)
        splitter.addWidget(self._detail())
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([200, 520])
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(splitter)
        self.list.setCurrentRow(0)

    def start(self, event: ExperimentStarted) -> None:
        """Mark an experiment as running, and show it."""
        self._set_state(event.key, "running")
        if self._follows:
            self.list.setCurrentRow(event.number - 1)

    def advance(self, event: ExperimentProgress) -> None:
        """Draw the picture so far."""
        self._pictures[event.key] = event
        if self._current == event.key:
            self.plot.show_picture(event.picture)

    def finish(self, result: Result) -> None:
        """Show the verdict of an experiment."""
        self.results[result.key] = result
        self._set_state(result.key, result.verdict)
        if self._current == result.key:
            self._show_selected()

    def reveal(self, key: str) -> None:
        """Select an experiment."""
        keys = [experiment.key for experiment in EXPERIMENTS]
        self.list.setCurrentRow(keys.index(key))

    @property
    def _current(self) -> str:
        return EXPERIMENTS[max(self.list.currentRow(), 0)].key

    def _detail(self) -> QWidget:
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 4, 8, 4)
        column.setSpacing(8)
        column.addWidget(self.question)
        column.addWidget(self.summary)
        column.addWidget(self.plot, 1)
        column.addWidget(self.next_step)
        column.addLayout(self._fixes)
        scroll = QScrollArea()
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setAccessibleName("Result of the experiment")
        scroll.setWidget(page)
        return scroll

    def _set_state(self, key: str, state: str) -> None:
        row = next(index for index, experiment in enumerate(EXPERIMENTS) if experiment.key == key)
        item = self.list.item(row)
        item.setIcon(icons.themed(*_ICONS[state]))
        verdict = next((text for name, text in VERDICTS.items() if name == state), state.capitalize())
        item.setToolTip(f"{EXPERIMENTS[row].question}\n{verdict}")
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{EXPERIMENTS[row].title}: {verdict}")

    def _stop_following(self, *_: object) -> None:
        self._follows = False

    def _show_selected(self, *_: object) -> None:
        experiment = EXPERIMENTS[max(self.list.currentRow(), 0)]
        result, progress = self.results.get(experiment.key), self._pictures.get(experiment.key)
        self.question.setText(experiment.question)
        self.summary.setText("" if result is None else f"{VERDICTS[result.verdict]}. {result.summary}")
        self.summary.setVisible(result is not None)
        picture = result.picture if result is not None else progress.picture if progress is not None else None
        self.plot.show_picture(picture)
        self.plot.setVisible(result is None or picture is not None)
        self.next_step.setText("" if result is None or not result.next_step else f"Next step: {result.next_step}")
        self.next_step.setVisible(bool(self.next_step.text()))
        self._show_fixes(() if result is None else result.problems)

    def _show_fixes(self, problems: tuple[Problem, ...]) -> None:
        while self._fixes.count():
            item = self._fixes.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for problem in problems:
            if problem.fix is not None:
                button = fix_button(problem.fix, lambda one=problem: self._apply_fix(one), self._previewer)
                button.setToolTip(problem.message)
                self._fixes.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)

    def _apply_fix(self, problem: Problem) -> None:
        if problem.fix is not None:
            self._apply(problem.fix, problem)
