"""Applies the fixes of chosen problems until none of them is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from studio.document.model import Document
from studio.lowering.problems.fix_effect import effect_of
from studio.lowering.problems.fix_verification import VerifiedFix, verify_fix
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.report import Report
from studio.training.fixes.fix_trials import (
    TrialFigure,
    comparison,
    have_comparable_losses,
    is_measured,
    run_trial,
)

_TIE = 0.02
"""Relative difference of figures below which the recommended fix is kept."""
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
    best.

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
        found = _best_fix(problem, project.report, check, tries=tries)
        if not isinstance(found, str) and found.document in seen:
            found = f"{found.fix.title} undoes another fix."
        if isinstance(found, str):
            given_up.add((problem.code, problem.node))
            project.refused.append(RefusedFix(problem, found))
            continue
        effect = effect_of(found.fix, project.report.document)
        lines = () if effect is None else tuple(effect.lines(project.report, found.report))
        project.applied.append(AppliedFix(problem, found.fix, lines))
        project.report = found.report
        seen.append(found.document)
    return project


def _best_fix(
    problem: Problem, report: Report, check: Callable[[Document], Report], *, tries: bool
) -> VerifiedFix | str:
    """The verified fix that trains best, with what was measured; else why there is none."""
    if problem.fix is None:
        return "It has no fix."
    results = [verify_fix(problem, fix, report, check) for fix in (problem.fix, *problem.others)]
    verified = [each for each in results if isinstance(each, VerifiedFix)]
    if not verified:
        return next(each for each in results if isinstance(each, str))
    return _recommended(verified, report) if tries and is_measured(problem) else verified[0]


def _recommended(verified: list[VerifiedFix], report: Report) -> VerifiedFix:
    """The fix with the best figure, and the reason; the first one if none was measured."""
    by_loss = all(have_comparable_losses(report, each.report) for each in verified)
    before = run_trial(report, by_loss=by_loss)
    if before is None:
        return verified[0]
    figures = [run_trial(each.report, by_loss=by_loss) for each in verified]
    order = sorted(range(len(verified)), key=lambda index: _rank(figures[index]))
    if _rank(figures[0]) - _rank(figures[order[0]]) <= _TIE * abs(_rank(figures[order[0]])):
        order = [0, *(index for index in order if index)]
    best = order[0]
    reason = comparison(before, figures[best])
    second = figures[order[1]] if len(order) > 1 else None
    if reason and second is not None:
        reason += f"; {verified[order[1]].fix.title}: {second.value:.3g}"
    chosen = verified[best]
    return replace(chosen, fix=replace(chosen.fix, reason=reason))


def _rank(figure: TrialFigure | None) -> float:
    return float("inf") if figure is None else figure.rank


__all__ = ["MAX_FIXES", "AppliedFix", "FixedProject", "RefusedFix", "fix_project"]
