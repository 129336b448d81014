"""The part of a report that belongs to one graph of the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from studio.document.blocks.block_expansion import Scope
from studio.document.blocks.block_locations import Location
from studio.lowering.analysis.instance_info import wire_labels
from studio.lowering.analysis.node_facts import NodeInfo
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report


def report_at(report: Report, location: Location) -> Report:
    """The report of the graph at a location, with the names of its nodes and the figures of the instance around it.

    Empty for an instance that is not expanded, because it is muted or newer than the report.
    """
    if not location:
        return report
    scope = scope_at(report, location)
    if scope is None:
        return Report()
    return Report(
        problems=tuple(_problems(report, scope)),
        nodes=_inside(report.nodes, scope.prefix),
        wires=wire_labels(report.checked, scope),
        dataflow=report.dataflow,
    )


def scope_at(report: Report, location: Location) -> Scope | None:
    """The scope of a location; None if the report has none."""
    if report.dataflow is None:
        return None
    scope = report.dataflow.expansion.root
    for instance, copy in location:
        copies = scope.copies.get(instance, [])
        if copy >= len(copies):
            return None
        scope = copies[copy]
    return scope


def _inside(values: Mapping[str, NodeInfo], prefix: str) -> dict[str, NodeInfo]:
    return {path[len(prefix) :]: value for path, value in values.items() if path.startswith(prefix)}


def _problems(report: Report, scope: Scope) -> Iterator[Problem]:
    """Problems of the nodes in a scope, and of its definition, which are reported at the first instance only."""
    first = next(each for each in report.checked.expansion.root.with_inner() if each.block == scope.block)
    for problem in report.problems:
        prefix = first.prefix if problem.block == scope.block else scope.prefix
        if problem.node is None or not problem.node.startswith(prefix):
            continue
        also = tuple(path[len(prefix) :] for path in problem.also if path.startswith(prefix))
        yield replace(problem, node=problem.node[len(prefix) :], wire=None, also=also)
