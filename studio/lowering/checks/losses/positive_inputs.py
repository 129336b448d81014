"""Variances and rates of counts that a network outputs as unbounded scores, and logarithms of rates that are not."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.losses.value_kinds import kind_of
from studio.lowering.checks.value_paths import values_at
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

GAUSSIAN, POISSON = "nn.GaussianNLLLoss", "nn.PoissonNLLLoss"


def positive_input_problems(flow: Dataflow) -> Iterator[Problem]:
    for loss in flow.graph.with_role(Role.LOSS):
        key = flow.graph.types[loss].key
        if loss not in flow.facts or key not in (GAUSSIAN, POISSON):
            continue
        problem = _variance(flow, loss) if key == GAUSSIAN else _rate(flow, loss)
        if problem is not None:
            yield problem


def _variance(flow: Dataflow, loss: str) -> Problem | None:
    """A variance that can be negative."""
    path = values_at(flow.graph, loss, "var")
    kind = kind_of(flow, path[-1]) if path else None
    if kind is None or kind.low >= 0:
        return None
    title = f"Insert Softplus before {loss}.var"
    message = f"{loss}.var expects variances above 0 but {path[-1].node} outputs values {kind.range}. {title}."
    fix = quick_fixes.insert(Endpoint(loss, "var"), Node("nn.Softplus"), title=title)
    return Problem("error", "negative-variance", message, node=loss, port="var", fix=fix)


def _rate(flow: Dataflow, loss: str) -> Problem | None:
    """A rate where a logarithm belongs, or the reverse."""
    path = values_at(flow.graph, loss, "input")
    kind = kind_of(flow, path[-1]) if path else None
    is_log = bool(flow.facts[loss].arguments.values.get("log_input", True))
    if kind is None or is_log == (kind.low < 0):
        return None
    before = path[-1].node
    expected = "the logarithms of rates" if is_log else "rates of at least 0"
    fix = quick_fixes.assign(loss, "log_input", not is_log)
    message = f"{loss} expects {expected} but {before} outputs values {kind.range}. {fix.title} at {loss}."
    severity = "warning" if is_log else "error"
    return Problem(severity, "rates-of-counts", message, node=loss, port="input", fix=fix)


__all__ = ["positive_input_problems"]
