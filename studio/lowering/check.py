"""Checks a document without running it. Run, the Code panel and the CLI generate programs from the report."""

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

ALWAYS_ERRORS = frozenset({"cycle", "stray-wire"})
"""Codes of errors that prevent every run. Other errors prevent a run only at nodes that it uses."""


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
        """Report problems, shapes and node statistics. Never raises; can be called from any thread.

        Args:
            base: folder of the project file, which relative paths start from
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
        problems = [
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
        problems = [_demote_unused(problem, flow.graph) for problem in problems]
        has_no_errors = not any(problem.severity == "error" for problem in problems)
        labels = {
            wire: flow.facts[wire.source.node].labels for wire in flow.document.wires if wire.source.node in flow.facts
        }
        return Report(
            problems=tuple(deduplicate_problems(sorted(problems, key=lambda problem: problem.severity), flow.document)),
            nodes={name: facts.info for name, facts in flow.facts.items()},
            wires={wire: texts[wire.source.port] for wire, texts in labels.items() if wire.source.port in texts},
            trainable={name: tuple(trainable_layers(flow, name)) for name in flow.graph.optimized},
            trained={name: tuple(trained_layers(flow, name)) for name in flow.graph.optimized},
            learning_rate_plans=learning_rate_plans(flow) if has_no_errors else {},
            dataflow=flow,
        )


def _graph_problems(graph: NodeGraph) -> tuple[Problem, ...]:
    return (*structure_problems(graph), *graph_mistakes(graph))


def _demote_unused(problem: Problem, graph: NodeGraph) -> Problem:
    """Turn an error into a warning if the run does not use the affected node."""
    affected = problem.affected or problem.node
    is_unused = affected in graph.types and affected not in graph.needed
    if problem.severity == "error" and graph.optimized and is_unused and problem.code not in ALWAYS_ERRORS:
        return replace(problem, severity="warning")
    return problem


def check(
    document: Document, catalogue: Catalogue, base: Path | None = None, *, previous: Report | None = None
) -> Report:
    """Report problems, shapes and node statistics of a document. Never raises.

    Args:
        base: folder of the project file, which relative paths start from
        previous: a report of an earlier version of the document; results of unchanged nodes are reused
    """
    return Checker(previous).check(document, catalogue, base)
