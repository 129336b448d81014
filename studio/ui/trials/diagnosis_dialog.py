"""The dialog that finds out why the loss does not fall."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from PySide6.QtWidgets import QWidget

from studio.document.document_errors import FileError
from studio.lowering.problems.problem import Fix, Problem
from studio.training.experiments.diagnosis_run import EXPERIMENTS, Conclusion, diagnose, with_needed
from studio.training.experiments.experiment import ExperimentProgress, ExperimentStarted, Result
from studio.training.experiments.report_files import write_report
from studio.ui import dialogs
from studio.ui.panels.fix_button import FixPreviewTrigger
from studio.ui.project.project_store import ProjectStore
from studio.ui.trials.diagnosis_view import DiagnosisView
from studio.ui.trials.trial_dialog import TrialDialog
from studio.ui.widgets.announcement import announce

_ABOUT = "Runs nine experiments on a copy of the project, usually in less than a minute. The project is not changed."
_ABOUT_SOME = {
    "overfit": "Trains a copy of the network repeatedly on one batch. A correctly wired network memorizes it.",
    "rate": (
        "Trains a copy of the network with increasing learning rates, and compares the best one with the current one. "
        "A good learning rate is where the loss falls fastest; where it rises again, training is unstable."
    ),
}
"""What one experiment does, by its key."""
_TICKS = 100
"""Steps of the progress bar per experiment."""


class DiagnosisDialog(TrialDialog):
    """Runs all experiments, or only those with some keys besides those that they continue."""

    def __init__(self, store: ProjectStore, parent: QWidget, *, only: Collection[str] = ()) -> None:
        experiments = with_needed(only)
        self.view = DiagnosisView(experiments, self._apply, store.fix_previewer)
        self.conclusion: Conclusion | None = None
        self._done = 0
        self._is_complete = len(experiments) == len(EXPERIMENTS)
        items = diagnose(store.request_report(), name=store.name, only=only, clock=time.monotonic)
        title = "Why is the loss not falling?" if self._is_complete else experiments[-1].title
        about = _ABOUT if self._is_complete else _ABOUT_SOME.get(experiments[-1].key, experiments[-1].question)
        super().__init__(store, items, self.view, title, about, len(experiments) * _TICKS, parent)
        self.resize(820, 560)

    def show_item(self, item: object) -> None:
        match item:
            case ExperimentStarted():
                self._done = item.number - 1
                self.view.start(item)
                self.verdict.setText(f"{item.number} of {item.count}: {item.experiment.title}")
            case ExperimentProgress():
                self.view.advance(item)
                self.progress.setValue(round((self._done + item.share) * _TICKS))
            case Result():
                self.view.finish(item)
                self.progress.setValue((self._done + 1) * _TICKS)
            case Conclusion():
                self.conclusion = item
            case _:
                pass

    def show_result(self) -> None:
        if self.conclusion is None:
            return
        found = self.conclusion
        is_fine = all(result.outcome.verdict != "problem" for result in found.results)
        self.show_message(found.summary, "ok" if is_fine else "warning")
        announce(self, found.summary)
        cause = found.cause
        if not self._is_complete:
            self.add_button("Run all experiments", self._run_all)
        self.add_button("Export report…", self._export)
        if cause is not None:
            self.view.reveal(next(result.experiment for result in found.results if _has(result, cause)))
        fix = cause.fix if cause is not None else found.results[-1].outcome.suggestion
        if fix is not None:
            button = self.add_button(fix.title, lambda: self._apply(fix, cause and cause.node), kind="primary")
            FixPreviewTrigger(button, fix, self.store.fix_previewer)

    def _apply(self, fix: Fix, node: str | None) -> None:
        """Apply a fix and close, since the results are those of the project before it."""
        self.store.apply_fix(fix, node)
        self.close()

    def _run_all(self) -> None:
        self.other_trial_requested.emit("run.diagnose")
        self.close()

    def _export(self) -> None:
        assert self.conclusion is not None
        folder = self.store.path.parent if self.store.path is not None else Path.home()
        path = dialogs.report_to_save(self, folder / f"{self.store.name} diagnosis.html")
        if path is None:
            return
        try:
            write_report(path, self.conclusion, self.store.name)
        except FileError as error:
            dialogs.message(self, "The report was not written.", str(error))
            return
        self.note.setText(f"Saved {path.name}")
        announce(self, self.note.text())


def _has(result: Result, cause: Problem) -> bool:
    """Whether a result has the problem that is the cause."""
    key = cause.code, cause.node, cause.message
    return any((each.code, each.node, each.message) == key for each in result.outcome.problems)
