"""Evaluate conditions in a situation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from studio.document.model import Json
from studio.lessons.conditions import (
    Condition,
    FigureIs,
    FlagIs,
    NodeExists,
    NoProblems,
    ParameterIs,
    ParametersAre,
    ProblemExists,
    RunExists,
    SelectionIs,
    SettingIs,
    ShapeIs,
    ValueIs,
    WireExists,
)
from studio.lessons.evaluation import graph_checks, run_checks, value_checks
from studio.lessons.feedback import Feedback
from studio.lessons.graph_view import GraphView
from studio.lessons.lesson import Step
from studio.lessons.situation import Situation

_CHECKS: dict[type, Callable[..., Feedback]] = {
    NodeExists: graph_checks.check_node,
    ParameterIs: graph_checks.check_parameter,
    FlagIs: graph_checks.check_flag,
    WireExists: graph_checks.check_wire,
    ShapeIs: graph_checks.check_shape,
    NoProblems: graph_checks.check_no_problems,
    ProblemExists: graph_checks.check_problem,
    ParametersAre: graph_checks.check_parameters,
    SettingIs: graph_checks.check_setting,
    SelectionIs: graph_checks.check_selection,
    FigureIs: run_checks.check_figure,
    RunExists: run_checks.check_run,
    ValueIs: value_checks.check_value,
}


def evaluate(condition: Condition, situation: Situation) -> Feedback:
    """Whether a condition is met, and what to say if not. May compute values: call it off the UI thread."""
    check = cast("Callable[[Condition, Situation, GraphView], Feedback]", _CHECKS[type(condition)])
    found = check(condition, situation, GraphView(situation.report))
    return replace(found, goal=condition.goal or found.goal, override=condition.feedback)


def evaluate_step(step: Step, situation: Situation) -> tuple[Feedback, ...]:
    """The feedback of all conditions of a step, in order."""
    return tuple(evaluate(condition, situation) for condition in step.conditions)


def is_done(step: Step, situation: Situation, answer: Json = None) -> bool:
    """Whether a step is completed: its prediction is answered and its conditions are met."""
    is_answered = step.prediction is None or answer is not None
    return is_answered and all(each.is_met for each in evaluate_step(step, situation))


__all__ = ["evaluate", "evaluate_step", "is_done"]
