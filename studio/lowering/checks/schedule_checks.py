"""Schedules behind optimizers. Wired in a row, one begins where the one before ends; side by side, all act at once."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.lowering.schedules.schedule_chains import (
    context_of,
    counting_unit,
    counts_steps,
    node_before,
    schedules_behind,
)
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes.schedule_nodes import ALONE, PER_STEP, SETTING
from studio.nodes.types import Role


def schedule_problems(flow: Dataflow) -> Iterator[Problem]:
    graph = flow.graph
    for name in graph.with_role(Role.SCHEDULER):
        facts = flow.facts.get(name)
        if facts is None or not facts.inputs:
            continue
        yield from _followers(graph, name)
        yield from _check_placement(flow, name)
        context = context_of(flow, name)
        if context is not None and context.begins is None:
            yield from _no_begin(flow, name, context)
        elif facts.arguments.waiting:
            yield from _no_length(flow, name)
        elif facts.outcome.failure:
            yield _refused(flow, name)
        else:
            yield from _length(flow, name)
    for name in graph.optimized:
        yield from _side_by_side(flow, name)


# -- how they are wired -----------------------------------------------------------------------


def _followers(graph: NodeGraph, name: str) -> Iterator[Problem]:
    for other in schedules_behind(graph, name)[1:]:
        message = (
            f"{name} is followed by two schedules but only one can start when it ends. Wire {other} to "
            f"{graph.driven_by(name) or 'the optimizer'} to run both at once."
        )
        driven = graph.driven_by(name)
        fix = (
            None if driven is None else quick_fixes.wire_up(Endpoint(driven, "optimizer"), Endpoint(other, "optimizer"))
        )
        yield Problem("error", "two-followers", message, node=other, fix=fix)


def _check_placement(flow: Dataflow, name: str) -> Iterator[Problem]:
    before = node_before(flow.graph, name)
    if before is None or flow.graph.types[before].role is not Role.SCHEDULER:
        return
    if flow.graph.types[name].key in ALONE:
        message = f"{name} covers the whole training, so it cannot follow {before}. Wire it to the optimizer."
        driven = flow.graph.driven_by(name)
        fix = (
            None if driven is None else quick_fixes.wire_up(Endpoint(driven, "optimizer"), Endpoint(name, "optimizer"))
        )
        yield Problem("error", "schedule-alone", message, node=name, fix=fix)
        return
    unit, own = counting_unit(flow, before), counting_unit(flow, name)
    if unit != own:
        is_fixed = flow.graph.types[name].key in PER_STEP
        changed, wanted = (before, own) if is_fixed else (name, unit)
        message = (
            f"{before} counts {unit}s but {name}, which follows it, counts {own}s. Set per of both to the same unit."
        )
        yield Problem("error", "mixed-counting", message, node=name, fix=quick_fixes.assign(changed, "per", wanted))


def _side_by_side(flow: Dataflow, optimizer: str) -> Iterator[Problem]:
    firsts = schedules_behind(flow.graph, optimizer)
    if len(firsts) < 2:
        return
    alone = next((name for name in firsts if flow.graph.types[name].key in SETTING), None)
    alone = alone or next((name for name in firsts if schedules_behind(flow.graph, name)), None)
    if alone is not None:
        other = next(name for name in firsts if name != alone)
        message = (
            f"{alone} sets the learning rate of {optimizer} and overrides {other}. Remove one of the two, "
            "or wire one after the other."
        )
        yield Problem("error", "schedules-overrule", message, node=other)


# -- how long they last -----------------------------------------------------------------------


def _no_begin(flow: Dataflow, name: str, context: ScheduleContext) -> Iterator[Problem]:
    """The previous schedule has no length. Reported only for the first such schedule."""
    before = str(node_before(flow.graph, name))
    earlier = context_of(flow, before)
    if earlier is None or earlier.begins is None:
        return
    total = context.length.total(per_step=counts_steps(flow, before))
    message = (
        f"{name} starts when {before} ends, but {before} has no length. "
        f"Set lasts of {before} to a number of {counting_unit(flow, before)}s."
    )
    fix = None if total is None else quick_fixes.assign(before, "lasts", max(total // 2, 1))
    yield Problem("error", "missing-parameter", message, node=before, fix=fix)


def _length(flow: Dataflow, name: str) -> Iterator[Problem]:
    context, values = context_of(flow, name), flow.facts[name].arguments.values
    total = None if context is None else context.length.total(per_step=counts_steps(flow, name))
    unit = counting_unit(flow, name)
    if total is None or context is None or context.begins is None:
        return
    if context.begins >= total:
        message = (
            f"{name} starts after {unit} {context.begins}, but training ends after {unit} {total}. "
            "Shorten the schedules before it."
        )
        yield Problem("warning", "schedule-late", message, node=name)
        return
    explicit = flow.facts[name].arguments.explicit
    asked = values.get("total_steps")
    if "total_steps" in explicit and isinstance(asked, int) and asked < total:
        message = f"{name} is configured for {asked} steps but the training has {total}. Clear total_steps."
        fix = quick_fixes.clear(name, "total_steps", "Compute total_steps from the training length")
        yield Problem("error", "schedule-short", message, node=name, fix=fix)
    half = values.get("T_max")
    if (
        "T_max" in explicit
        and isinstance(half, int)
        and not schedules_behind(flow.graph, name)
        and context.begins + half < total
    ):
        message = (
            f"{name} reaches its minimum at {unit} {context.begins + half} and rises again until the last {unit}, "
            f"{total}. "
            "Clear T_max, or use Cosine annealing with warm restarts."
        )
        yield Problem(
            "warning", "schedule-rises", message, node=name, fix=quick_fixes.clear(name, "T_max", "Clear T_max")
        )


def _no_length(flow: Dataflow, name: str) -> Iterator[Problem]:
    context = context_of(flow, name)
    if context is None or context.begins is None or (context.begins and context.per_step != counts_steps(flow, name)):
        return  # that is said of the one before
    parameter = next(p.name for p in flow.graph.types[name].params if p.from_training)
    unit = counting_unit(flow, name)
    if any(
        isinstance(value, SampleSpec) and value.is_stream
        for facts in flow.facts.values()
        for value in facts.inputs.values()
    ):
        training = flow.document.training
        why = f"The data is a stream, so the number of {unit}s is unknown."
        ways = [f"{parameter} of {name}"]
        if unit == "step" and training.steps is None and training.accumulate == 1:
            ways.insert(0, "steps of the training")
        elif unit == "epoch":
            ways.insert(0, "per to step")
        yield Problem("error", "missing-parameter", f"{why} Set {' or '.join(ways)}.", node=name)
        return
    message = f"The number of {unit}s cannot be inferred from the data before {name}. Set {parameter}."
    yield Problem("error", "missing-parameter", message, node=name)


def _refused(flow: Dataflow, name: str) -> Problem:
    failure = flow.facts[name].outcome.failure
    fix = quick_fixes.assign(name, "cycle_momentum", value=False) if "cycle_momentum" in failure else None
    return Problem("error", "bad-arguments", f"{name} cannot be created: {failure}", node=name, fix=fix)
