"""Applies the fixes of chosen problems until none of them is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from studio.document.model import Document
from studio.lowering.problems.fix_effect import effect_of
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.report import Report
from studio.training.fixes.fix_measurement import measure_fixes

MAX_FIXES = 100
"""Fixes that are applied at most."""


@dataclass(frozen=True, slots=True)
class AppliedFix:
    """A fix that was applied, with what it changed and what a trial measured."""

    problem: Problem
    fix: Fix
    lines: tuple[str, ...]
    """The changes as text: "lr of adam: 10 → 0.001"."""


@dataclass(frozen=True, slots=True)
class RefusedFix:
    """A chosen problem that stays, and why."""

    problem: Problem
    reason: str


@dataclass(slots=True)
class FixedProject:
    """A project after its fixes."""

    report: Report
    applied: list[AppliedFix] = field(default_factory=list[AppliedFix])
    refused: list[RefusedFix] = field(default_factory=list[RefusedFix])

    @property
    def document(self) -> Document:
        return self.report.document


def fix_project(
    report: Report, check: Callable[[Document], Report], is_chosen: Callable[[Problem], bool], *, tries: bool = True
) -> FixedProject:
    """Fix the chosen problems of a project, one after another, each on the result of the one before.

    A fix is applied only if it removes its problem and causes no error. Of several, the one is applied that trains
    best, unless the project trains worse with it.

    Args:
        report: the check of the project
        check: checks a document
        is_chosen: whether a problem is to be fixed
        tries: train with and without fixes that claim better training
    """
    project = FixedProject(report)
    seen = [report.document]
    given_up: set[tuple[str, str | None]] = set()
    while len(project.applied) < MAX_FIXES:
        left = (each for each in project.report.problems if is_chosen(each) and (each.code, each.node) not in given_up)
        problem = next(left, None)
        if problem is None:
            break
        measured = measure_fixes(problem, project.report, check, tries=tries)
        best, refusal = measured.recommended, measured.refusal
        if best is not None and best.verified.document in seen:
            refusal = f"{best.fix.title} undoes another fix."
        if best is None or refusal:
            given_up.add((problem.code, problem.node))
            project.refused.append(RefusedFix(problem, refusal))
            continue
        found = best.verified
        effect = effect_of(found.fix, project.report.document)
        lines = () if effect is None else tuple(effect.lines(project.report, found.report))
        project.applied.append(AppliedFix(problem, found.fix, lines))
        project.report = found.report
        seen.append(found.document)
    return project


__all__ = ["MAX_FIXES", "AppliedFix", "FixedProject", "RefusedFix", "fix_project"]
