"""Finds the problems of samples."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.problems.problem import Problem
from studio.training.data.findings.class_rules import class_problems
from studio.training.data.findings.data_context import DataContext
from studio.training.data.findings.part_rules import part_problems
from studio.training.data.findings.scaling_rules import scaling_problems
from studio.training.data.findings.value_rules import value_problems
from studio.training.data.sample_preview import Preview
from studio.training.data.statistics_records import Statistics

RULES = (value_problems, part_problems, class_problems, scaling_problems)


def find_data_problems(found: Statistics, preview: Preview, flow: Dataflow | None = None) -> Iterator[Problem]:
    """The problems of the samples at a node.

    Args:
        found: their statistics
        preview: the opened chain to the node
        flow: the graph that uses the samples; without it, problems of their use are not looked for
    """
    data = DataContext(found, preview, flow)
    for rule in RULES:
        yield from rule(data)


__all__ = ["find_data_problems"]
