"""Arguments and options that several commands share, and functions that read and check a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from studio.cli.assignments import apply_assignments
from studio.cli.error_output import BAD_INPUT, UNTRUSTED, InputError, print_error, print_json
from studio.document.blocks.block_expansion import flat_document
from studio.document.files import project_files
from studio.document.files.project_format import SUFFIX
from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.lowering.problems.problem_groups import grouped
from studio.lowering.report import Report
from studio.lowering.user_code.code_problems import untrusted_problem
from studio.lowering.user_code.document_code import allow_code, untrusted_code
from studio.nodes.catalogue import catalogue

File = Annotated[Path, typer.Argument(metavar="FILE", help=f"Project file ({SUFFIX}).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON Lines: one JSON object per line.")]
DeviceName = Annotated[
    str | None,
    typer.Option("--device", metavar="auto|cpu|cuda", help="Compute device (default: the project's setting)."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NODE.PARAM=VALUE",
        help="Override a node's parameter, or a training setting as training.SETTING=VALUE. NODE=TYPE replaces "
        "a node's type. Repeatable.",
    ),
]

Trust = Annotated[
    bool, typer.Option("--trust", help="Run the Python code of the project, without remembering that it is trusted.")
]


def read_project(file: Path, assignments: Sequence[str] | None, *, trust: bool = False) -> Document:
    """Load a project and apply the --set options.

    Args:
        trust: let this process run its Python code
    """
    document = apply_assignments(project_files.load(file), catalogue(), assignments or ())
    if trust:
        allow_code(document)
    return document


def check_or_exit(file: Path, document: Document, *, as_json: bool) -> Report:
    """Check a document. Exits with code 2 if there are errors, and with 3 if it has code that is not trusted."""
    report = check(document, catalogue(), base=project_folder(file))
    exit_on_errors(file, document, report.errors, as_json=as_json)
    exit_if_untrusted(file, document, as_json=as_json)
    return report


def exit_if_untrusted(file: Path, document: Document, *, as_json: bool) -> None:
    """Exit with code 3 if a document has Python code that the user does not trust."""
    if untrusted := untrusted_code(flat_document(document)):
        problem = untrusted_problem(untrusted, file=str(file))
        exit_on_errors(file, document, [problem], as_json=as_json, code=UNTRUSTED)


def project_folder(file: Path) -> Path:
    """The folder that relative paths in a project file refer to."""
    return file.absolute().parent


def runs_folder(file: Path) -> Path:
    """The folder of a project's runs, NAME.runs. Raises InputError for a path without a file name."""
    if not file.name:
        raise InputError(f"{file} is a folder, not a project. Pass a {SUFFIX} file.")
    return file.with_suffix(".runs")


def exit_on_errors(
    file: Path, document: Document, errors: Sequence[Problem], *, as_json: bool, code: int = BAD_INPUT
) -> None:
    for problem in errors if as_json else grouped(errors, document.nodes):
        print_error(problem_text(file, problem))
        if as_json:
            print_json({"event": "failed", **problem.as_dict()})
    if errors:
        raise typer.Exit(code)


def print_problems(file: Path, document: Document, problems: Sequence[Problem], *, as_json: bool) -> None:
    """Print problems on standard error, equal ones grouped; with `as_json` all as records on standard output.

    Dismissed problems are only in the records.
    """
    shown = [problem for problem in problems if not problem.dismissed]
    for problem in problems if as_json else grouped(shown, document.nodes):
        if as_json:
            print_json({"event": "problem", **problem.as_dict()})
        else:
            print_error(problem_text(file, problem), problem.severity)


def problem_text(file: Path, problem: Problem) -> str:
    """The message with the file name, and the --set option that fixes the problem if there is one."""
    return f"{file}: {problem.message}" + (f" Command-line fix: --set {problem.option}" if problem.option else "")


__all__ = [
    "Assignments",
    "DeviceName",
    "File",
    "Json",
    "Trust",
    "check_or_exit",
    "exit_if_untrusted",
    "exit_on_errors",
    "print_problems",
    "problem_text",
    "project_folder",
    "read_project",
    "runs_folder",
]
