"""What becomes of a project's training step when it is compiled, told in the words of its canvas."""

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
    """Compiles the training step and runs it some times, which trains the task: give it one of its own.

    Lines name their node; what no line of the program calls is the optimizers' work.
    """
    batches = task.setup()
    batch = task.to_device(next(iter(batches.train)))
    for module in task.modules.values():
        module.train()
    return relabelled(explain(compiled_step(task), repeat=repeat, wait=wait)(task, batch), task, program)


def compiled_step(task: fit.Task) -> CompiledFunction:
    """What a training of the task would run its steps by."""
    step = StepFunctions(task, compile=True).train
    assert isinstance(step, CompiledFunction)
    return step


def explain_running(task: fit.Task, program: Program) -> Explanation | None:
    """What became of the step that a task is being trained by, from its last call; None before the first.

    Nothing is run for it, and the training thread may go on meanwhile. How fast eager mode would be is not known.
    """
    if task.step is None or not task.step.last:
        return None
    return relabelled(explanation_of(task.step), task, program)


def relabelled(found: Explanation, task: fit.Task, program: Program) -> Explanation:
    """With the canvas nodes of its lines. Lines of files that are somebody else's stay what they are."""
    updates = ", ".join(task.optimizers)

    def label(line: SourceLine) -> SourceLine:
        if line.file == program.filename:
            return replace(line, node=program.node_at(line.file, line.number))
        return replace(line, code="", node=updates) if line.file.startswith(_OWN) else line

    return replace(found.relabelled(label), name="training step")


__all__ = ["compiled_step", "explain_running", "explain_step", "relabelled"]
