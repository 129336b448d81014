"""Play the solution of a lesson on documents, with real runs, without a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from studio.document.document_errors import DocumentError, FileError
from studio.document.locked_nodes import check_locked
from studio.document.model import Document, Json
from studio.lessons.evaluation.evaluate import evaluate_step
from studio.lessons.feedback import Feedback
from studio.lessons.lesson import Step
from studio.lessons.predictions import Comparison, compare, is_answer
from studio.lessons.situation import MeasuredRun, Situation, read_run, value_reader
from studio.lessons.solution_edits import apply_edit, kind_of
from studio.lowering.check import Checker
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from studio.training.data.data_chain import ChainOpener
from studio.training.runs.run_history import StoredRun
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import RUN_FILE, create_run_folder
from studio.training.runs.run_resuming import load_run
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
    trusts_code: bool = False
    """Whether this process may execute the Python code of the lesson."""

    def __post_init__(self) -> None:
        self._edit(self.document)

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
                self._edit(apply_edit(self.document, edit))
                self.runs.append(train(self.document, create_run_folder(self.folder)))
            case "resume":
                self.runs[-1:] = [self._resumed(edit["resume"])]
            case _:
                after = apply_edit(self.document, edit)
                check_locked(self.document, after, self.locked)
                self._edit(after)

    def _edit(self, document: Document) -> None:
        self.document = document
        if self.trusts_code:
            allow_code(document)

    def _resumed(self, epochs: Json) -> MeasuredRun:
        """The last run, resumed until it has trained for a number of epochs in total."""
        if not isinstance(epochs, int) or not self.runs or self.runs[-1].weights is None:
            raise RunError('"resume" needs a run before it, and the total number of epochs.')
        try:
            resumed = load_run(self.runs[-1].weights)
        except FileError as error:
            raise RunError(str(error)) from None
        session = TrainingSession(
            resumed.document, catalogue(), resume=resumed, epochs=epochs, name="lesson", breakpoints={}
        )
        return _measured(session, resumed.folder)


class RunError(Exception):
    """A step of a solution failed. The text is for the author."""


def train(document: Document, folder: Path) -> MeasuredRun:
    """Train a document to its end. Raises RunError."""
    return _measured(TrainingSession(document, catalogue(), out=folder, name="lesson", breakpoints={}), folder)


def _measured(session: TrainingSession, folder: Path) -> MeasuredRun:
    session.start()
    is_over = False
    while not is_over:
        is_over = session.is_over
        for event in session.events(_POLL):
            if isinstance(event, Failed):
                raise RunError(f"The run failed: {event.message}")
    session.join()
    measured = read_run(StoredRun(folder, read_metadata(folder / RUN_FILE), session.state))
    assert measured is not None
    return measured


__all__ = ["PlayedStep", "Player", "RunError", "train"]
