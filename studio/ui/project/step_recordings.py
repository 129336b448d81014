"""Records the next training step of a project in a background thread, and walks through its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError
from studio.document.graph_comparison import compare
from studio.document.model import Document
from studio.lowering.program import LoweringError, lower
from studio.lowering.report import Report
from studio.training.failures import error_message
from studio.training.run_settings import resolve_device
from studio.training.stepping.record_step import record_step
from studio.training.stepping.step_recorder import RecordingCancelledError
from studio.training.stepping.step_recording import NodeStep, Recording
from studio.training.stepping.task_copy import first_state
from studio.training.training_session import TrainingSession
from studio.ui.background_task import BackgroundTask
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner

State = Literal["empty", "recording", "ready", "failed"]

_WAIT_SECONDS = 60.0
"""Longest wait for the current batch of a run."""


class StepRecordings(QObject):
    """Keeps the last recording of a project, and the step that is shown."""

    changed = Signal()
    """State or recording changed."""
    moved = Signal()
    """Another step is shown."""
    outdated = Signal()
    """The graph changed after it was recorded."""

    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._task: BackgroundTask | None = None
        self._document: Document | None = None
        self.state: State = "empty"
        self.recording: Recording | None = None
        self.index = 0
        """Number of the shown step."""
        self.problem = ""
        """Why recording failed."""
        store.document_changed.connect(self._on_document_changed)

    @property
    def step(self) -> NodeStep | None:
        """The shown step."""
        steps = () if self.recording is None else self.recording.steps
        return steps[self.index] if self.index < len(steps) else None

    @property
    def is_stale(self) -> bool:
        """Whether the graph has changed since it was recorded."""
        document = self._store.document
        return self._document is not None and self._document is not document and bool(compare(self._document, document))

    def record(self) -> None:
        """Record the next step of the run of this graph, or the first one with initial weights."""
        if refusal := self._store.prepare_run():
            self._fail(refusal)
            return
        self._stop()
        self.state, self.problem = "recording", ""
        session = self._runner.session if self._runner.shows_run else None
        self._document = self._store.document if session is None else session.document
        work = _recordings(self._store.request_report(), session)
        self._task = BackgroundTask(work, self)
        self._task.item_ready.connect(self._on_item)
        self._task.start()
        self.changed.emit()

    def cancel(self) -> None:
        """End recording; the previous recording stays."""
        if self.state == "recording":
            self._stop()
            self.state = "empty" if self.recording is None else "ready"
            self.changed.emit()

    def show_step(self, index: int) -> None:
        """Show a step; the first or the last one beyond the ends."""
        if self.recording is not None and self.recording.steps:
            index = min(max(index, 0), len(self.recording.steps) - 1)
            if index != self.index:
                self.index = index
                self.moved.emit()

    def show_nonfinite(self) -> bool:
        """Show the next step whose results contain NaN or infinity; after the last the first. False if none has."""
        found = None if self.recording is None else self.recording.first_nonfinite(self.index)
        if found is None and self.recording is not None:
            found = self.recording.first_nonfinite()
        if found is not None:
            self.show_step(found.number)
        return found is not None

    def show_node(self, path: str) -> bool:
        """Show the next step of a node or of an instance. False if it has none."""
        found = None if self.recording is None else self.recording.of_node(path, self.index)
        if found is not None:
            self.show_step(found.number)
        return found is not None

    def close(self) -> None:
        if self._task is not None:
            self._task.close()

    def _on_document_changed(self, *_: object) -> None:
        if self.recording is not None:
            self.outdated.emit()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task.item_ready.disconnect(self._on_item)
            self._task = None

    def _fail(self, problem: str) -> None:
        self.state, self.problem, self.recording = "failed", problem, None
        self.changed.emit()

    def _on_item(self, item: object) -> None:
        if isinstance(item, Recording):
            self.state, self.recording, self.index = "ready", item, 0
            if item.failure is not None and item.steps:
                self.index = len(item.steps) - 1
            self.changed.emit()
            self.moved.emit()
        elif isinstance(item, str):
            self._fail(item)


def _recordings(get_report: Callable[[], Report], session: TrainingSession | None) -> Iterator[object]:
    """A recording, or a problem. Runs in the background thread."""
    try:
        yield _recorded(get_report, session)
    except RecordingCancelledError:
        return
    except LoweringError as error:
        yield error.problems[0].message
    except MemoryError:
        yield "There is not enough memory for a copy of the network and a batch."
    except (EngineError, OSError, RuntimeError, ValueError, TypeError) as error:
        yield error_message(error)


def _recorded(get_report: Callable[[], Report], session: TrainingSession | None) -> Recording:
    report = get_report()
    if session is not None:
        found = session.capture_step(_WAIT_SECONDS)
        if found is not None:
            return record_step(found.report.checked, found.program, found.task, found.state)
    training = report.document.training
    program = lower(report)
    task = program.build(resolve_device(training.device), training.seed)
    return record_step(report.checked, program, task, first_state(task))


__all__ = ["State", "StepRecordings"]
