"""Whether a fix removes its problem: it is applied to a copy, and the copy is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.report import Report


@dataclass(frozen=True, slots=True)
class VerifiedFix:
    """A fix that removes its problem without a new error."""

    fix: Fix
    document: Document
    """The fixed document."""
    report: Report
    """The check of it."""


def verify_fix(problem: Problem, fix: Fix, before: Report, check: Callable[[Document], Report]) -> VerifiedFix | str:
    """Apply a fix to a copy and check it.

    Args:
        before: the check that found the problem
        check: checks a document

    Returns:
        The fix with the fixed document, or why it does not help, as a sentence.
    """
    try:
        document = fix.edit(before.document)
    except EditError as error:
        return f"{fix.title} cannot be applied: {error}"
    if document == before.document:
        return f"{fix.title} changes nothing."
    report = check(document)
    known = {(each.code, each.node) for each in before.errors}
    new = next((each for each in report.errors if (each.code, each.node) not in known), None)
    if new is not None:
        return f"{fix.title} causes an error: {new.message}"
    if any(each.code == problem.code and each.node == problem.node for each in report.problems):
        return f"{fix.title} does not remove the problem."
    return VerifiedFix(fix, document, report)


__all__ = ["VerifiedFix", "verify_fix"]
