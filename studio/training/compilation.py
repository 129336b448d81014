"""Explains the compiled training step of a project, with canvas nodes instead of lines."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import engine
import studio
from engine import fit
from engine.compiler import CompiledFunction, Explanation, explain
from engine.compiler.explain import explanation_of
from engine.compiler.explanation import SourceLine
from engine.fit.step_functions import StepFunctions
from studio.lowering.program import Program

_OWN = tuple(str(Path(module.__file__ or "").parent) + os.sep for module in (engine, studio))


def explain_step(task: fit.Task, program: Program, *, repeat: int = 5, wait: bool = True) -> Explanation:
    """Compiles the training step and runs it a few times. This trains the task, so pass a separate one.

    Lines name their node; ops that no line of the program calls belong to the optimizers.
    """
    batches = task.setup()
    batch = task.to_device(next(iter(batches.train)))
    for module in task.modules.values():
        module.train()
    return relabeled(explain(compiled_step(task), repeat=repeat, wait=wait)(task, batch), task, program)


def compiled_step(task: fit.Task) -> CompiledFunction:
    """The compiled function that runs the training steps of a task."""
    step = StepFunctions(task, compile=True).train
    assert isinstance(step, CompiledFunction)
    return step


def explain_running(task: fit.Task, program: Program) -> Explanation | None:
    """Explains the last training step of a running task; None before the first step.

    No step is run, and the training thread may continue meanwhile. The time of eager mode is unknown.
    """
    if task.step is None or not task.step.last:
        return None
    return relabeled(explanation_of(task.step), task, program)


def relabeled(found: Explanation, task: fit.Task, program: Program) -> Explanation:
    """An explanation with canvas nodes for its lines. Lines of user files stay unchanged."""
    updates = ", ".join(task.optimizers)

    def label(line: SourceLine) -> SourceLine:
        if line.file == program.filename:
            return replace(line, node=program.node_at(line.file, line.number))
        return replace(line, code="", node=updates) if line.file.startswith(_OWN) else line

    return replace(found.relabeled(label), name="training step")


__all__ = ["compiled_step", "explain_running", "explain_step", "relabeled"]
