"""Training and validation data: samples in both."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.problems.problem import Problem
from studio.training.data.findings.data_context import DataContext, Row, examples
from studio.training.data.statistics_records import PartFigures


def part_problems(data: DataContext) -> Iterator[Problem]:
    yield from _overlap(data)


def _overlap(data: DataContext) -> Iterator[Problem]:
    overlap = data.found.overlap
    if overlap is None or not overlap.count:
        return
    training, validation = data.found.parts
    row, other = overlap.examples[0]
    is_complete = training.looked_at == training.samples and validation.looked_at == validation.samples
    prefix = "" if is_complete else "At least "
    distinct = f" ({_inputs(overlap.inputs)})" if overlap.count > overlap.inputs else ""
    message = (
        f"{prefix}{overlap.count:,} of {validation.looked_at:,} validation samples {_have(overlap.count)} the same "
        f"input as a training sample{distinct}, for example validation {other} and training {row}, so validation "
        "results are too good."
    )
    if overlap.contradictions:
        message += f" {overlap.contradictions:,} of them {_have(overlap.contradictions)} a different target there."
    message += f" {_overlap_remedy(training)}"
    rows: list[Row] = []
    for one, two in overlap.examples:
        rows.append(("validation", two))
        rows.append(("training", one))
    evidence = {
        "overlap": overlap.count,
        "validation": validation.looked_at,
        "training": training.looked_at,
        "examples": examples(rows),
    }
    yield Problem("warning", "overlap", message, node=data.source.name, evidence=evidence)


def _overlap_remedy(training: PartFigures) -> str:
    different = training.looked_at - training.unreadable - training.repeated
    if training.repeated <= different:
        return "Remove the duplicates from the data."
    return (
        f"The {training.looked_at:,} training samples have only {_inputs(different)}. Add columns that distinguish "
        "samples, or remove the duplicates."
    )


def _inputs(count: int) -> str:
    return "1 different input" if count == 1 else f"{count:,} different inputs"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


__all__ = ["part_problems"]
