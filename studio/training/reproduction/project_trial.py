"""Tries whether a part of a failing graph fails the same way, as a project in a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine import fit
from studio.document.files.project_files import load
from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue
from studio.training.reproduction.failure_sign import FailureSign, failure_of
from studio.training.reproduction.partial_graph import DATA_FILE, PartialProject
from studio.training.stepping.task_copy import first_state

_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Raised by a part that cannot be trained."""


class ProjectTrial:
    """Runs one training step of projects.

    Args:
        catalogue: the node types
        folder: of the arrays that the tried projects read
    """

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue = catalogue
        self._folder = folder

    def failure(self, project: PartialProject) -> FailureSign | None:
        """How a project fails, at the node of the failing graph; None if it does not fail or is no valid project."""
        write_arrays(project, self._folder)
        report = check(project.document, self._catalogue, self._folder)
        if report.errors:
            return None
        program = lower(report, "reproduction")
        sign = first_failure(report, program, project)
        if sign is None:
            return None
        return sign.at(project.origins.get(sign.node or "", sign.node))


def first_failure(report: Report, program: Program, project: PartialProject) -> FailureSign | None:
    """How the first step of a checked project fails."""
    task = program.build(report.document.training.device.replace("auto", "cpu"), report.document.training.seed)
    try:
        task.setup()
        fit.load_matching(task.model, project.weights)
        state = first_state(task)
    except _ERRORS:
        return None
    return failure_of(report.checked, program, task, state)


def failure_of_file(path: Path, catalogue: Catalogue, project: PartialProject) -> FailureSign | None:
    """How a saved project fails, read from its file."""
    document: Document = load(path)
    report = check(document, catalogue, path.parent)
    return None if report.errors else first_failure(report, lower(report, "reproduction"), project)


def write_arrays(project: PartialProject, folder: Path) -> None:
    """Write the recorded values that a project reads."""
    if project.arrays:
        np.savez(folder / DATA_FILE, **project.arrays)  # pyright: ignore[reportArgumentType]


__all__ = ["ProjectTrial", "failure_of_file", "first_failure", "write_arrays"]
