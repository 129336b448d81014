"""A lesson in progress: the shown step, answers and completed steps, which are kept for the learner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from studio.document.document_errors import FileError
from studio.document.model import Json
from studio.lessons.evaluation.evaluate import evaluate_step
from studio.lessons.feedback import Feedback
from studio.lessons.lesson import Curve, Lesson, Step
from studio.lessons.predictions import Comparison, compare
from studio.lessons.progress import LessonProgress, Progress
from studio.lessons.situation import MeasuredRun, Situation, read_run, value_reader
from studio.training.data.data_chain import ChainOpener
from studio.training.runs.run_history import Run, StoredRun
from studio.ui.latest_task import LatestTask
from studio.ui.project.project import Project

_SETTLE_MS = 60
"""Pause after a change before the conditions are evaluated."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was found for a step."""

    step: str
    feedback: tuple[Feedback, ...]
    comparison: Comparison | None
    curve: tuple[float, ...] = ()
    """The measured curve of a prediction that draws one."""


class LessonSession(QObject):
    """Evaluates the shown step in a background thread after every change of the project."""

    changed = Signal()
    """What the panel shows has changed."""
    step_changed = Signal()
    step_completed = Signal()
    """The shown step was completed by the learner's last action."""

    def __init__(self, lesson: Lesson, project: Project, progress: LessonProgress) -> None:
        super().__init__(project)
        self.lesson, self.project = lesson, project
        self._file = progress
        self.progress: Progress = progress.read()
        self.steps = lesson.all_steps
        self.evaluation: Evaluation | None = None
        """That of the shown step, once known."""
        self._opener = ChainOpener()
        """Used in the worker thread only."""
        self._runs: dict[Path, MeasuredRun | None] = {}
        """Runs of earlier sessions by folder, also for the worker thread only."""
        self._task = LatestTask("gradwire-lesson", self)
        self._task.finished.connect(self._on_evaluated)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SETTLE_MS)
        self._timer.timeout.connect(self._evaluate)
        project.store.lock(lesson.locked)
        for signal in (
            project.store.document_changed,
            project.store.report_changed,
            project.store.selection_changed,
            project.runner.state_changed,
            project.library.runs_changed,
            project.library.metadata_changed,
        ):
            signal.connect(self.request_evaluation)
        self._shown_at = self._actions()
        self.request_evaluation()

    # -- reading

    @property
    def folder(self) -> Path:
        """Where the progress is kept, which identifies the lesson."""
        return self._file.folder

    @property
    def index(self) -> int:
        """Index of the shown step."""
        return next((i for i, step in enumerate(self.steps) if step.id == self.progress.step), 0)

    @property
    def step(self) -> Step:
        return self.steps[self.index]

    @property
    def is_last(self) -> bool:
        return self.index + 1 == len(self.steps)

    def is_done(self, step: Step) -> bool:
        return step.id in self.progress.done

    @property
    def is_finished(self) -> bool:
        """Whether all steps are completed."""
        return all(self.is_done(step) for step in self.steps)

    @property
    def answer(self) -> Json:
        """The prediction for the shown step; None before it was made."""
        return self.progress.answers.get(self.step.id)

    @property
    def shown_hints(self) -> tuple[str, ...]:
        return self.step.hints[: self.progress.hints.get(self.step.id, 0)]

    @property
    def feedback(self) -> tuple[Feedback, ...]:
        """The feedback of the shown step's conditions; empty before it is known."""
        return self.evaluation.feedback if self.evaluation is not None else ()

    # -- changing

    def go(self, index: int) -> None:
        """Show a step. A step that asks for nothing is completed by leaving it forward."""
        index = min(max(index, 0), len(self.steps) - 1)
        if index > self.index and self.step.is_read_only:
            self._keep(self.progress.with_done(self.step.id))
        if index != self.index or not self.progress.step:
            self.evaluation = None
            self._keep(self.progress.at(self.steps[index].id))
            self._shown_at = self._actions()
            self.step_changed.emit()
            self.request_evaluation()

    def finish(self) -> None:
        """Complete the last step if it asks for nothing."""
        if self.step.is_read_only:
            self._keep(self.progress.with_done(self.step.id))

    def predict(self, answer: Json) -> None:
        """Store the prediction of the shown step. A stored prediction is not changed."""
        if self.answer is None:
            self._keep(self.progress.with_answer(self.step.id, answer))
            self.request_evaluation()

    def show_hint(self) -> None:
        """Show one more hint."""
        if len(self.shown_hints) < len(self.step.hints):
            self._keep(self.progress.with_hint(self.step.id))

    def start_again(self) -> None:
        """Restore the start project, as an undoable edit, and forget answers, hints, completed steps and runs."""
        self.project.scope.go(())
        self.project.store.edit("Start the lesson again", lambda _: self.lesson.document)
        self.evaluation = None
        self._keep(Progress(first_run=self.project.library.next_number))
        self._shown_at = self._actions()
        self.step_changed.emit()
        self.request_evaluation()

    def request_evaluation(self, *_: object) -> None:
        self._timer.start()

    def close(self) -> None:
        """Stop evaluating."""
        self._timer.stop()
        self._task.cancel()

    # -- evaluation

    def _evaluate(self) -> None:
        store = self.project.store
        if not store.is_checked:
            return  # a report follows
        first = self.progress.first_run
        runs = [_finished(run) for run in self.project.library.runs if not run.is_live and run.number >= first]
        self._task.request(
            (self.step.id, self.answer),
            partial(
                _evaluated,
                self.step,
                self.answer,
                Situation(store.document, store.check_report, selection=store.selection),
                [run for run in runs if run is not None],
                self._runs,
                self._opener,
            ),
        )

    def _on_evaluated(self, asked: object, result: object) -> None:
        if isinstance(result, Exception):
            raise result
        if asked != (self.step.id, self.answer) or not isinstance(result, Evaluation):
            return
        before, self.evaluation = self.evaluation, result
        is_met = all(each.is_met for each in result.feedback)
        is_answered = self.step.prediction is None or self.answer is not None
        if is_met and is_answered and not self.step.is_read_only and not self.is_done(self.step):
            self._keep(self.progress.with_done(self.step.id))
            if self._actions() != self._shown_at:
                self.step_completed.emit()
        elif result != before:
            self.changed.emit()

    def _actions(self) -> tuple[object, ...]:
        """What the learner's actions change: a step that was complete when it was shown waits for Next."""
        store = self.project.store
        return store.history.position, store.selection, len(self.project.runner.runs), self.answer

    def _keep(self, progress: Progress) -> None:
        self.progress = progress
        try:
            self._file.write(progress)
        except FileError as error:
            self.project.logged.emit(f"The progress of the lesson was not saved: {error}", "warning")
        self.changed.emit()


def _finished(run: Run) -> MeasuredRun | StoredRun | None:
    """A run of this process, or what is needed to read an earlier one from its folder."""
    if run.document is None and run.folder is not None:
        return StoredRun(run.folder, run.metadata, run.state)
    return MeasuredRun.of(run)


def _evaluated(
    step: Step,
    answer: Json,
    situation: Situation,
    finished: list[MeasuredRun | StoredRun],
    known: dict[Path, MeasuredRun | None],
    opener: ChainOpener,
) -> Evaluation:
    """Runs in the worker thread.

    Args:
        known: the runs that were read from their folders, to be extended
    """
    runs: list[MeasuredRun] = []
    for each in finished:
        if isinstance(each, StoredRun) and each.folder not in known:
            known[each.folder] = read_run(each)
        run = known[each.folder] if isinstance(each, StoredRun) else each
        runs += [] if run is None else [run]
    situation = replace(situation, runs=tuple(runs), value=value_reader(situation.report, tuple(runs), opener))
    feedback = evaluate_step(step, situation)
    comparison, curve = None, ()
    if step.prediction is not None and answer is not None:
        comparison = compare(step.prediction, answer, situation)
        if isinstance(step.prediction, Curve) and situation.last_run is not None:
            curve = situation.last_run.figures.get(step.prediction.figure, ())
    return Evaluation(step.id, feedback, comparison, curve)


__all__ = ["Evaluation", "LessonSession"]
