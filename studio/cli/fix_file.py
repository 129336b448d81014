"""`gradwire check --fix`: applies fixes to a project file and shows what they change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from studio.cli.error_output import BAD_INPUT, FAILED, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.fix_selection import chosen_problems
from studio.cli.shared_options import problem_text, project_folder, read_project
from studio.document.files import project_files
from studio.document.model import Document
from studio.lowering.check import Checker
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.training.data.data_inspector import DataInspector
from studio.training.fixes.project_fixes import AppliedFix, FixedProject, RefusedFix, fix_project


def fix_file(
    file: Path,
    chosen: Sequence[str],
    assignments: Sequence[str] | None,
    *,
    trust: bool,
    data: bool,
    dry_run: bool,
    trials: bool,
    as_json: bool,
) -> None:
    """Fix the chosen problems of a project file. Exits with 1 if some stay, and with 2 if errors stay.

    Args:
        chosen: values of `--fix`
        data: also fix problems of the samples
        trials: measure fixes that claim better training
    """
    with report_errors(as_json=as_json):
        if assignments:
            raise InputError("--fix saves the project, so it cannot be combined with --set.")
        is_chosen = chosen_problems(chosen)
        document = read_project(file, None, trust=trust)
        check = _checking(project_folder(file), data=data)
        project = fix_project(check(document), check, is_chosen, tries=trials)
        is_written = bool(project.applied) and not dry_run
        if is_written:
            project_files.save(project.document, file)
    _print(file, project, is_written=is_written, as_json=as_json)
    if project.report.errors:
        raise typer.Exit(BAD_INPUT)
    if project.refused:
        raise typer.Exit(FAILED)


def _checking(base: Path, *, data: bool) -> Any:
    """A function that checks a document, and its samples if wanted."""
    checker, inspector = Checker(), DataInspector()

    def check(document: Document) -> Report:
        report = checker.check(document, catalogue(), base)
        return inspector.inspect(report).joined(report) if data else report

    return check


def _print(file: Path, project: FixedProject, *, is_written: bool, as_json: bool) -> None:
    for each in project.applied:
        _print_applied(file, each, as_json=as_json)
    for each in project.refused:
        _print_refused(file, each, as_json=as_json)
    counts = {"fixed": len(project.applied), "refused": len(project.refused), "left": len(project.report.problems)}
    if as_json:
        print_json({"event": "fixes", **counts, "errors": len(project.report.errors), "written": is_written})
        return
    for problem in project.report.errors:
        if all(problem != each.problem for each in project.refused):
            print_error(problem_text(file, problem))
    result = "saved" if is_written else "not saved" if project.applied else "unchanged"
    print_text(f"{file}: {counts['fixed']} fixed, {counts['left']} left, {result}")


def _print_applied(file: Path, applied: AppliedFix, *, as_json: bool) -> None:
    problem, fix = applied.problem, applied.fix
    if as_json:
        record = problem.as_dict() | {"fix": fix.title, "edits": list(fix.changes), "reason": fix.reason}
        print_json({"event": "fixed", **record, "changes": list(applied.lines)})
        return
    print_text(f"{file}: {problem.message}")
    for line in applied.lines or (fix.title,):
        print_text(f"  {line}")
    if fix.reason:
        print_text(f"  {fix.reason}")


def _print_refused(file: Path, refused: RefusedFix, *, as_json: bool) -> None:
    problem = refused.problem
    if as_json:
        print_json({"event": "refused", **problem.as_dict(), "refusal": refused.reason})
        return
    print_error(f"{problem_text(file, problem)} Not fixed: {refused.reason}", problem.severity)


__all__ = ["fix_file"]
