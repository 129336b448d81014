"""Recording and verification of one training step of a project or a paused run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine import fit
from engine.fit.task_state import restore_task
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.program import Program
from studio.training.stepping.node_replay import NodeReplay
from studio.training.stepping.step_recorder import StepRecorder
from studio.training.stepping.step_recording import Recording
from studio.training.stepping.step_values import MEMORY_LIMIT, ValueStore
from studio.training.stepping.task_copy import StepState, copy_task


def record_step(
    flow: Dataflow,
    program: Program,
    like: fit.Task,
    state: StepState,
    *,
    limit: int = MEMORY_LIMIT,
    verify: bool = True,
    on_progress: Callable[[], None] = lambda: None,
) -> Recording:
    """Record a training step on a copy of a task.

    Args:
        flow: the dataflow of the checked document
        like: the task to copy
        state: its state before the step, and the batch
        limit: bytes of values to keep
        verify: compute each node again from its recorded inputs
        on_progress: called after each node; raises RecordingCancelledError to end the recording
    """
    recorder = StepRecorder(flow, program, ValueStore(limit), on_progress)
    task = copy_task(program, like, state, recorder)
    recording = replace(recorder.record(task, state.batch), step=state.step)
    if not verify:
        return recording
    restore_task(task, state.task)  # the weights from before the update
    differences: dict[int, float] = {}
    replay = NodeReplay(task, recorder.calls, flow.document.nodes)
    for number, difference in replay.differences(recording.steps):
        differences[number] = difference
        on_progress()
    return replace(recording, differences=differences)


__all__ = ["record_step"]
