"""What the help pages show of a problem: its message, what was measured, and its fixes.

Problems that samples, runs or experiments show are recorded in `assets/recorded_problems.json` by
`python -m scripts.record_problems`, because the help pages cannot train.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from engine.system.assets import asset
from studio.document.model import Document
from studio.lowering.problems.fix_effect import effect_of
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report

RECORDED = "recorded_problems.json"
"""File in `assets/`."""


@dataclass(frozen=True, slots=True)
class ShownFix:
    """A fix and what it changes."""

    title: str
    reason: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownProblem:
    """A problem of an example."""

    severity: str
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fixes: tuple[ShownFix, ...] = ()
    """The recommended one first."""

    def wording(self) -> tuple[str, ...]:
        """All texts without their numbers, which depend on the machine."""
        texts = (self.severity, self.message, *(fix.title for fix in self.fixes))
        return tuple(re.sub(r"\d[\d.,]*(e[+-]?\d+)?%?", "#", text) for text in texts)


def shown(problem: Problem, document: Document, report: Report) -> ShownProblem:
    """What is shown of a problem of a checked document."""
    fixes: list[ShownFix] = []
    for fix in (problem.fix, *problem.others) if problem.fix is not None else ():
        effect = effect_of(fix, document)
        fixes.append(ShownFix(fix.title, fix.reason, () if effect is None else tuple(effect.lines(report))))
    return ShownProblem(problem.severity, problem.message, problem.evidence, tuple(fixes))


@functools.cache
def recorded_problems() -> dict[str, ShownProblem]:
    """The recorded problems by planted mistake."""
    return msgspec.json.decode(asset(RECORDED).read_bytes(), type=dict[str, ShownProblem])


def without_folder(problem: Problem, folder: Path) -> Problem:
    """A problem whose message names files in a folder by their relative paths."""
    return replace(problem, message=problem.message.replace(f"{folder}{os.sep}", ""))


__all__ = ["RECORDED", "ShownFix", "ShownProblem", "recorded_problems", "shown", "without_folder"]
