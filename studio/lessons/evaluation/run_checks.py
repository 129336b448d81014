"""Conditions of finished runs and their figures."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import asdict

from studio.document.model import Json, Node
from studio.lessons.conditions import (
    FigureIs,
    RunExists,
)
from studio.lessons.evaluation.comparisons import (
    equal,
    figure_name,
    label,
    number_text,
    range_text,
    result,
    setting_title,
    value_text,
    within,
)
from studio.lessons.feedback import Feedback
from studio.lessons.graph_view import GraphView, plain
from studio.lessons.situation import MeasuredRun, Situation
from studio.nodes.catalogue import catalogue


def check_figure(condition: FigureIs, situation: Situation, graph: GraphView) -> Feedback:
    goal = (
        f"The {condition.which} {figure_name(condition.figure)} is {range_text(condition.at_least, condition.at_most)}"
    )
    if (missing := _no_current_run(situation)) is not None:
        return replace(missing, goal=goal)
    run = situation.last_run
    assert run is not None
    value = figure_of(run, condition.figure, condition.which)
    if value is None:
        known = ", ".join(sorted(run.figures)) or "none"
        is_wrong = f"The last run has no figure {condition.figure}; it has {known}."
        return Feedback(is_met=False, goal=goal, found=is_wrong, action="Add the metric, and run again.")
    is_met = within(value, condition.at_least, condition.at_most)
    return result(is_met, goal, f"It is {number_text(value)}.", "Change the network or its training, and run again.")


def figure_of(run: MeasuredRun, figure: str, which: str) -> float | None:
    """A figure of a run; the best loss is the lowest one, the best of other figures the highest."""
    values = run.figures.get(figure, ())
    if not values:
        return None
    if which == "best":
        return min(values) if "loss" in figure or "error" in figure else max(values)
    return values[0] if which == "first" else values[-1]


def check_run(condition: RunExists, situation: Situation, graph: GraphView) -> Feedback:
    wanted = [f"{label(ref.rpartition('.')[2])} {value_text(value)}" for ref, value in condition.params.items()]
    wanted += [f"{setting_title(name)} {value_text(value)}" for name, value in condition.settings.items()]
    wanted += [] if condition.epochs is None else [f"at least {condition.epochs} epochs"]
    breaks = _breaks(condition)
    wanted += [breaks] if breaks else []
    end = "was resumed" if condition.resumed else "has finished"
    goal = f"{'The last' if condition.only_last else 'A'} run {end}{' with ' if wanted else ''}{', '.join(wanted)}"
    is_plain = not wanted and not condition.resumed
    if (is_plain or condition.only_last) and (missing := _no_current_run(situation)) is not None:
        return replace(missing, goal=goal)
    if is_plain:
        stopped = _stopped_run(situation)
        return Feedback(is_met=True, goal=goal) if stopped is None else replace(stopped, goal=goal)
    count = sum(_matches(run, condition) for run in situation.runs[-1 if condition.only_last else 0 :])
    if count >= condition.at_least:
        return Feedback(is_met=True, goal=goal)
    if condition.only_last and breaks:
        return Feedback(is_met=False, goal=goal, found=_found_breaks(situation), action="Change that, and press Run.")
    if condition.resumed:
        is_wrong = f"No run{' with these values' if wanted else ''} was resumed."
        action = "Select a run in the Runs panel, and press Resume in its details."
        return Feedback(is_met=False, goal=goal, found=is_wrong, action=action)
    is_wrong = "There is no finished run with these values." if not count else f"There is only {count}."
    return Feedback(is_met=False, goal=goal, found=is_wrong, action="Set them, and press Run.")


def _breaks(condition: RunExists) -> str:
    """The number of graph breaks that a condition asks for, in words; empty for any."""
    least, most = condition.least_graph_breaks, condition.most_graph_breaks
    if least is None and most is None:
        return ""
    if most == 0:
        return "no graph break in its compiled steps"
    if (least, most) == (1, None):
        return "a graph break in its compiled steps"
    return f"{range_text(least, most)} graph breaks in its compiled steps"


def _found_breaks(situation: Situation) -> str:
    """What the last run had of graph breaks, as a sentence."""
    run = situation.last_run
    if run is None or run.graph_breaks is None:
        return "The last run did not compile its steps."
    if not run.graph_breaks:
        return "The last run had no graph break."
    return f"The last run had {run.graph_breaks} graph break{'s' if run.graph_breaks > 1 else ''} in each step."


def _no_current_run(situation: Situation) -> Feedback | None:
    run = situation.last_run
    if run is None:
        return Feedback(is_met=False, goal="", found="No run has finished yet.", action="Press Run.")
    if not run.trained(situation.document):
        is_wrong = "The project was changed after the last run."
        return Feedback(is_met=False, goal="", found=is_wrong, action="Press Run again.")
    return None


def _stopped_run(situation: Situation) -> Feedback | None:
    run = situation.last_run
    if run is None or run.is_complete:
        return None
    is_wrong = "The last run was stopped before its end."
    return Feedback(is_met=False, goal="", found=is_wrong, action="Press Run, and wait until it is done.")


def _matches(run: MeasuredRun, condition: RunExists) -> bool:
    if not run.is_complete:
        return False
    settings = asdict(run.document.training)
    if any(not equal(settings.get(name), value) for name, value in condition.settings.items()):
        return False
    for ref, value in condition.params.items():
        node, _, param = ref.rpartition(".")
        found = run.document.nodes.get(node)
        if found is None or not equal(_set_or_default(found, param), value):
            return False
    if condition.resumed and not run.is_resumed:
        return False
    if _breaks(condition) and (
        run.graph_breaks is None
        or not within(run.graph_breaks, condition.least_graph_breaks, condition.most_graph_breaks)
    ):
        return False
    return condition.epochs is None or run.epochs >= condition.epochs


def _set_or_default(node: Node, param: str) -> Json:
    """The value of a parameter in a document. The window removes values that are the default."""
    declared = catalogue()[node.type].param(param) if node.type in catalogue() else None
    return node.params.get(param, None if declared is None else plain(declared.default))


__all__ = ["check_figure", "check_run", "figure_of"]
