"""Reference of the diagnoses: why each matters, how it is recognised, and an example with its fix."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.document.model import Document
from studio.lowering import check
from studio.lowering.problems.diagnosis import Diagnosis
from studio.nodes.catalogue import catalogue
from studio.reference.graph_columns import in_columns
from studio.reference.markdown import code, escaped, joined, prose, table
from studio.reference.mistakes import MISTAKES, Mistake
from studio.reference.shown_problems import ShownFix, ShownProblem, recorded_problems, shown, without_folder

PATH = "reference/problems.md"

TITLES: Mapping[str, str] = {
    "parts": "Parts of a project",
    "graph": "Names, wires and blocks",
    "code": "Python nodes",
    "parameters": "Parameters and shapes",
    "scores": "Scores, losses and metrics",
    "layers": "Layers and operations",
    "sequences": "Sequences",
    "optimizers": "Optimizers and schedules",
    "data": "Data",
    "runs": "Curves and tensors of a run",
    "commands": "Files and commands",
}
"""Headings by area."""

_FOUND_IN = {
    "check": "The check finds it in the graph, while you edit and with `gradwire check`.",
    "data": "The check finds it in the samples: in the window in the background, and with `gradwire check --data`.",
    "diagnose": "`gradwire diagnose` finds it with experiments, which the window starts with **Diagnose the loss**.",
    "run": "A run finds it in its losses and tensors, and reports it as a warning.",
}
"""How a mistake is recognised, by its stage."""


@dataclass(frozen=True, slots=True)
class Example:
    """A project with one mistake, and its problem."""

    mistake: Mistake
    document: Document
    problem: ShownProblem | None
    """None only for a mistake that is not recognised, which tests prevent."""

    @property
    def title(self) -> str:
        return self.mistake.name.replace("_", " ").capitalize()


def mistakes_of(problem_code: str) -> list[Mistake]:
    """The planted mistakes of a diagnosis."""
    return [mistake for mistake in MISTAKES if mistake.code == problem_code]


@functools.cache
def example_of(problem_code: str) -> Example | None:
    """The first planted mistake of a diagnosis; one that the graph shows before others."""
    mistake = _chosen(problem_code)
    return None if mistake is None else _example(mistake)


def recorded_examples() -> list[Mistake]:
    """The mistakes of examples that the check of the graph does not show."""
    chosen = (_chosen(each) for each in dict.fromkeys(mistake.code for mistake in MISTAKES))
    return [mistake for mistake in chosen if mistake is not None and mistake.stage != "check"]


def _chosen(problem_code: str) -> Mistake | None:
    return min(mistakes_of(problem_code), key=lambda mistake: mistake.stage != "check", default=None)


def _example(mistake: Mistake) -> Example:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        document = mistake.plant(base)
        if mistake.stage != "check":
            return Example(mistake, in_columns(document), recorded_problems().get(mistake.name))
        report = check(document, catalogue(), base)
        problem = next((each for each in report.problems if each.code == mistake.code), None)
        if problem is not None:
            problem = without_folder(problem, base)
        return Example(mistake, in_columns(document), problem and shown(problem, document, report))


def problem_section(diagnosis: Diagnosis, picture: str = "") -> str:
    """Why a problem matters, how it is recognised and an example, without a heading.

    Args:
        picture: HTML of the graph of the example
    """
    example = example_of(diagnosis.code)
    parts = [prose(diagnosis.help)]
    if example is not None:
        parts += ["**How it is recognised**", _FOUND_IN[example.mistake.stage]]
        parts += [
            _measured(example.problem),
            f"**Example: {escaped(example.title)}**",
            picture,
            *_example_parts(example),
        ]
    others = [escaped(each.name.replace("_", " ")) for each in mistakes_of(diagnosis.code)[1:]]
    if others:
        parts.append(f"Also recognised: {'; '.join(others)}.")
    return joined(parts)


def _measured(problem: ShownProblem | None) -> str:
    if problem is None or not problem.evidence:
        return ""
    return table(
        ("Measured", "In the example"), [(code(name), _value(value)) for name, value in problem.evidence.items()]
    )


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else code(json.dumps(value, ensure_ascii=False))


def _example_parts(example: Example) -> list[str]:
    problem, goal = example.problem, example.mistake.goal
    if problem is None:
        return []
    parts = [f"> {problem.severity}: {prose(problem.message)}"]
    parts += [_fix_text(fix, "Another fix" if number else "Fix") for number, fix in enumerate(problem.fixes)]
    if goal is not None:
        bound = "falls below" if goal.is_highest else "exceeds"
        parts.append(f"After the fix, {code(goal.figure)} {bound} {goal.value:g} within {goal.epochs} epochs.")
    return parts


def _fix_text(fix: ShownFix, name: str) -> str:
    """The title of a fix, why it is recommended, and what it changes."""
    reason = f" {prose(fix.reason)}" if fix.reason else ""
    return f"**{name}: {escaped(fix.title)}.**{reason} {prose('; '.join(fix.lines))}".strip()


__all__ = ["PATH", "TITLES", "Example", "example_of", "mistakes_of", "problem_section", "recorded_examples"]
