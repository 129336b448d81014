"""A copy of a task in its state before a batch, so that recording a step leaves the training untouched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import fit, random
from engine.data.joint_loader import in_order
from engine.fit.task_state import copy_tensors, restore_task, save_task
from studio.lowering.codegen.statement_watching import StatementWatcher
from studio.lowering.program import Program


@dataclass(frozen=True)
class StepState:
    """Everything that a training step depends on: weights, optimizers, random numbers and the batch."""

    task: dict[str, Any]
    """From `save_task`."""
    random: Any
    batch: Any
    step: int | None = None
    """Completed training steps; None without a run."""


def capture_state(task: fit.Task, batch: Any, step: int | None = None) -> StepState:
    """The state of a task between two training steps. Copies all tensors."""
    return StepState(save_task(task), task.stream.get_state(), copy_tensors(batch), step)


def first_state(task: fit.Task) -> StepState:
    """The state of a new task with its first batch in the order of the data."""
    with random.drawing_from(task.stream):
        batches = task.setup()
    return capture_state(task, task.to_device(next(iter(in_order(batches.train)))))


def copy_task(program: Program, like: fit.Task, state: StepState, watcher: StatementWatcher | None = None) -> fit.Task:
    """A task in a given state, which shares only the data with another one."""
    task = program.build(device=like.device, seed=like.seed, watcher=watcher)
    vars(task)["data"] = like.setup
    with random.drawing_from(task.stream):
        task.setup()
    restore_task(task, state.task)
    task.stream.set_state(state.random)
    return task


__all__ = ["StepState", "capture_state", "copy_task", "first_state"]
