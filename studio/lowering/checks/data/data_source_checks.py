"""Problems that data sources report while they are read, assigned to their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.data.diagnostics import Diagnostic
from engine.data.tables.csv_columns import format_names, parse_names
from studio.document import edits
from studio.document.model import Document
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role


def data_source_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.type.role is Role.SOURCE:
            for found in facts.outcome.diagnostics:
                yield data_problem(name, found)


def data_problem(name: str, found: Diagnostic) -> Problem:
    """Convert a diagnostic of a data source into a problem with a fix."""
    fix = quick_fixes.assign_all({name: dict(found.changes)}, found.remedy) if found.changes else None
    if fix is not None and found.added:
        [(param, _)] = found.changes
        fix = replace(fix, edit=_adding(name, param, found.added))
    return Problem("warning", found.code, found.message, node=name, fix=fix)


def _adding(name: str, param: str, added: str) -> Callable[[Document], Document]:
    """An edit that appends a name to a list parameter."""

    def edit(document: Document) -> Document:
        names = parse_names(str(document.nodes[name].params.get(param, "")))
        return document if added in names else edits.set_param(document, name, param, format_names([*names, added]))

    return edit


__all__ = ["data_problem", "data_source_problems"]
