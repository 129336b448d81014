"""A training session: one run of a project in a background thread, used by the window and the command line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from engine import fit
from engine.compiler import Explanation
from studio.document.model import Document
from studio.lowering.checks.data.data_source_checks import data_problem
from studio.lowering.problems.problem import Problem
from studio.lowering.program import LoweringError, Program
from studio.lowering.report import Report
from studio.lowering.user_code.code_problems import unobserved_code
from studio.nodes.catalogue import Catalogue
from studio.training.autograd.autograd_snapshot import capture_autograd
from studio.training.breakpoints.breakpoint_hit import BreakpointRecord
from studio.training.breakpoints.breakpoint_monitor import BreakpointMonitor
from studio.training.breakpoints.session_breakpoints import SessionBreakpoints
from studio.training.compilation import explain_running
from studio.training.data.data_inspector import DataInspector
from studio.training.diagnosis.divergence import LOSS_PROBLEMS
from studio.training.diagnosis.run_diagnosis import RunDiagnosis
from studio.training.environment_record import fingerprints, machine_info, package_versions
from studio.training.event_queue import EventQueue
from studio.training.failures import failure_event
from studio.training.planned_program import PlannedProgram
from studio.training.prediction import all_splits
from studio.training.profiling.session_profiler import SessionProfiler
from studio.training.run_settings import Device, resolve_settings, with_run_length
from studio.training.runs import run_resuming
from studio.training.runs.run_record import create_run_folder
from studio.training.runs.run_recorder import RunRecorder
from studio.training.runs.run_resuming import ResumedRun
from studio.training.session_events import (
    AutogradCaptured,
    BreakpointsHit,
    Measured,
    SessionEvent,
    State,
    StateChanged,
    Warned,
)
from studio.training.statistics.run_measurement import RunMeasurement
from studio.training.statistics.step_measurement import StepMeasurer
from studio.training.stepping.captured_step import CapturedStep, capture_step
from studio.training.thread_requests import ThreadRequests, result_of
from studio.training.warning_capture import capture_warnings
from studio.training.weights.weight_import import chosen_weights, load_initial_weights

T = TypeVar("T")

_JOIN_SECONDS = 1.0
"""Timeout for joining a thread that has finished its work."""


class TrainingSession:
    """Train a document once.

    States: "idle", then "running" and "paused", then "done", "stopped" or "failed". Each change is an event.

    Args:
        document: what to train
        catalogue: the node types
        base: folder of the project file, to which relative paths refer
        out: the run folder, created if missing; without `out` and `runs`, nothing is written
        runs: the folder of the project's runs, in which a new run folder is created
        name: the project's name, used for the generated classes
        label: name of the run in lists (default: its number)
        resume: the run to resume, with its graph and settings; only `epochs` and `steps` can change
        start_from: a run, checkpoint or weights file from which matching weights are loaded; replaces the document's
        get_report: returns the check of the document, called in the training thread; without it the session checks
        epochs: overrides the document's; unlimited if only `steps` is given
        steps: number of batches after which training stops
        device: overrides the document's
        seed: overrides the document's
        compile: compile training steps; overrides the document's
        probe_steps: batches between measurements of all tensors, 0 for never; overrides the document's
        inspects_data: look at samples when the run starts, and warn of their problems
        breakpoints: conditions at which the session pauses, and whether each is enabled; replaces the document's
    """

    def __init__(
        self,
        document: Document,
        catalogue: Catalogue,
        *,
        base: Path | None = None,
        out: Path | None = None,
        runs: Path | None = None,
        name: str | None = None,
        label: str | None = None,
        resume: ResumedRun | None = None,
        start_from: Path | None = None,
        get_report: Callable[[], Report] | None = None,
        epochs: int | None = None,
        steps: int | None = None,
        device: Device | None = None,
        seed: int | None = None,
        compile: bool | None = None,
        probe_steps: int | None = None,
        inspects_data: bool = True,
        breakpoints: Mapping[str, bool] | None = None,
    ) -> None:
        self.document = document
        self.folder = out if resume is None else resume.folder
        """The run folder; set once the run has started."""
        self._catalogue = catalogue
        self._runs = runs
        self._name = name
        self._resume = resume
        self._initial_weights = chosen_weights(document, base, start_from)
        self._inspects_data = inspects_data
        known = {} if resume is None else resume.settings
        self.settings = resolve_settings(
            document.training,
            known,
            epochs=epochs,
            steps=steps,
            device=device,
            seed=seed,
            compile=compile,
            probe_steps=probe_steps,
        )
        planned = with_run_length(document, self.settings, known)
        self._planned = PlannedProgram(planned, catalogue, base=base, name=name, get_report=get_report)
        self._events: EventQueue[SessionEvent] = EventQueue(
            is_droppable=lambda event: isinstance(event, (fit.Step, Measured)),
            is_transient=lambda event: isinstance(event, fit.ValidationStep),
        )
        self._state: State = "idle"
        self._requested: Literal["run", "step", "pause", "stop"] = "run"
        self._autograd_requested = False
        self._requests = ThreadRequests()
        """Calls that other threads wait for."""
        self.profiler = SessionProfiler(self._events.put)
        """Profiles steps on request."""
        self._position = (0, 0)  # completed epochs, and batches of the current one
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._task: fit.Task | None = None
        self._training: fit.Training | None = None
        self._recorder = RunRecorder(document, self.settings, label)
        self.steps = 0
        """Completed training steps, including those before a resume. Thread-safe."""
        self.unwritten: tuple[str, ...] = ()
        """Files of the finished run that could not be written."""
        self._reached = (0, 0.0)
        self._breakpoints = SessionBreakpoints(
            document.breakpoints if breakpoints is None else breakpoints,
            lambda problem: self._events.put(Warned(problem)),
        )
        self._diagnosis: RunDiagnosis | None = None
        self._problems: list[Problem] = []
        """Problems that the run has shown."""
        self._data_problems: tuple[Problem, ...] = ()

    # -- for observers, from any thread

    @property
    def program(self) -> Program | None:
        """The program that is trained; None before it is needed."""
        return self._planned.program

    @property
    def state(self) -> State:
        with self._changed:  # the event of a state is queued before the state is visible
            return self._state

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "stopped", "failed")

    def events(self, timeout: float = 0.0) -> list[SessionEvent]:
        """Events since the last call, oldest first; waits up to `timeout` seconds for the first.

        If many batches were trained between two calls, some step events are dropped. Other events are never dropped.
        """
        return self._events.take(timeout)

    def start(self) -> None:
        """Start, or continue after a pause."""
        self._request("run")

    resume = start

    def pause(self) -> None:
        """Pause after the current batch."""
        self._request("pause")

    def step(self) -> None:
        """Train one batch, then pause. Starts the run if necessary."""
        self._request("step")

    def stop(self) -> None:
        """Stop after the current batch and save the weights."""
        if self._state != "idle":
            self._request("stop")

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the run to end. Returns False on timeout, in seconds."""
        if self._thread is None:
            return True
        # Not Thread.join: interrupted by Ctrl+C, Python 3.11 marks the thread as ended.
        if not self._ended.wait(timeout):
            return False
        self._thread.join(_JOIN_SECONDS)
        return True

    def set_breakpoints(self, breakpoints: Mapping[str, bool]) -> None:
        """Replace the breakpoints, from any thread; they apply from the next batch on."""
        self._breakpoints.replace(breakpoints)

    def capture_autograd(self) -> None:
        """Request the autograd graph of one step, also before or after a run. An AutogradCaptured event returns it."""
        with self._changed:
            self._autograd_requested = True
            if self._thread is not None and not self.is_over:
                self._changed.notify_all()
                return
        threading.Thread(target=self._capture_without_run, name="gradwire-look", daemon=True).start()

    def step_seconds(self) -> float | None:
        """Duration of the last compiled training step; None before the first. Thread-safe."""
        step = None if self._task is None else self._task.step
        return None if step is None else step.seconds

    def copy_weights(self, timeout: float) -> tuple[int, dict[str, Any]] | None:
        """The number of completed steps, and a copy of the weights after the last one.

        Waits for the current batch. None before the first batch and after `timeout` seconds. Call it in any thread
        but that of the window.
        """
        if self._task is None or not self.steps:
            return None
        return self._between_steps(lambda: (self.steps, _copy(self._weights())), timeout)

    def capture_step(self, timeout: float) -> CapturedStep | None:
        """The next training step, with its batch and the state before it. Otherwise as `copy_weights`."""
        program, task = self.program, self._task
        if program is None or task is None:
            return None
        report = self._planned.report()
        return self._between_steps(lambda: capture_step(report, program, task, self._position, self.steps), timeout)

    def _between_steps(self, compute: Callable[[], T], timeout: float) -> T | None:
        """Call a function in the training thread between two steps, or here if no run is active."""
        with self._changed:
            is_active = self._thread is not None and not self.is_over
            future = self._requests.add(compute) if is_active else None
            self._changed.notify_all()
        return compute() if future is None else result_of(future, compute, timeout)

    def explanation(self) -> Explanation | None:
        """Explanation of the compiled training step with canvas node names; None before the first step.

        A fit.CompileState event signals a change. Thread-safe.
        """
        return None if self._task is None or self.program is None else explain_running(self._task, self.program)

    def _request(self, request: Literal["run", "step", "pause", "stop"]) -> None:
        with self._changed:
            if self.is_over:
                return
            self._requested = request
            if self._thread is None and request in ("run", "step"):
                self._enter("running")
                self._thread = threading.Thread(target=self._run, name="gradwire-training", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    # -- in the training thread

    def _run(self) -> None:
        try:
            with capture_warnings(lambda text: self._warn("computing", [text])):
                self._run_to_end()
        finally:
            self._ended.set()

    def _run_to_end(self) -> None:
        ended: State = "failed"
        message: str | None = None
        try:
            task = self._prepare()
            ended = "stopped" if self._train(task) else "done"
        except Exception as error:  # noqa: BLE001 - any error ends the run and is shown at its node
            refused = self._resume is not None and not self._recorder.has_begun
            failure = failure_event(error, self.program, refused=refused)
            message = failure.message
            self._events.put(failure)
        self.profiler.close(self.program, self._name or "project")
        self.unwritten = self._recorder.finish(ended, self._weights, message)
        self._warn("disk", self._recorder.messages())
        with self._changed:
            autograd_requested = self._autograd_requested
            self._enter(ended)
            self._requests.cancel()
        if autograd_requested:
            self._capture_requested_autograd()

    def _prepare(self) -> fit.Task:
        """Create the run folder, read the data and build the model."""
        resume = self._resume
        if resume is not None:
            self._recorder.lock(resume)
        task = self._program().build(device=self.settings.device, seed=self.settings.seed)
        if self.folder is None and self._runs is not None:
            self.folder = create_run_folder(self._runs)
        if resume is None:
            self._begin_record()
        batches = task.setup()
        self._task = task
        self._warn_of_data(task)
        if self._inspects_data:
            self._inspect_data()
        files = fingerprints(batches.files)
        if resume is not None:
            self._check(resume, task, files)
            self._begin_record(resume.position)
        elif self._initial_weights is not None:
            self._warn("start-from", load_initial_weights(self._initial_weights, task))
        self._recorder.describe(versions=package_versions(), machine=machine_info(), data=files)
        return task

    def _begin_record(self, position: Mapping[str, Any] | None = None) -> None:
        if self.folder is not None:
            self._warn("no-lock", self._recorder.begin(self.folder, position))

    def _check(self, resume: ResumedRun, task: fit.Task, files: list[dict[str, Any]]) -> None:
        """Raise FileError if the run cannot be resumed."""
        self._warn(
            "resume",
            [*resume.warnings, *run_resuming.schedule_warnings(resume, self.settings.epochs, self._planned.lowered())],
        )
        run_resuming.check_something_left(resume, self.settings.epochs, self.settings.steps)
        if resume.document is not self.document:
            resumed_document = with_run_length(resume.document, self.settings, resume.settings)
            if not self._planned.has_same_source(resumed_document):
                run_resuming.reject_other_graph(resume, task)
        run_resuming.check_same_data(resume, files)

    def _program(self) -> Program:
        try:
            return self._planned.lowered()
        except LoweringError as error:
            if self._resume is not None:
                run_resuming.reject_graph(self._resume, error)
            raise

    def _train(self, task: fit.Task) -> bool:
        """Train to the end. Returns True if training was stopped by request."""
        settings, training_settings = self.settings, self.document.training
        unobserved = unobserved_code(self._planned.report().checked)
        monitor = BreakpointMonitor(
            task,
            self._planned.lowered(),
            self._planned.report().checked.graph,
            self._breakpoints.conditions,
            is_repeatable=not unobserved,
        )
        self._breakpoints.watch_with(monitor)
        measurement = None if unobserved else self._measurement(task)
        training = fit.fit(
            task,
            epochs=settings.epochs,
            steps=settings.steps,
            validate_epochs=training_settings.validate_epochs,
            validate_steps=training_settings.validate_steps,
            follow=training_settings.follow,
            early_stopping=None
            if training_settings.patience is None
            else fit.EarlyStopping(training_settings.patience, training_settings.min_change),
            compile=settings.compile,
            observe=not unobserved,
            rewind=monitor.rewind,
            probe=None if measurement is None else measurement.measurer,
        )
        monitor.attach(training)
        self._training = training
        if unobserved and not any(each.node == unobserved[0].node for each in self._planned.report().problems):
            self._report_problem(unobserved[0])
        self._diagnosis = RunDiagnosis(
            self._planned.report(),
            self._catalogue,
            known=self._data_problems,
            starts_trained=self._resume is not None or self._initial_weights is not None,
            explain=self.explanation,
        )
        if self._resume is not None:
            self._warn(
                "resume",
                run_resuming.restore_checkpoint(training, self._resume, self._planned.document, until=settings.epochs),
            )
            self._position = (training.epoch, training.batch)
        try:
            for event in training:
                if isinstance(event, fit.Done):
                    self._recorder.make_checkpoint(training)
                self._profile(task, event)
                hits = self._breakpoints.check(event)
                self._emit(event, is_recorded=not hits)
                if hits:
                    self._pause_at(hits, training)
                if measurement is not None and isinstance(event, fit.Step):
                    measurement.report()
                self._answer_requests()
                if isinstance(event, fit.Done):
                    break
                is_stopped = self._wait_or_stop(after=event)
                if hits and not is_stopped:
                    training.redo_step()
                    self.steps, self._position = training.step, (training.epoch, training.batch)
                    self._recorder.write_event(event, self._weights)
                if is_stopped:
                    epochs, seconds = self._reached
                    self._recorder.make_checkpoint(training)
                    self._emit(fit.Done(epochs, self.steps, seconds, "stopped"))
                    return True
                self._recorder.make_due_checkpoint(training, after=event)
                self._breakpoints.apply_changes()
        finally:
            training.close()
        return False

    def _profile(self, task: fit.Task, event: fit.TrainingEvent) -> None:
        compiled, name = self.settings.compile, self._name or "project"
        self.profiler.follow(event, task, self._planned.lowered(), self._planned.document, compiled=compiled, name=name)

    def _pause_at(self, records: Sequence[BreakpointRecord], training: fit.Training) -> None:
        """Keep the batch and the state before the step of hits, and pause. The training is in that state."""
        state = {"training": training.state_dict(), "batch": training.last_batch}
        hits = self._breakpoints.written(records, self.folder, state)
        self.steps, self._position = training.step, (training.epoch, training.batch)
        self._events.put(BreakpointsHit(hits))
        with self._changed:
            if self._requested != "stop":
                self._requested = "pause"

    def _measurement(self, task: fit.Task) -> RunMeasurement | None:
        """What measures steps; None if the settings say so."""
        settings = self.settings
        if not settings.probe_steps:
            return None
        losses = self._planned.lowered().measured_losses(task)
        measurer = StepMeasurer(task, losses, settings.probe_steps, compile=settings.compile)
        return RunMeasurement(measurer, self._events.put, self._recorder.write_statistics)

    def _emit(self, event: fit.TrainingEvent, *, is_recorded: bool = True) -> None:
        epochs, seconds = self._reached
        if isinstance(event, fit.Step):
            self.steps, self._reached = event.step, (epochs, seconds + event.seconds)
            self._position = (event.epoch - 1, event.batch)
        elif isinstance(event, (fit.Started, fit.Epoch)):
            self.steps, self._reached = event.step, (event.epoch, seconds)
            self._position = (event.epoch, 0) if isinstance(event, fit.Epoch) else self._position
        self._events.put(event)
        found = () if self._diagnosis is None else self._diagnosis.update(event, self._breakpoints.origin)
        for problem in found:
            self._report_problem(problem)
        if is_recorded:
            self._recorder.write_event(event, self._weights)
        self._warn("disk", self._recorder.messages())

    def _report_problem(self, problem: Problem) -> None:
        """Send a problem that the run has shown, and record it."""
        self._problems.append(problem.within(self.document))
        self._events.put(Warned(self._problems[-1]))
        found = [each.as_dict() for each in self._problems]
        again = {(each["code"], each.get("node")) for each in found}
        before = () if self._resume is None else self._resume.metadata.get("problems") or ()
        kept = [each for each in before if (each.get("code"), each.get("node")) not in again]
        self._recorder.describe(problems=[*kept, *found])
        if problem.code in LOSS_PROBLEMS:
            self._recorder.describe(loss_problem=problem.code, message=problem.message)

    def _warn_of_data(self, task: fit.Task) -> None:
        for part, splits in zip(self._planned.lowered().reading.parts, all_splits(task), strict=True):
            for found in splits.diagnostics(read_all=True):
                self._events.put(Warned(data_problem(part.source, found).within(self.document)))

    def _inspect_data(self) -> None:
        """Warn of problems of the samples that the run trains on."""
        report = self._planned.report()
        found = DataInspector().inspect(report, is_cancelled=lambda: self._requested == "stop")
        known = {(each.code, each.node) for each in report.problems}
        # The run itself names each image that it skips.
        problems = [each for each in found.problems if (each.code, each.node) not in known and each.code != "skipped"]
        looked_at = [part.as_dict() for part in found.looked_at]
        self._recorder.describe(inspection={"looked_at": looked_at, "problems": [each.as_dict() for each in problems]})
        self._data_problems = tuple(problems)
        for problem in problems:
            self._events.put(Warned(problem.within(self.document)))

    def _warn(self, code: str, messages: Iterable[str]) -> None:
        for message in messages:
            self._events.put(Warned(Problem("warning", code, message)))

    def _wait_or_stop(self, *, after: fit.TrainingEvent) -> bool:
        """Wait while paused. Returns True if the run must stop."""
        with self._changed:
            if self._requested == "step" and isinstance(after, fit.Step):
                self._requested = "pause"
            while self._requested == "pause":
                self._enter("paused")
                if self._autograd_requested or self._requests:  # maybe since before the wait
                    self._changed.release()
                    try:
                        self._answer_requests()
                    finally:
                        self._changed.acquire()
                else:
                    self._changed.wait()
            if self._requested == "stop":
                return True
            self._enter("running")
            return False

    def _answer_requests(self) -> None:
        """Answer other threads, and capture the autograd graph if one has asked for it."""
        self._requests.answer()
        self._capture_requested_autograd()

    def _weights(self) -> dict[str, Any]:
        return {} if self._task is None else self._task.model.state_dict()

    def _capture_requested_autograd(self) -> None:
        if self._autograd_requested and self._task is not None and self.program is not None:
            self._autograd_requested = False
            try:
                batch = None if self._training is None else self._training.last_batch
                self._events.put(AutogradCaptured(capture_autograd(self._task, self.program, batch, self.steps)))
            except Exception as error:  # noqa: BLE001 - must not end the run
                self._warn(
                    "no-autograd-graph",
                    [f"The autograd graph could not be captured: {self.program.translate_error(error)}"],
                )

    def _capture_without_run(self) -> None:
        """Capture the autograd graph while no run is active."""
        try:
            if self._task is None:
                settings = self.settings
                task = self._planned.lowered().build(device=settings.device, seed=settings.seed)
                task.setup()
                if self._initial_weights is not None:
                    load_initial_weights(self._initial_weights, task)
                self._task = task
        except Exception as error:  # noqa: BLE001 - reported as an event
            self._events.put(failure_event(error, self.program))
            return
        self._capture_requested_autograd()

    def _enter(self, state: State) -> None:
        if state != self._state:
            self._state = state
            self._events.put(StateChanged(state))


def _copy(weights: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in weights.items()}
