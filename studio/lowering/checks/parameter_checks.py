"""Problems with parameters: unknown, missing, out of range, or rejected by the class."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import ArgumentProblem
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role


def parameter_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.arguments.complaints:
            for complaint in facts.arguments.complaints:
                yield _problem(name, facts, complaint)
        elif facts.outcome.fails_on == "arguments":
            yield _refused(name, facts)


def _problem(name: str, facts: NodeFacts, complaint: ArgumentProblem) -> Problem:
    parameter = facts.type.param(complaint.param)
    if complaint.code == "missing-parameter":
        value = "PATH" if parameter is not None and parameter.kind == "path" else "VALUE"
        option = f"{name}.{complaint.param}={value}"
        message = f"{name} {complaint.message} Set it in the inspector."
        return Problem("error", complaint.code, message, node=name, option=option)
    if complaint.code == "unknown-parameter":
        known = [parameter.name for parameter in facts.type.params]
        near = difflib.get_close_matches(complaint.param, known, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        fix = quick_fixes.clear(name, complaint.param, f"Remove {complaint.param}")
        return Problem("error", complaint.code, f"{name} {complaint.message}{meant}", node=name, fix=fix)
    resettable = parameter is not None and (
        not parameter.required or parameter.from_input is not None or parameter.from_training
    )
    fix = quick_fixes.clear(name, complaint.param, f"Reset {complaint.param}") if resettable else None
    return Problem("error", complaint.code, f"{name}: {complaint.message}", node=name, fix=fix)


def _refused(name: str, facts: NodeFacts) -> Problem:
    """The constructor raised, or a data source cannot read its files."""
    if facts.type.role is Role.SOURCE:
        return Problem("error", "bad-data", f"{name}: {facts.outcome.failure}", node=name)
    return Problem("error", "bad-arguments", f"{name} cannot be created: {facts.outcome.failure}", node=name)
