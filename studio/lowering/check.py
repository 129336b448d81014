"""Checks a document without running it. Run, the Code panel and the CLI generate programs from the report."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from studio.document.blocks.block_expansion import Expansion
from studio.document.model import Document
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.instance_info import instance_infos, wire_labels
from studio.lowering.analysis.node_evaluation import NodeEvaluator
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.analysis.scope_graphs import scope_graphs
from studio.lowering.checks.block_checks import block_problems
from studio.lowering.checks.common_mistakes import value_mistakes
from studio.lowering.checks.consequences import without_consequences, without_needless_removals
from studio.lowering.checks.data.data_source_checks import data_source_problems
from studio.lowering.checks.data.data_split_checks import data_split_problems
from studio.lowering.checks.layers.dropout_checks import dropout_problems
from studio.lowering.checks.layers.gradient_checks import gradient_problems
from studio.lowering.checks.layers.initialization_checks import initialization_problems
from studio.lowering.checks.layers.inplace_checks import inplace_problems
from studio.lowering.checks.layers.layout_checks import layout_problems
from studio.lowering.checks.layers.linear_chain_checks import linear_chain_problems
from studio.lowering.checks.layers.normalization_checks import normalization_problems
from studio.lowering.checks.layers.normalization_settings import normalization_setting_problems
from studio.lowering.checks.layers.padding_windows import padding_window_problems
from studio.lowering.checks.losses.loss_problems import loss_problems
from studio.lowering.checks.memory_check import memory_problems
from studio.lowering.checks.operation_checks import operation_problems
from studio.lowering.checks.optimizers.optimizer_problems import optimizer_problems
from studio.lowering.checks.parameters.parameter_checks import parameter_problems
from studio.lowering.checks.schedule_checks import schedule_problems
from studio.lowering.checks.sequences.causality_checks import causality_problems
from studio.lowering.checks.sequences.padding_checks import padding_problems
from studio.lowering.checks.sequences.sequence_checks import sequence_problems
from studio.lowering.checks.sequences.time_step_checks import time_step_problems
from studio.lowering.checks.sequences.token_checks import token_problems
from studio.lowering.checks.shape_checks import shape_problems
from studio.lowering.checks.sharing_checks import sharing_problems
from studio.lowering.checks.state_checks import state_problems
from studio.lowering.checks.structure_checks import scope_problems, wiring_problems
from studio.lowering.checks.training_goal_checks import trainable_layers, trained_layers, training_goal_problems
from studio.lowering.problems.block_fixes import in_document, in_scope, once_per_definition
from studio.lowering.problems.dismissal import with_dismissals
from studio.lowering.problems.fix_conflicts import deduplicate_problems
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.lowering.schedules.schedule_chains import learning_rate_plans
from studio.lowering.user_code.code_problems import code_problems
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
        self._structural = () if self._flow is None else _wiring(self._flow.graph)
        """Problems of the wires of the last check."""
        self._of_graphs: dict[NodeGraph, tuple[Problem, ...]] = {}
        """Problems of the graphs of the last check."""

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
        expansion = Expansion(document, None if previous is None else previous.expansion)
        if previous is not None and previous.graph.fits(expansion.flat, catalogue):
            graph = previous.graph
        else:
            graph = NodeGraph(expansion.flat, catalogue, None if expansion.is_flat else expansion)
            self._structural = _wiring(graph)
        reusable = previous if previous is not None and previous.base == base else None
        scopes = scope_graphs(expansion, graph, catalogue, () if previous is None else previous.scope_graphs)
        return Dataflow(expansion, graph, scopes, self.evaluator, base, reusable)

    def _report(self, flow: Dataflow) -> Report:
        graphs = [each.graph for each in flow.scope_graphs]
        self._of_graphs = {
            graph: self._of_graphs[graph] if graph in self._of_graphs else tuple(scope_problems(graph))
            for graph in graphs
        }
        own = [
            in_scope(problem, each.scopes[0]) for each in flow.scope_graphs for problem in self._of_graphs[each.graph]
        ]
        own += block_problems(flow.expansion, flow.scope_graphs)
        found = [
            *training_goal_problems(flow),
            *(own if flow.expansion.is_flat else ()),
            *self._structural,
            *parameter_problems(flow),
            *shape_problems(flow),
            *data_source_problems(flow),
            *memory_problems(flow),
            *data_split_problems(flow),
            *optimizer_problems(flow),
            *schedule_problems(flow),
            *value_mistakes(flow),
            *loss_problems(flow),
            *linear_chain_problems(flow),
            *normalization_problems(flow),
            *normalization_setting_problems(flow),
            *padding_window_problems(flow),
            *layout_problems(flow),
            *dropout_problems(flow),
            *initialization_problems(flow),
            *inplace_problems(flow),
            *gradient_problems(flow),
            *operation_problems(flow),
            *sequence_problems(flow),
            *causality_problems(flow),
            *time_step_problems(flow),
            *token_problems(flow),
            *padding_problems(flow),
            *sharing_problems(flow),
            *code_problems(flow),
            *state_problems(flow),
        ]
        problems = settle_problems(found, flow)
        if not flow.expansion.is_flat:
            problems = [*_unique(own, flow, flow.expansion.document), *problems]
            problems = [problem.within(flow.expansion.document) for problem in problems]
            problems.sort(key=lambda problem: problem.rank)
        problems = list(with_dismissals(without_consequences(problems, flow.graph), flow.expansion.document))
        has_no_errors = not any(problem.severity == "error" for problem in problems)
        return Report(
            problems=tuple(problem for problem in problems if not problem.dismissed),
            dismissed=tuple(problem for problem in problems if problem.dismissed),
            nodes={name: facts.info for name, facts in flow.facts.items()} | instance_infos(flow),
            wires=wire_labels(flow, flow.expansion.root),
            trainable={name: tuple(trainable_layers(flow, name)) for name in flow.graph.optimized},
            trained={name: tuple(trained_layers(flow, name)) for name in flow.graph.optimized},
            learning_rate_plans=learning_rate_plans(flow) if has_no_errors else {},
            dataflow=flow,
        )


def _wiring(graph: NodeGraph) -> tuple[Problem, ...]:
    return tuple(wiring_problems(graph))


def settle_problems(found: Iterable[Problem], flow: Dataflow) -> list[Problem]:
    """Problems of the flat graph as problems of the document: by severity, each once, with fixes that fit together."""
    problems = _unique(found, flow, flow.document)
    if flow.expansion.is_flat:
        return problems
    lifted = once_per_definition(in_document(problems, flow.expansion), flow.expansion)
    return [problem.within(flow.expansion.document) for problem in lifted]


def _unique(found: Iterable[Problem], flow: Dataflow, document: Document) -> list[Problem]:
    """Problems by severity, each cause once, with fixes that fit together."""
    problems = without_needless_removals(_demote_unused(problem, flow.graph) for problem in found)
    return deduplicate_problems(sorted(problems, key=lambda problem: problem.rank), document)


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
