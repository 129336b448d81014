"""The step that a training would take next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import fit, random
from studio.lowering.program import Program
from studio.lowering.report import Report
from studio.training.stepping.task_copy import StepState, capture_state


@dataclass(frozen=True)
class CapturedStep:
    """The next step of a run, to be recorded on a copy."""

    report: Report
    """The check of the document that is trained."""
    program: Program
    task: fit.Task
    """The task of the run, for copies of it."""
    state: StepState


def capture_step(
    report: Report, program: Program, task: fit.Task, position: tuple[int, int], step: int
) -> CapturedStep:
    """The step after `step` steps. Copies all tensors; the training is unchanged.

    Args:
        position: completed epochs, and batches of the current one
    """
    with random.drawing_from(random.Generator(0)):
        state = capture_state(task, next_batch(task, *position), step)
    return CapturedStep(report, program, task, state)


def next_batch(task: fit.Task, epoch: int, batch: int) -> Any:
    """The batch after `batch` batches of an epoch, on the device of the task; at its end the first of the next one.

    The position of the training in the data does not change.
    """
    loader = task.setup().train
    for first in ((epoch, batch), (epoch + 1, 0)):
        loader.set_epoch(first[0], task.seed, skip=first[1])
        found = next(iter(loader), None)
        if found is not None:
            return task.to_device(found)
    raise ValueError("There is no training batch.")


__all__ = ["CapturedStep", "capture_step", "next_batch"]
