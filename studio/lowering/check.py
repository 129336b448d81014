"""Checks a document: everything that can be known of a run before it begins."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from studio.document.model import Document
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import Evaluator
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.checks.common_mistakes import graph_mistakes, value_mistakes
from studio.lowering.checks.data_source_checks import data_problems
from studio.lowering.checks.data_split_checks import division_problems
from studio.lowering.checks.memory_check import capacity_problems
from studio.lowering.checks.parameter_checks import parameter_problems
from studio.lowering.checks.schedule_checks import schedule_problems
from studio.lowering.checks.shape_checks import shape_problems
from studio.lowering.checks.structure_checks import structure_problems
from studio.lowering.checks.training_goal_checks import goal_problems, trainable_layers, trained_layers
from studio.lowering.problems.fix_conflicts import distinct
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.lowering.schedules.schedule_chains import learning_rate_plans
from studio.nodes.catalogue import Catalogue

WHOLE_GRAPH = frozenset({"cycle", "stray-wire"})
"""Errors that stop a run wherever they are; other errors only matter at nodes that the run uses."""


class Checker:
    """Checks documents one after the other. What an edit did not touch is taken over from the check before."""

    def __init__(self) -> None:
        self.evaluator = Evaluator()
        self._lock = threading.Lock()
        self._flow: Dataflow | None = None
        self._base: Path | None = None
        self._structural: tuple[Problem, ...] = ()
        """Of the last flow's graph."""

    def examine(self, document: Document, catalogue: Catalogue, base: Path | None = None) -> tuple[Dataflow, Report]:
        """The facts and what they come to. Safe to call from any thread."""
        with self._lock:
            flow = self._follow(document, catalogue, base)
            return flow, self._report(flow)

    def _follow(self, document: Document, catalogue: Catalogue, base: Path | None) -> Dataflow:
        previous = self._flow if self._base == base else None
        if self._flow is not None and self._flow.graph.fits(document, catalogue):
            graph = self._flow.graph
        else:
            graph = NodeGraph(document, catalogue)
            self._structural = (*structure_problems(graph), *graph_mistakes(graph))
        self._flow, self._base = Dataflow(document, graph, self.evaluator, base, previous), base
        return self._flow

    def _report(self, flow: Dataflow) -> Report:
        found = [
            *goal_problems(flow),
            *self._structural,
            *parameter_problems(flow),
            *shape_problems(flow),
            *data_problems(flow),
            *capacity_problems(flow),
            *division_problems(flow),
            *schedule_problems(flow),
            *value_mistakes(flow),
        ]
        problems = [_weighed(problem, flow.graph) for problem in found]
        sound = not any(problem.severity == "error" for problem in problems)
        labels = {
            wire: flow.facts[wire.source.node].labels for wire in flow.document.wires if wire.source.node in flow.facts
        }
        return Report(
            problems=tuple(distinct(sorted(problems, key=lambda problem: problem.severity), flow.document)),
            nodes={name: facts.info for name, facts in flow.facts.items()},
            wires={wire: texts[wire.source.port] for wire, texts in labels.items() if wire.source.port in texts},
            trainable={name: tuple(trainable_layers(flow, name)) for name in flow.graph.optimized},
            trained={name: tuple(trained_layers(flow, name)) for name in flow.graph.optimized},
            learning_rate_plans=learning_rate_plans(flow) if sound else {},
        )


def _weighed(problem: Problem, graph: NodeGraph) -> Problem:
    """Once it is clear what a run uses, an error at a node that is left out does not stop it: it becomes a warning."""
    left_out = problem.node in graph.types and problem.node not in graph.needed
    if problem.severity == "error" and graph.optimized and left_out and problem.code not in WHOLE_GRAPH:
        return replace(problem, severity="warning")
    return problem


_CHECKER = Checker()
examine = _CHECKER.examine


def check(document: Document, catalogue: Catalogue, base: Path | None = None) -> Report:
    """What is wrong with a document, what flows through its wires, and figures for its nodes. Never raises.

    Args:
        base: the folder of the project file, where relative paths begin
    """
    return examine(document, catalogue, base)[1]
