"""Schedules behind optimizers. Wired in a row, one begins where the one before ends; side by side, all act at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from studio.document.model import End
from studio.document.walk import walk
from studio.lowering import fixes
from studio.lowering.courses import Course, PlannedRow
from studio.lowering.evaluate import SampleSpec
from studio.lowering.flow import Flow
from studio.lowering.graph import Graph
from studio.lowering.rates import Drive
from studio.lowering.report import Problem
from studio.nodes.schedules import ALONE, PER_STEP, PLATEAU, SETTING, is_per_step
from studio.nodes.types import Role


@dataclass(frozen=True, slots=True)
class Row:
    """Schedules that follow each other."""

    nodes: tuple[str, ...]
    milestones: tuple[int, ...]
    """Epochs or steps at which the second and the further ones begin."""
    per_step: bool


def rows(flow: Flow, optimizer: str) -> list[Row]:
    """The schedules of an optimizer, of a graph without errors."""
    return [_row(flow, first) for first in _behind(flow.graph, optimizer)]


def _row(flow: Flow, first: str) -> Row:
    names = list(walk([first], lambda name: _behind(flow.graph, name)[:1]))
    begins = [drive.begins for name in names[1:] if (drive := _drive(flow, name)) is not None]
    milestones = tuple(begin for begin in begins if begin is not None)
    return Row(tuple(names), milestones, _per_step(flow, first))


def courses(flow: Flow) -> dict[str, Course]:
    """By optimizer with schedules: the learning rate that is planned, of a graph without errors."""
    found: dict[str, Course] = {}
    for optimizer in flow.graph.optimized:
        drive = next(iter(flow.facts[optimizer].outputs.values()), None)
        planned = [row for row in rows(flow, optimizer) if flow.graph.types[row.nodes[0]].key != PLATEAU]
        if _behind(flow.graph, optimizer) and isinstance(drive, Drive):
            everything = rows(flow, optimizer)
            nodes = frozenset([optimizer, *(name for row in everything for name in row.nodes)])
            made = tuple(_planned(flow, row) for row in planned)
            found[optimizer] = Course(nodes, drive, made, waits=len(planned) < len(everything))
    return found


def _planned(flow: Flow, row: Row) -> PlannedRow:
    schedules = tuple((flow.graph.types[name], flow.facts[name].arguments.values) for name in row.nodes)
    return PlannedRow(schedules, row.milestones, row.per_step)


def schedule_problems(flow: Flow) -> Iterator[Problem]:
    graph = flow.graph
    for name in graph.having(Role.SCHEDULER):
        facts = flow.facts.get(name)
        if facts is None or not facts.inputs:
            continue
        yield from _followers(graph, name)
        yield from _place(flow, name)
        drive = _drive(flow, name)
        if drive is not None and drive.begins is None:
            yield from _no_begin(flow, name, drive)
        elif facts.arguments.waiting:
            yield from _no_length(flow, name)
        elif facts.outcome.failure:
            yield _refused(flow, name)
        else:
            yield from _length(flow, name)
    for name in graph.optimized:
        yield from _side_by_side(flow, name)


# -- how they are wired -----------------------------------------------------------------------


def _followers(graph: Graph, name: str) -> Iterator[Problem]:
    for other in _behind(graph, name)[1:]:
        message = (
            f"{name} is followed by two schedules. Only one can begin where it ends: wire {other} to "
            f"{graph.driven_by(name) or 'the optimizer'} if both should act at once."
        )
        driven = graph.driven_by(name)
        fix = None if driven is None else fixes.wire_up(End(driven, "optimizer"), End(other, "optimizer"))
        yield Problem("error", "two-followers", message, node=other, fix=fix)


def _place(flow: Flow, name: str) -> Iterator[Problem]:
    before = _before(flow.graph, name)
    if before is None or flow.graph.types[before].role is not Role.SCHEDULER:
        return
    if flow.graph.types[name].key in ALONE:
        message = f"{name} is for the whole training, so it cannot follow {before}. Wire it to the optimizer itself."
        driven = flow.graph.driven_by(name)
        fix = None if driven is None else fixes.wire_up(End(driven, "optimizer"), End(name, "optimizer"))
        yield Problem("error", "schedule-alone", message, node=name, fix=fix)
        return
    unit, own = _unit(flow, before), _unit(flow, name)
    if unit != own:
        is_fixed = flow.graph.types[name].key in PER_STEP
        changed, wanted = (before, own) if is_fixed else (name, unit)
        message = f"{before} counts {unit}s, but {name}, which follows it, {own}s. Let both count the same."
        yield Problem("error", "mixed-counting", message, node=name, fix=fixes.assign(changed, "per", wanted))


def _side_by_side(flow: Flow, optimizer: str) -> Iterator[Problem]:
    firsts = _behind(flow.graph, optimizer)
    if len(firsts) < 2:
        return
    alone = next((name for name in firsts if flow.graph.types[name].key in SETTING), None)
    alone = alone or next((name for name in firsts if _behind(flow.graph, name)), None)
    if alone is not None:
        other = next(name for name in firsts if name != alone)
        message = (
            f"{alone} sets the learning rate of {optimizer} whatever {other} makes of it. Remove one of the two, "
            "or wire them in a row."
        )
        yield Problem("error", "schedules-overrule", message, node=other)


# -- how long they last -----------------------------------------------------------------------


def _no_begin(flow: Flow, name: str, drive: Drive) -> Iterator[Problem]:
    """The one before has no end of its own. Said once, of the first such one."""
    before = str(_before(flow.graph, name))
    earlier = _drive(flow, before)
    if earlier is None or earlier.begins is None:
        return
    total = drive.length.total(per_step=_per_step(flow, before))
    message = f"{before} does not say when {name} begins. Set lasts of {before}: after how many {_unit(flow, before)}s."
    fix = None if total is None else fixes.assign(before, "lasts", max(total // 2, 1))
    yield Problem("error", "missing-parameter", message, node=before, fix=fix)


def _length(flow: Flow, name: str) -> Iterator[Problem]:
    drive, values = _drive(flow, name), flow.facts[name].arguments.values
    total = None if drive is None else drive.length.total(per_step=_per_step(flow, name))
    unit = _unit(flow, name)
    if total is None or drive is None or drive.begins is None:
        return
    if drive.begins >= total:
        message = (
            f"{name} begins after {unit} {drive.begins}, but the training has {total}. Let those before it be shorter."
        )
        yield Problem("warning", "schedule-late", message, node=name)
        return
    explicit = flow.facts[name].arguments.explicit
    asked = values.get("total_steps")
    if "total_steps" in explicit and isinstance(asked, int) and asked < total:
        message = f"{name} is made for {asked} steps, but the training has {total}. Clear total_steps."
        fix = fixes.clear(name, "total_steps", "Let total_steps follow")
        yield Problem("error", "schedule-short", message, node=name, fix=fix)
    half = values.get("T_max")
    if "T_max" in explicit and isinstance(half, int) and not _behind(flow.graph, name) and drive.begins + half < total:
        message = (
            f"{name} is lowest at {unit} {drive.begins + half}, and rises again until {unit} {total}, the last one. "
            "Clear T_max, or take Cosine with restarts."
        )
        yield Problem("warning", "schedule-rises", message, node=name, fix=fixes.clear(name, "T_max", "Clear T_max"))


def _no_length(flow: Flow, name: str) -> Iterator[Problem]:
    drive = _drive(flow, name)
    if drive is None or drive.begins is None or (drive.begins and drive.per_step != _per_step(flow, name)):
        return  # that is said of the one before
    parameter = next(p.name for p in flow.graph.types[name].params if p.from_training)
    unit = _unit(flow, name)
    if any(
        isinstance(value, SampleSpec) and value.is_stream
        for facts in flow.facts.values()
        for value in facts.inputs.values()
    ):
        training = flow.document.training
        why = f"The data are a stream, so nobody knows how many {unit}s the training has."
        ways = [f"{parameter} of {name}"]
        if unit == "step" and training.steps is None and training.accumulate == 1:
            ways.insert(0, "steps of the training")
        elif unit == "epoch":
            ways.insert(0, "per of it to step")
        yield Problem("error", "missing-parameter", f"{why} Set {' or '.join(ways)}.", node=name)
        return
    message = f"How many {unit}s the training has cannot be told from the data before {name}. Set {parameter}."
    yield Problem("error", "missing-parameter", message, node=name)


def _refused(flow: Flow, name: str) -> Problem:
    failure = flow.facts[name].outcome.failure
    fix = fixes.assign(name, "cycle_momentum", value=False) if "cycle_momentum" in failure else None
    return Problem("error", "bad-arguments", f"{name} cannot be made: {failure}", node=name, fix=fix)


# -- looking ----------------------------------------------------------------------------------


def _behind(graph: Graph, name: str) -> list[str]:
    """The schedules that an optimizer or a schedule feeds."""
    readers = (end.node for port in graph.types[name].outputs for end in graph.readers(End(name, port.name)))
    return [reader for reader in readers if graph.types[reader].role is Role.SCHEDULER]


def _before(graph: Graph, name: str) -> str | None:
    end = next(iter(graph.sources(name).values()), None)
    return None if end is None else end.node


def _drive(flow: Flow, name: str) -> Drive | None:
    value = next(iter(flow.facts[name].inputs.values()), None)
    return value if isinstance(value, Drive) else None


def _per_step(flow: Flow, name: str) -> bool:
    return is_per_step(flow.graph.types[name], dict(flow.document.nodes[name].params))


def _unit(flow: Flow, name: str) -> str:
    """What a schedule counts."""
    return "step" if _per_step(flow, name) else "epoch"
