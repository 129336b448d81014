"""The experiments of a diagnosis as a list with verdicts, and the selected one with its picture and next step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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

from studio.lowering.problems.problem import Fix
from studio.training.experiments.experiment import (
    Experiment,
    ExperimentProgress,
    ExperimentStarted,
    Outcome,
    Result,
)
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
        experiments: in the order in which they run
        apply: applies a fix of a problem of a node
        previewer: previews fixes
    """

    def __init__(
        self, experiments: Sequence[Experiment], apply: Callable[[Fix, str | None], None], previewer: FixPreviewer
    ) -> None:
        super().__init__()
        self.experiments, self._apply, self._previewer = experiments, apply, previewer
        self.outcomes: dict[str, Outcome] = {}
        self._pictures: dict[str, ExperimentProgress] = {}
        self._follows = True
        self.list = QListWidget()
        self.list.setAccessibleName("Experiments")
        self.list.setMinimumWidth(176)
        for experiment in experiments:
            self.list.addItem(QListWidgetItem(experiment.title))
            self._set_state(experiment, "waiting")
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
        self._set_state(event.experiment, "running")
        if self._follows:
            self.list.setCurrentRow(event.number - 1)

    def advance(self, event: ExperimentProgress) -> None:
        """Draw the picture so far."""
        self._pictures[event.experiment.key] = event
        if self._current is event.experiment:
            self.plot.show_picture(event.picture)

    def finish(self, result: Result) -> None:
        """Show the verdict of an experiment."""
        self.outcomes[result.experiment.key] = result.outcome
        self._set_state(result.experiment, result.outcome.verdict)
        if self._current is result.experiment:
            self._show_selected()

    def reveal(self, experiment: Experiment) -> None:
        """Select an experiment."""
        self.list.setCurrentRow(self.experiments.index(experiment))

    @property
    def _current(self) -> Experiment:
        return self.experiments[max(self.list.currentRow(), 0)]

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
        self._space = QWidget()
        column.addWidget(self._space, 1)
        scroll = QScrollArea()
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setAccessibleName("Result of the experiment")
        scroll.setWidget(page)
        return scroll

    def _set_state(self, experiment: Experiment, state: str) -> None:
        item = self.list.item(self.experiments.index(experiment))
        item.setIcon(icons.themed(*_ICONS[state]))
        verdict = next((text for name, text in VERDICTS.items() if name == state), state.capitalize())
        item.setToolTip(f"{experiment.question}\n{verdict}")
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{experiment.title}: {verdict}")

    def _stop_following(self, *_: object) -> None:
        self._follows = False

    def _show_selected(self, *_: object) -> None:
        key = self._current.key
        outcome, progress = self.outcomes.get(key), self._pictures.get(key)
        self.question.setText(self._current.question)
        self.summary.setText("" if outcome is None else f"{VERDICTS[outcome.verdict]}. {outcome.summary}")
        self.summary.setVisible(outcome is not None)
        picture = outcome.picture if outcome is not None else progress.picture if progress is not None else None
        self.plot.show_picture(picture)
        self.plot.setVisible(outcome is None or picture is not None)
        self._space.setVisible(self.plot.isHidden())
        self.next_step.setText("" if outcome is None or not outcome.next_step else f"Next step: {outcome.next_step}")
        self.next_step.setVisible(bool(self.next_step.text()))
        self._show_fixes(outcome)

    def _show_fixes(self, outcome: Outcome | None) -> None:
        while self._fixes.count():
            item = self._fixes.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if outcome is None:
            return
        for problem in outcome.problems:
            if problem.fix is not None:
                self._add_fix(problem.fix, problem.node)
        if outcome.suggestion is not None:
            self._add_fix(outcome.suggestion, None)

    def _add_fix(self, fix: Fix, node: str | None) -> None:
        button = fix_button(fix, lambda: self._apply(fix, node), self._previewer)
        self._fixes.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
