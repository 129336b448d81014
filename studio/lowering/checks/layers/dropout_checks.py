"""Dropout that removes almost everything, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.sequences.sequence_layers import ATTENTION, RECURRENT
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem

_TYPES = (
    *(
        f"nn.{kind}"
        for kind in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
    ),
    *RECURRENT,
    *ATTENTION,
)
HIGHEST = 0.9
"""Smallest share of dropped values that is a mistake; usual shares are 0.1 to 0.5."""
USUAL = {"p": 0.5, "dropout": 0.1}
"""Usual shares, by parameter."""


def dropout_problems(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_key(_TYPES):
        facts = flow.facts.get(name)
        if facts is None or name not in flow.graph.needed:
            continue
        param = "p" if facts.type.group == "Dropout" else "dropout"
        share = facts.arguments.values.get(param)
        if facts.type.param(param) is None or isinstance(share, bool) or not isinstance(share, (int, float)):
            continue
        if share >= HIGHEST:
            yield _high(name, param, float(share))
        else:
            yield from _without_effect(name, facts, float(share))


def _high(name: str, param: str, share: float) -> Problem:
    usual = USUAL[param]
    message = (
        f"{name} drops {share:.0%} of its values in training, so almost nothing of its input is left. "
        f"Set {param} to {usual}."
    )
    evidence = {"share": share}
    return Problem(
        "warning", "dropout-high", message, node=name, fix=quick_fixes.assign(name, param, usual), evidence=evidence
    )


def _without_effect(name: str, facts: NodeFacts, share: float) -> Iterator[Problem]:
    if facts.type.group == "Dropout" and share == 0 and "." not in name and "p" in facts.arguments.explicit:
        message = f"{name} drops nothing, because p is 0. Remove {name}, or set p."
        fix = quick_fixes.bypass(name, facts.type.inputs[0].name)
        yield Problem("hint", "dropout-without-effect", message, node=name, fix=fix)


__all__ = ["dropout_problems"]
