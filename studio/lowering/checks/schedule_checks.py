"""Problems with learning-rate schedules. Chained schedules run one after another; parallel schedules run together."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.checks.optimizers.schedule_curves import schedule_curve_problems
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.schedules.schedule_chains import (
    context_of,
    counting_unit,
    counts_steps,
    node_before,
    schedules_behind,
)
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes.schedule_nodes import ALONE, LENGTHS, PER_STEP, SETTING
from studio.nodes.types import Role


def schedule_problems(flow: Dataflow) -> Iterator[Problem]:
    graph = flow.graph
    for name in graph.with_role(Role.SCHEDULER):
        facts = flow.facts.get(name)
        if facts is None or not facts.inputs:
            continue
        yield from _check_followers(graph, name)
        yield from _check_placement(flow, name)
        context = context_of(flow, name)
        if context is not None and context.begins is None:
            yield from _unknown_start(flow, name, context)
        elif facts.arguments.is_incomplete:
            yield from _unknown_length(flow, name)
        elif facts.outcome.failure:
            yield _construction_problem(flow, name)
        else:
            found = list(_check_length(flow, name))
            yield from found or schedule_curve_problems(flow, name)
    for name in graph.optimized:
        yield from _check_parallel(flow, name)


# -- wiring -----------------------------------------------------------------------------------


def _check_followers(graph: NodeGraph, name: str) -> Iterator[Problem]:
    for other in schedules_behind(graph, name)[1:]:
        message = (
            f"{name} is followed by two schedules but only one can start when it ends. Remove {other}, or connect it "
            f"to {schedules_behind(graph, name)[0]}."
        )
        yield Problem("error", "two-followers", message, node=other, fix=_removed(graph, other))


def _check_placement(flow: Dataflow, name: str) -> Iterator[Problem]:
    previous = node_before(flow.graph, name)
    if previous is None or flow.graph.types[previous].role is not Role.SCHEDULER:
        return
    if flow.graph.types[name].key in ALONE:
        message = f"{name} covers the whole training, so it cannot follow {previous}. Connect it to the optimizer."
        driven = flow.graph.driven_by(name)
        fix = (
            None if driven is None else quick_fixes.wire_up(Endpoint(driven, "optimizer"), Endpoint(name, "optimizer"))
        )
        yield Problem("error", "schedule-alone", message, node=name, fix=fix)
        return
    unit, own_unit = counting_unit(flow, previous), counting_unit(flow, name)
    if unit != own_unit:
        is_fixed = flow.graph.types[name].key in PER_STEP
        changed, expected_unit = (previous, own_unit) if is_fixed else (name, unit)
        message = (
            f"{previous} counts {unit}s but {name}, which follows it, counts {own_unit}s. "
            f"Set per of {changed} to {expected_unit}."
        )
        yield Problem(
            "error", "mixed-counting", message, node=changed, fix=quick_fixes.assign(changed, "per", expected_unit)
        )


def _check_parallel(flow: Dataflow, optimizer: str) -> Iterator[Problem]:
    parallel = schedules_behind(flow.graph, optimizer)
    if len(parallel) < 2:
        return
    overriding = next((name for name in parallel if flow.graph.types[name].key in SETTING), None)
    overriding = overriding or next((name for name in parallel if schedules_behind(flow.graph, name)), None)
    if overriding is not None:
        other = next(name for name in parallel if name != overriding)
        message = (
            f"{overriding} sets the learning rate of {optimizer} and overrides {other}. Remove one of the two, "
            "or connect one after the other."
        )
        yield Problem("error", "schedules-overrule", message, node=other, fix=_removed(flow.graph, other))


def _removed(graph: NodeGraph, name: str) -> Fix:
    """A fix that removes a schedule and those that follow it."""
    return quick_fixes.remove(walk([name], lambda each: schedules_behind(graph, each)), f"Remove {name}")


# -- lengths ----------------------------------------------------------------------------------


def _unknown_start(flow: Dataflow, name: str, context: ScheduleContext) -> Iterator[Problem]:
    """The previous schedule has no length. Reported only for the first such schedule."""
    previous = str(node_before(flow.graph, name))
    previous_context = context_of(flow, previous)
    if previous_context is None or previous_context.begins is None:
        return
    total = context.length.total(per_step=counts_steps(flow, previous))
    message = (
        f"{name} starts when {previous} ends, but {previous} has no length. "
        f"Set lasts of {previous} to a number of {counting_unit(flow, previous)}s."
    )
    fix = None if total is None else quick_fixes.assign(previous, "lasts", max(total // 2, 1))
    yield Problem("error", "missing-parameter", message, node=previous, fix=fix)


def _check_length(flow: Dataflow, name: str) -> Iterator[Problem]:
    context, values = context_of(flow, name), flow.facts[name].arguments.values
    total = None if context is None else context.length.total(per_step=counts_steps(flow, name))
    unit = counting_unit(flow, name)
    if total is None or context is None or context.begins is None:
        return
    if context.begins >= total:
        previous = node_before(flow.graph, name)
        message = (
            f"{name} starts after {unit} {context.begins}, but training ends after {unit} {total}. "
            f"Shorten {previous}, or train longer."
        )
        fix = None if previous is None else _shortened(flow, previous, total)
        yield Problem("warning", "schedule-late", message, node=previous, affected=name, fix=fix)
        return
    explicit = flow.facts[name].arguments.explicit
    total_steps = values.get("total_steps")
    if "total_steps" in explicit and isinstance(total_steps, int) and total_steps < total:
        message = f"{name} is configured for {total_steps} steps but the training has {total}. Clear total_steps."
        fix = quick_fixes.clear(name, "total_steps", "Compute total_steps from the training length")
        yield Problem("error", "schedule-short", message, node=name, fix=fix)
    t_max = values.get("T_max")
    if (
        "T_max" in explicit
        and isinstance(t_max, int)
        and not schedules_behind(flow.graph, name)
        and context.begins + t_max < total
    ):
        message = (
            f"{name} reaches its minimum at {unit} {context.begins + t_max} and rises again until the last {unit}, "
            f"{total}. "
            "Clear T_max, or use Cosine annealing with warm restarts."
        )
        yield Problem(
            "warning", "schedule-rises", message, node=name, fix=quick_fixes.clear(name, "T_max", "Clear T_max")
        )


def _shortened(flow: Dataflow, name: str, total: int) -> Fix | None:
    """A fix after which a schedule takes half of the training that remains when it starts."""
    context, facts = context_of(flow, name), flow.facts[name]
    values = facts.arguments.values
    length = "lasts" if values.get("lasts") else next((each for each in LENGTHS if each in values), None)
    rest = total - (0 if context is None or context.begins is None else context.begins)
    return None if length is None or rest < 2 else quick_fixes.assign(name, length, rest // 2)


def _unknown_length(flow: Dataflow, name: str) -> Iterator[Problem]:
    context = context_of(flow, name)
    if context is None or context.begins is None or (context.begins and context.per_step != counts_steps(flow, name)):
        return  # reported at the previous schedule
    parameter = next(p.name for p in flow.graph.types[name].params if p.from_training)
    unit = counting_unit(flow, name)
    if any(
        isinstance(value, SampleSpec) and value.is_stream
        for facts in flow.facts.values()
        for value in facts.inputs.values()
    ):
        training = flow.document.training
        reason = f"The data is a stream, so the number of {unit}s is unknown."
        remedies = [f"{parameter} of {name}"]
        if unit == "step" and training.steps is None and training.accumulate == 1:
            remedies.insert(0, "steps of the training")
        elif unit == "epoch":
            remedies.insert(0, "per to step")
        yield Problem("error", "missing-parameter", f"{reason} Set {' or '.join(remedies)}.", node=name)
        return
    message = f"The number of {unit}s cannot be inferred from the data. Set {parameter} of {name}."
    yield Problem("error", "missing-parameter", message, node=name)


def _construction_problem(flow: Dataflow, name: str) -> Problem:
    failure = flow.facts[name].outcome.failure
    fix = quick_fixes.assign(name, "cycle_momentum", value=False) if "cycle_momentum" in failure else None
    return Problem("error", "bad-arguments", f"{name} cannot be created: {failure}", node=name, fix=fix)
