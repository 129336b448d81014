"""Losses that count for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.loss_sum_node import WEIGHTS
from studio.nodes.types import Role


def loss_weight_problems(flow: Dataflow) -> Iterator[Problem]:
    """Losses with weight 0 in a sum."""
    for name in flow.graph.with_role(Role.LOSS_SUM):
        if name not in flow.facts:
            continue
        values = flow.facts[name].arguments.values
        for port, end in flow.graph.sources(name).items():
            param = WEIGHTS[port]
            if values.get(param) == 0:
                message = f"{end.node} has a weight of 0 at {name}, so nothing minimizes it. Set {param} to 1."
                fix = quick_fixes.assign(name, param, 1.0)
                yield Problem("warning", "zero-weight", message, node=name, port=port, fix=fix)


__all__ = ["loss_weight_problems"]
