"""Check a lesson for its author, and a student's project for a teacher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from studio.document.model import Document
from studio.lessons.conditions import SelectionIs
from studio.lessons.evaluation.evaluate import evaluate_step
from studio.lessons.feedback import Feedback
from studio.lessons.glossary import meanings
from studio.lessons.graph_view import GraphView
from studio.lessons.lesson import Lesson, Step
from studio.lessons.situation import MeasuredRun, Situation, value_reader
from studio.lessons.solution_player import PlayedStep, Player
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue


@dataclass(frozen=True, slots=True)
class StepCheck:
    """What is wrong with a step of a lesson."""

    step: Step
    problems: tuple[str, ...]


def lesson_problems(lesson: Lesson) -> tuple[str, ...]:
    """What is wrong with a lesson as a whole: terms without a meaning, and locked nodes that do not exist."""
    known = meanings(lesson)
    found = [
        f'The term "{term}" is not in the glossary. Give its meaning in "terms", or correct it.'
        for term in lesson.terms
        if term not in known
    ]
    nodes = GraphView(check(lesson.document, catalogue())).nodes
    found += [
        f'The locked node "{path}" does not exist. Correct "locked".' for path in lesson.locked if path not in nodes
    ]
    return tuple(found)


def check_steps(lesson: Lesson, folder: Path, *, trusts_code: bool = False) -> Iterator[StepCheck]:
    """Play the solution, and return what is wrong with each step.

    Args:
        folder: where runs are written
        trusts_code: let this process execute the Python code of the lesson
    """
    player = Player(lesson.document, folder, lesson.locked, trusts_code=trusts_code)
    return (check_step(step, player) for step in lesson.all_steps)


def check_step(step: Step, player: Player) -> StepCheck:
    """Play the solution of the next step, and return what is wrong with it."""
    missing = [f'It points at the node "{name}", which does not exist.' for name in _missing(step, player)]
    return StepCheck(step, (*missing, *_played_problems(player.play(step))))


def _missing(step: Step, player: Player) -> list[str]:
    graph = GraphView(player.situation().report)
    return [ref for ref in step.nodes if not graph.find(ref)]


def _played_problems(played: PlayedStep) -> Iterator[str]:
    step = played.step
    if not played.was_open:
        yield "Its conditions are met before its solution. Add a condition that fails."
    if played.error:
        yield f"Its solution fails: {played.error}"
    for found in played.after:
        if not found.is_met:
            yield f'Its solution does not meet "{found.goal}": {found.text}'
    if step.solution and step.is_read_only:
        yield "It has a solution but neither conditions nor a prediction."
    if step.conditions and not step.hints:
        yield "It has conditions but no hints."


def evaluate_project(
    lesson: Lesson, document: Document, runs: tuple[MeasuredRun, ...], base: Path | None
) -> Iterator[tuple[Step, tuple[Feedback, ...]]]:
    """The feedback on a student's project for each step with conditions, without those on the selection.

    Args:
        base: folder of the project file
    """
    report = check(document, catalogue(), base=base)
    situation = Situation(document, report, runs, value=value_reader(report, runs))
    for step in lesson.all_steps:
        conditions = tuple(each for each in step.conditions if not isinstance(each, SelectionIs))
        if conditions:
            yield step, evaluate_step(replace(step, conditions=conditions), situation)


__all__ = ["StepCheck", "check_step", "check_steps", "evaluate_project", "lesson_problems"]
