"""Problems with parameters: unknown, missing, out of range, or rejected by the class."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import ArgumentProblem
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.loss_conventions import CLASS_LOSSES
from studio.lowering.checks.losses.targets import targets_of
from studio.lowering.checks.parameters.parameter_causes import fitting_divisor
from studio.lowering.checks.sequences.embedding_checks import EMBEDDING, ROWS, fitting_rows
from studio.lowering.checks.value_paths import value_path
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role


def parameter_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.arguments.problems:
            for found in facts.arguments.problems:
                yield _problem(flow, name, facts, found)
        elif facts.outcome.fails_on == "arguments":
            yield _construction_problem(flow, name, facts)


def _problem(flow: Dataflow, name: str, facts: NodeFacts, found: ArgumentProblem) -> Problem:
    parameter = facts.type.param(found.param)
    if found.code == "missing-parameter":
        value = "PATH" if parameter is not None and parameter.kind == "path" else "VALUE"
        option = f"{name}.{found.param}={value}"
        is_rows = facts.type.key == EMBEDDING and found.param == ROWS
        fitting = fitting_rows(flow, name) if is_rows else _fitting_outputs(flow, name, found.param)
        advice, fix = fitting or ("Set it in the inspector.", None)
        return Problem("error", found.code, f"{name} {found.message} {advice}", node=name, option=option, fix=fix)
    if found.code == "unknown-parameter":
        names = [parameter.name for parameter in facts.type.params]
        matches = difflib.get_close_matches(found.param, names, n=1)
        suggestion = f" Did you mean {matches[0]}?" if matches else ""
        fix = quick_fixes.clear(name, found.param, f"Remove the value of {found.param}")
        return Problem("error", found.code, f"{name} {found.message}{suggestion}", node=name, fix=fix)
    resettable = parameter is not None and (
        not parameter.required or parameter.from_input is not None or parameter.from_training
    )
    is_code = parameter is not None and parameter.is_code  # which a reset would delete
    fix = quick_fixes.clear(name, found.param, f"Reset {found.param}") if resettable and not is_code else None
    return Problem("error", found.code, f"{name}: {found.message}", node=name, fix=fix)


def _fitting_outputs(flow: Dataflow, name: str, param: str) -> tuple[str, Fix] | None:
    """Advice and a fix that gives a layer without a size one output for each class that a loss compares it with."""
    if not param.startswith("out_"):
        return None
    for loss in flow.graph.with_role(Role.LOSS):
        end = flow.graph.source(loss, "input")
        targets = targets_of(flow, loss) if flow.graph.types[loss].key in CLASS_LOSSES else None
        if end is None or targets is None or value_path(flow.graph, end)[-1].node != name:
            continue
        if targets.are_class_numbers and targets.classes:
            advice = f"The data has {targets.classes} classes. Set {param} to {targets.classes}."
            return advice, quick_fixes.assign(name, param, targets.classes)
    return None


def _construction_problem(flow: Dataflow, name: str, facts: NodeFacts) -> Problem:
    """The constructor raised, or a data source cannot read its files."""
    if facts.type.role is Role.SOURCE:
        return Problem("error", "bad-data", f"{name}: {facts.outcome.failure}", node=name)
    message = f"{name} cannot be created: {facts.outcome.failure}"
    trial = fitting_divisor(flow, name, facts)
    if trial is None:
        return Problem("error", "bad-arguments", message, node=name)
    return Problem("error", "bad-arguments", f"{message.rstrip('.')}. {trial.advice}", node=name, fix=trial.fix)
