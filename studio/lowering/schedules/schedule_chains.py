"""The chains of learning-rate schedules behind an optimizer, and the learning rates that they plan."""

from __future__ import annotations

from dataclasses import dataclass

from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.schedules.learning_rate_plan import LearningRatePlan, PlannedChain
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes.schedule_nodes import PLATEAU, is_per_step
from studio.nodes.types import Role


@dataclass(frozen=True, slots=True)
class ScheduleChain:
    """Schedules that follow each other."""

    nodes: tuple[str, ...]
    milestones: tuple[int, ...]
    """Epochs or steps at which the second and later schedules start."""
    per_step: bool


def schedule_chains(flow: Dataflow, optimizer: str) -> list[ScheduleChain]:
    """The schedules of an optimizer in a graph without errors."""
    return [_chain(flow, first) for first in schedules_behind(flow.graph, optimizer)]


def _chain(flow: Dataflow, first: str) -> ScheduleChain:
    names = list(walk([first], lambda name: schedules_behind(flow.graph, name)[:1]))
    begins = [context.begins for name in names[1:] if (context := context_of(flow, name)) is not None]
    milestones = tuple(begin for begin in begins if begin is not None)
    return ScheduleChain(tuple(names), milestones, counts_steps(flow, first))


def learning_rate_plans(flow: Dataflow) -> dict[str, LearningRatePlan]:
    """Planned learning rates by optimizer, for optimizers with schedules in a graph without errors."""
    plans: dict[str, LearningRatePlan] = {}
    for optimizer in flow.graph.optimized:
        context = next(iter(flow.facts[optimizer].outputs.values()), None)
        planned = [
            chain for chain in schedule_chains(flow, optimizer) if flow.graph.types[chain.nodes[0]].key != PLATEAU
        ]
        if schedules_behind(flow.graph, optimizer) and isinstance(context, ScheduleContext):
            chains = schedule_chains(flow, optimizer)
            nodes = frozenset([optimizer, *(name for chain in chains for name in chain.nodes)])
            planned_chains = tuple(_planned(flow, chain) for chain in planned)
            plans[optimizer] = LearningRatePlan(
                nodes, context, planned_chains, excludes_plateau=len(planned) < len(chains)
            )
    return plans


def _planned(flow: Dataflow, chain: ScheduleChain) -> PlannedChain:
    schedules = tuple((flow.graph.types[name], flow.facts[name].arguments.values) for name in chain.nodes)
    return PlannedChain(schedules, chain.milestones, chain.per_step)


def schedules_behind(graph: NodeGraph, name: str) -> list[str]:
    """The schedules that an optimizer or a schedule feeds."""
    readers = (end.node for port in graph.types[name].outputs for end in graph.readers(Endpoint(name, port.name)))
    return [reader for reader in readers if graph.types[reader].role is Role.SCHEDULER]


def node_before(graph: NodeGraph, name: str) -> str | None:
    end = next(iter(graph.sources(name).values()), None)
    return None if end is None else end.node


def context_of(flow: Dataflow, name: str) -> ScheduleContext | None:
    value = next(iter(flow.facts[name].inputs.values()), None)
    return value if isinstance(value, ScheduleContext) else None


def counts_steps(flow: Dataflow, name: str) -> bool:
    return is_per_step(flow.graph.types[name], dict(flow.document.nodes[name].params))


def counting_unit(flow: Dataflow, name: str) -> str:
    """The unit that a schedule counts: "step" or "epoch"."""
    return "step" if counts_steps(flow, name) else "epoch"
