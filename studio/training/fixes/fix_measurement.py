"""The fixes of one problem: whether each removes it, what a trial of it measured, and which one is recommended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from studio.document.model import Document
from studio.lowering.problems.fix_verification import VerifiedFix, verify_fix
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.report import Report
from studio.training.fixes.fix_trials import (
    TIE,
    TrialFigure,
    comparison,
    have_comparable_losses,
    is_measured,
    run_first_trial,
    run_trial,
)

_BEST = float("inf")


@dataclass(frozen=True, slots=True)
class MeasuredFix:
    """A fix that removes its problem without an error, with what trials without and with it measured."""

    verified: VerifiedFix
    before: TrialFigure | None = None
    after: TrialFigure | None = None
    """None if nothing was measured."""

    @property
    def fix(self) -> Fix:
        return self.verified.fix

    @property
    def is_worse(self) -> bool:
        """Whether the project trains worse with it."""
        return self.before is not None and self.after is not None and self.after.is_worse_than(self.before)

    @property
    def text(self) -> str:
        """What was measured: "200 batches: val_loss 2.31 → 0.84". Empty if nothing was."""
        return comparison(self.before, self.after)

    @property
    def rank(self) -> float:
        return _BEST if self.after is None else self.after.rank


@dataclass(frozen=True, slots=True)
class MeasuredFixes:
    """The fixes of one problem."""

    fixes: tuple[MeasuredFix, ...] = ()
    """The best one first; without measurements in the order of the problem."""
    refusals: tuple[str, ...] = ()
    """Why other fixes do not help, as sentences."""

    @property
    def recommended(self) -> MeasuredFix | None:
        """The best fix; None if the project trains worse with each, or none removes the problem."""
        return None if not self.fixes or self.fixes[0].is_worse else self.fixes[0]

    @property
    def refusal(self) -> str:
        """Why no fix is recommended, as a sentence; empty if one is."""
        if self.recommended is not None:
            return ""
        if not self.fixes:
            return next(iter(self.refusals), "It has no fix.")
        best = self.fixes[0]
        return f"{best.fix.title} trains worse ({best.text})."

    def of(self, fix: Fix) -> MeasuredFix | None:
        """What was measured of a fix; None if it does not remove the problem."""
        return next((each for each in self.fixes if each.fix.title == fix.title), None)


def measure_fixes(
    problem: Problem,
    report: Report,
    check: Callable[[Document], Report],
    *,
    tries: bool = True,
    advance: Callable[[float], None] | None = None,
) -> MeasuredFixes:
    """Apply each fix of a problem to a copy and check it, and try those that claim better training.

    Args:
        report: the check that found the problem
        check: checks a document
        tries: run trials
        advance: called with the completed share; it cancels by raising TrialCancelledError
    """
    fixes = [] if problem.fix is None else [problem.fix, *problem.others]
    results = [verify_fix(problem, fix, report, check) for fix in fixes]
    verified = [each for each in results if isinstance(each, VerifiedFix)]
    refusals = tuple(each for each in results if isinstance(each, str))
    if not tries or not verified or not is_measured(problem):
        return MeasuredFixes(tuple(MeasuredFix(each) for each in verified), refusals)
    by_loss = all(have_comparable_losses(problem, report, each.report) for each in verified)
    parts = [_part(advance, index, len(verified) + 1) for index in range(len(verified) + 1)]
    before = run_first_trial(report, by_loss=by_loss, advance=parts[0])
    if before is None:
        return MeasuredFixes(tuple(MeasuredFix(each) for each in verified), refusals)
    measured = [
        MeasuredFix(one, before, run_trial(one.report, before.steps, by_loss=by_loss, advance=part))
        for one, part in zip(verified, parts[1:], strict=True)
    ]
    return MeasuredFixes(_ordered(measured), refusals)


def _part(advance: Callable[[float], None] | None, index: int, count: int) -> Callable[[float], None] | None:
    """Report the share of one of several trials as that of all."""
    return None if advance is None else lambda share: advance((index + share) / count)


def _ordered(measured: list[MeasuredFix]) -> tuple[MeasuredFix, ...]:
    """The best fix first, with the reason. The first one of the problem is kept if it is as good."""
    first = measured[0]
    order = sorted(measured, key=lambda each: each.rank)
    if first.rank - order[0].rank <= TIE * abs(order[0].rank):
        order = [first, *(each for each in order if each is not first)]
    reason = order[0].text
    second = order[1] if len(order) > 1 else None
    if reason and second is not None and second.after is not None:
        reason += f"; {second.fix.title}: {second.after.value:.3g}"
    best = replace(order[0], verified=replace(order[0].verified, fix=replace(order[0].fix, reason=reason)))
    return (best, *order[1:])


__all__ = ["MeasuredFix", "MeasuredFixes", "measure_fixes"]
