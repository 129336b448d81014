"""Finds the problems of samples."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.problems.problem import Problem
from studio.training.data.findings.augmentation_rules import augmentation_problems
from studio.training.data.findings.batch_rules import batch_problems
from studio.training.data.findings.class_rules import class_problems
from studio.training.data.findings.convention_rules import convention_problems
from studio.training.data.findings.data_context import DataContext
from studio.training.data.findings.fit_rules import fit_problems
from studio.training.data.findings.leak_rules import leak_problems
from studio.training.data.findings.part_rules import part_problems
from studio.training.data.findings.scaling_rules import scaling_problems
from studio.training.data.findings.sequence_rules import sequence_problems
from studio.training.data.findings.target_rules import target_problems
from studio.training.data.findings.token_rules import token_problems
from studio.training.data.findings.value_rules import value_problems
from studio.training.data.sample_preview import Preview
from studio.training.data.statistics_records import Statistics

RULES = (
    value_problems,
    fit_problems,
    part_problems,
    class_problems,
    convention_problems,
    leak_problems,
    token_problems,
    scaling_problems,
    target_problems,
    sequence_problems,
    augmentation_problems,
    batch_problems,
)
"""Errors before warnings, causes before consequences."""
STALE = "stale-statistics"
TOKENS = "tokens-as-numbers"
CONSEQUENCES = frozenset({"misfit-normalization", "fitted-to-validation", "unscaled-inputs", "narrow"})
"""What else is found at a transform whose parameters were computed from other samples, and for numbers of words."""


def find_data_problems(found: Statistics, preview: Preview, flow: Dataflow | None = None) -> Iterator[Problem]:
    """The problems of the samples at a node.

    Args:
        found: their statistics
        preview: the opened chain to the node
        flow: the graph that uses the samples; without it, problems of their use are not looked for
    """
    data = DataContext(found, preview, flow)
    stale: set[str | None] = set()
    has_tokens = False
    for rule in RULES:
        try:
            for problem in rule(data):
                if problem.code == STALE:
                    stale.add(problem.node)
                elif problem.code == TOKENS:
                    has_tokens = True
                elif problem.code in CONSEQUENCES and (has_tokens or problem.node in stale):
                    continue
                yield problem
        except Exception:  # noqa: BLE001 - a sample that only this rule reads; it must not prevent a run
            continue


__all__ = ["find_data_problems"]
