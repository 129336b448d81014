"""Finds the training step at which a project or a run fails, with its batch and the state before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import Tensor, fit, random
from engine.fit.task_state import copy_tensors, save_task
from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue
from studio.training.diagnosis.divergence import FACTOR
from studio.training.reproduction.failure_sign import FailureSign, error_sign, failure_of, is_finite
from studio.training.run_settings import resolve_device
from studio.training.runs.run_checkpoints import list_checkpoints, read_checkpoint
from studio.training.stepping.task_copy import StepState

MAX_STEPS = 10_000
"""Steps that are trained by default to find the failure."""


class ReproductionError(Exception):
    """There is no failure to reproduce, or it cannot be reproduced. The text is for the user."""


@dataclass(frozen=True)
class FailingStep:
    """A training step that fails, and everything that it depends on."""

    report: Report
    program: Program
    task: fit.Task
    """A task of the program, whose data the step uses."""
    state: StepState
    sign: FailureSign


@dataclass(frozen=True, slots=True)
class Searching:
    """Training steps that did not fail."""

    step: int


class _Recorder:
    """Copies the state before each training step."""

    def __init__(self, task: fit.Task) -> None:
        self._task = task
        self._losses = task.losses
        self.step = 0
        self.state: StepState | None = None

    def losses(self, batch: Any) -> Mapping[Any, Tensor]:
        if self._task.model.training:
            stream = random.get_rng_state()
            self.state = StepState(save_task(self._task), stream, copy_tensors(batch), self.step)
        return self._losses(batch)


def find_failing_step(
    document: Document,
    catalogue: Catalogue,
    *,
    base: Path | None = None,
    name: str | None = None,
    seed: int | None = None,
    run: Path | None = None,
    max_steps: int = MAX_STEPS,
) -> Iterator[Searching | FailingStep]:
    """Train until a step fails. Yields progress, then the failing step as the last item.

    Args:
        base: folder that relative paths start from
        seed: overrides the document's
        run: folder of a run of the document: the search begins with its newest checkpoint whose weights are finite
        max_steps: number of steps after which the search ends

    Raises:
        ReproductionError: no step fails, or reading the data fails.
        LoweringError: the document has errors.
    """
    report = check(document, catalogue, base)
    program = lower(report, name)
    training = document.training
    seed = training.seed if seed is None else seed
    task = program.build(resolve_device(training.device), seed)
    recorder = _Recorder(task)
    vars(task)["losses"] = recorder.losses
    loop = _training(task, training, max_steps, None if run is None else _usable_checkpoint(run))
    first: dict[str, float] = {}
    try:
        while True:
            try:
                event = next(loop, None)
            except Exception as error:  # noqa: BLE001 - the failure that is looked for
                yield _failed(report, program, task, recorder.state, error_sign(error, program), error)
                return
            if event is None or isinstance(event, fit.Done):
                break
            if isinstance(event, fit.Step):
                recorder.step = event.step
                if _has_failed(task, event, first):
                    yield _failed(report, program, task, recorder.state, None, None)
                    return
                yield Searching(event.step)
    finally:
        loop.close()
    raise ReproductionError(
        f"No training step fails within {recorder.step:,} steps: no exception, and all values are finite. "
        "Train longer with --steps, or pass the run that failed."
    )


def _training(task: fit.Task, training: Any, max_steps: int, state: Mapping[str, Any] | None) -> fit.Training:
    epochs = training.epochs if training.steps is None else None
    steps = max_steps if training.steps is None else min(max_steps, training.steps)
    loop = fit.fit(
        task,
        epochs=epochs,
        steps=steps,
        validate_epochs=training.validate_epochs,
        validate_steps=training.validate_steps,
        follow=training.follow,
        compile=False,
    )
    if state is not None:
        loop.load_state_dict(state)
    return loop


def _usable_checkpoint(run: Path) -> Mapping[str, Any] | None:
    """The training state of the newest checkpoint with finite weights; None to start from the first step."""
    for _, path in list_checkpoints(run):
        state = read_checkpoint(path)["training"]
        if all(is_finite(value) for value in state["task"]["modules"]["model"].values()):
            return state
    return None


def _has_failed(task: fit.Task, event: fit.Step, first: dict[str, float]) -> bool:
    for name, loss in event.losses.items():
        if not loss <= FACTOR * max(abs(first.setdefault(name, loss)), 1.0):
            return True
    return not event.finite or not all(
        is_finite(parameter) for module in task.modules.values() for parameter in module.parameters()
    )


def _failed(
    report: Report,
    program: Program,
    task: fit.Task,
    state: StepState | None,
    sign: FailureSign | None,
    error: Exception | None,
) -> FailingStep:
    flow = report.checked
    if state is None or (sign is not None and sign.node in flow.graph.types and _is_data(report, sign.node)):
        text = "" if sign is None else str(sign)
        raise ReproductionError(f"Reading the data fails, so there is no batch to reduce. {text}") from error
    vars(task).pop("losses", None)
    found = failure_of(flow, program, task, state)
    if found is None:
        raise ReproductionError(
            f"Step {(state.step or 0) + 1:,} fails in the run, but not when it is repeated. "
            "It may depend on a state that Python nodes change, or on the time. Check the Python nodes."
        ) from error
    return FailingStep(report, program, task, state, found)


def _is_data(report: Report, node: str) -> bool:
    role = report.checked.graph.types[node].role
    return role.name in ("SOURCE", "TRANSFORM", "DIVISION", "LOADER")


__all__ = ["MAX_STEPS", "FailingStep", "ReproductionError", "Searching", "find_failing_step"]
