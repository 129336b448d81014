"""Checks a document without running it. The report is what Run, the Code panel and the CLI generate programs from."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from studio.document.model import Document
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import NodeEvaluator
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.checks.common_mistakes import graph_mistakes, value_mistakes
from studio.lowering.checks.data_source_checks import data_source_problems
from studio.lowering.checks.data_split_checks import data_split_problems
from studio.lowering.checks.memory_check import memory_problems
from studio.lowering.checks.parameter_checks import parameter_problems
from studio.lowering.checks.schedule_checks import schedule_problems
from studio.lowering.checks.shape_checks import shape_problems
from studio.lowering.checks.structure_checks import structure_problems
from studio.lowering.checks.training_goal_checks import trainable_layers, trained_layers, training_goal_problems
from studio.lowering.problems.fix_conflicts import deduplicate_problems
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.lowering.schedules.schedule_chains import learning_rate_plans
from studio.nodes.catalogue import Catalogue

WHOLE_GRAPH = frozenset({"cycle", "stray-wire"})
"""Errors that prevent any run; others do so only at nodes that the run uses."""


class Checker:
    """Checks successive versions of a document. Results for nodes that an edit did not change are reused.

    Args:
        previous: a report of an earlier version, whose results are reused by the first check
    """

    def __init__(self, previous: Report | None = None) -> None:
        self.evaluator = NodeEvaluator()
        self._lock = threading.Lock()
        self._flow = None if previous is None else previous.dataflow
        self._structural = () if self._flow is None else _graph_problems(self._flow.graph)
        """Problems of the graph of the last check."""

    def check(self, document: Document, catalogue: Catalogue, base: Path | None = None) -> Report:
        """Report problems, shapes and node figures. Never raises; can be called from any thread.

        Args:
            base: the folder that relative paths start from, that of the project file
        """
        with self._lock:
            self._flow = self._analyze(document, catalogue, base)
            return self._report(self._flow)

    def _analyze(self, document: Document, catalogue: Catalogue, base: Path | None) -> Dataflow:
        previous = self._flow
        if previous is not None and previous.graph.fits(document, catalogue):
            graph = previous.graph
        else:
            graph = NodeGraph(document, catalogue)
            self._structural = _graph_problems(graph)
        reusable = previous if previous is not None and previous.base == base else None
        return Dataflow(document, graph, self.evaluator, base, reusable)

    def _report(self, flow: Dataflow) -> Report:
        found = [
            *training_goal_problems(flow),
            *self._structural,
            *parameter_problems(flow),
            *shape_problems(flow),
            *data_source_problems(flow),
            *memory_problems(flow),
            *data_split_problems(flow),
            *schedule_problems(flow),
            *value_mistakes(flow),
        ]
        problems = [_weighed(problem, flow.graph) for problem in found]
        sound = not any(problem.severity == "error" for problem in problems)
        labels = {
            wire: flow.facts[wire.source.node].labels for wire in flow.document.wires if wire.source.node in flow.facts
        }
        return Report(
            problems=tuple(deduplicate_problems(sorted(problems, key=lambda problem: problem.severity), flow.document)),
            nodes={name: facts.info for name, facts in flow.facts.items()},
            wires={wire: texts[wire.source.port] for wire, texts in labels.items() if wire.source.port in texts},
            trainable={name: tuple(trainable_layers(flow, name)) for name in flow.graph.optimized},
            trained={name: tuple(trained_layers(flow, name)) for name in flow.graph.optimized},
            learning_rate_plans=learning_rate_plans(flow) if sound else {},
            dataflow=flow,
        )


def _graph_problems(graph: NodeGraph) -> tuple[Problem, ...]:
    return (*structure_problems(graph), *graph_mistakes(graph))


def _weighed(problem: Problem, graph: NodeGraph) -> Problem:
    """Turn an error at a node that the run does not use into a warning."""
    left_out = problem.node in graph.types and problem.node not in graph.needed
    if problem.severity == "error" and graph.optimized and left_out and problem.code not in WHOLE_GRAPH:
        return replace(problem, severity="warning")
    return problem


def check(
    document: Document, catalogue: Catalogue, base: Path | None = None, *, previous: Report | None = None
) -> Report:
    """Report problems, shapes and node figures of a document. Never raises.

    Args:
        base: the folder that relative paths start from, that of the project file
        previous: a report of an earlier version of the document; what did not change is reused
    """
    return Checker(previous).check(document, catalogue, base)
