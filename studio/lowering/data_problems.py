"""What data sources lose or take for something else while they are read, at their nodes."""

from __future__ import annotations

from collections.abc import Iterator

from engine.data.diagnostics import Diagnostic
from studio.lowering import fixes
from studio.lowering.flow import Flow
from studio.lowering.report import Problem
from studio.nodes.types import Role


def data_problems(flow: Flow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.type.role is Role.SOURCE:
            for found in facts.outcome.diagnostics:
                yield data_problem(name, found)


def data_problem(name: str, found: Diagnostic) -> Problem:
    """A diagnostic of the source of a node, with the arguments to change as its remedy."""
    fix = fixes.assign_all(name, dict(found.changes), found.remedy) if found.changes else None
    return Problem("warning", found.code, found.message, node=name, fix=fix)


__all__ = ["data_problem", "data_problems"]
