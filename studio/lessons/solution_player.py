"""Play the solution of a lesson on documents, with real runs, without a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from engine import fit
from studio.document.document_errors import DocumentError
from studio.document.locked_nodes import check_locked
from studio.document.model import Document, Json
from studio.lessons.condition_checks import evaluate_step
from studio.lessons.feedback import Feedback
from studio.lessons.lesson import Lesson, Step
from studio.lessons.predictions import Comparison, compare, is_answer
from studio.lessons.situation import MeasuredRun, Situation, value_reader
from studio.lessons.solution_edits import apply_edit, kind_of
from studio.lowering.check import Checker
from studio.nodes.catalogue import catalogue
from studio.training.data.data_chain import ChainOpener
from studio.training.runs.run_history import Run
from studio.training.session_events import Failed
from studio.training.training_session import TrainingSession

_POLL = 0.1


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A step, before and after its solution."""

    step: Step
    before: tuple[Feedback, ...]
    after: tuple[Feedback, ...]
    error: str = ""
    """Why its solution could not be played."""
    comparison: Comparison | None = None

    @property
    def is_done(self) -> bool:
        """Whether the solution completes it."""
        return not self.error and all(each.is_met for each in self.after)

    @property
    def was_open(self) -> bool:
        """Whether it needs to be done: something is asked for, and not met before."""
        if self.step.is_read_only or self.step.prediction is not None:
            return True
        return not all(each.is_met for each in self.before)


@dataclass(slots=True)
class Player:
    """A learner's position: the document, the selection, the runs and the answers.

    Args:
        folder: where runs are written; values after a run need its weights
    """

    document: Document
    folder: Path
    locked: tuple[str, ...] = ()
    """Nodes that the solution must not change."""
    runs: list[MeasuredRun] = field(default_factory=list[MeasuredRun])
    selection: frozenset[str] = frozenset()
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    checker: Checker = field(default_factory=Checker)
    opener: ChainOpener = field(default_factory=ChainOpener)

    def situation(self) -> Situation:
        """The situation for conditions."""
        report = self.checker.check(self.document, catalogue())
        runs = tuple(self.runs)
        return Situation(self.document, report, runs, self.selection, value_reader(report, runs, self.opener))

    def play(self, step: Step) -> PlayedStep:
        """Play the solution of a step."""
        before = evaluate_step(step, self.situation())
        error = ""
        try:
            for edit in step.solution:
                self._apply(step, edit)
        except (DocumentError, RunError) as problem:
            error = str(problem)
        after = self.situation()
        if step.prediction is not None and step.id not in self.answers and not error:
            error = "The solution has no prediction."
        comparison = None
        if step.prediction is not None and step.id in self.answers:
            comparison = compare(step.prediction, self.answers[step.id], after)
        return PlayedStep(step, before, evaluate_step(step, after), error, comparison)

    def _apply(self, step: Step, edit: Mapping[str, Json]) -> None:
        match kind_of(edit):
            case "predict":
                if step.prediction is None or not is_answer(step.prediction, edit["predict"]):
                    raise RunError(f"{edit['predict']!r} is not a valid prediction.")
                self.answers[step.id] = edit["predict"]
            case "select":
                self.selection = frozenset({str(edit["select"])})
            case "run":
                self.document = apply_edit(self.document, edit)
                self.runs.append(train(self.document, self.folder / f"run-{len(self.runs) + 1}"))
            case _:
                after = apply_edit(self.document, edit)
                check_locked(self.document, after, self.locked)
                self.document = after


class RunError(Exception):
    """A step of a solution failed. The text is for the author."""


def play(lesson: Lesson, folder: Path) -> Iterator[PlayedStep]:
    """Play all steps and the task of a lesson."""
    player = Player(lesson.document, folder, lesson.locked)
    for step in lesson.all_steps:
        yield player.play(step)


def train(document: Document, folder: Path) -> MeasuredRun:
    """Train a document to its end. Raises RunError."""
    session = TrainingSession(document, catalogue(), out=folder, name="lesson")
    run = Run(1, folder, document=document)
    session.start()
    is_over = False
    while not is_over:
        is_over = session.is_over
        events = session.events(_POLL)
        for event in events:
            if isinstance(event, Failed):
                raise RunError(f"The run failed: {event.message}")
        run.take(cast("list[fit.TrainingEvent]", [each for each in events if _is_training(each)]))
    session.join()
    run.state = session.state
    measured = MeasuredRun.of(run)
    assert measured is not None
    return measured


def _is_training(event: Any) -> bool:
    return type(event).__module__ == fit.Step.__module__


__all__ = ["PlayedStep", "Player", "RunError", "play", "train"]
