"""The command `check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from studio.cli.error_output import BAD_INPUT, InputError, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.lazy_commands import load
from studio.cli.shared_options import Assignments, File, Json, Trust, print_problems, project_folder, read_project
from studio.document.model import Document
from studio.lowering.check import check as check_document
from studio.lowering.problems.problem_groups import grouped
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue

if TYPE_CHECKING:
    from studio.training.data.data_inspector import LookedAt


def check(
    file: File,
    assignments: Assignments = None,
    trust: Trust = False,
    data: Annotated[
        bool, typer.Option("--data", help="Also look at samples of the data, at most for about 2 seconds.")
    ] = False,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            "--fix",
            metavar="[all|CODE|NODE:CODE]",
            help="Apply the fixes of these problems to FILE (default: all). Repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --fix: show the changes without saving them.")
    ] = False,
    trials: Annotated[
        bool, typer.Option("--trials/--no-trials", help="With --fix: measure fixes that claim better training.")
    ] = True,
    as_json: Json = False,
) -> None:
    if fix is not None:
        fix_file = load("studio.cli.fix_file:fix_file")
        fix_file(file, fix, assignments, trust=trust, data=data, dry_run=dry_run, trials=trials, as_json=as_json)
        return
    with report_errors(as_json=as_json):
        if dry_run:
            raise InputError("--dry-run needs --fix.")
        document = read_project(file, assignments, trust=trust)
        report = check_document(document, catalogue(), base=project_folder(file))
        looked_at: Sequence[LookedAt] = ()
        if data:
            inspection = load("studio.training.data.data_inspector:DataInspector")().inspect(report)
            report, looked_at = inspection.joined(report), inspection.looked_at
    print_problems(file, document, [*report.problems, *report.dismissed], as_json=as_json)
    errors, warnings, hints = len(report.errors), len(report.warnings), len(report.hints)
    if as_json:
        wires = {str(wire): carried for wire, carried in sorted(report.wires.items())}
        figures = {"parameters": report.parameters, "macs": report.macs, "wires": wires}
        if data:
            figures["data"] = [part.as_dict() for part in looked_at]
        counts = {"errors": errors, "warnings": warnings, "hints": hints, "dismissed": len(report.dismissed)}
        print_json({"event": "checked", **counts, **figures})
    else:
        for part in looked_at:
            print_text(f"{file}: looked at {part}")
        if not errors:
            print_text(f"{file}: no errors, {_summary(report, document)}, {report.parameters:,} parameters")
    if errors:
        raise typer.Exit(BAD_INPUT)


def _summary(report: Report, document: Document) -> str:
    """The numbers of warnings, hints and dismissed problems."""
    texts = [_count(len(grouped(report.warnings, document.nodes)), "warning")]
    texts += [_count(len(grouped(report.hints, document.nodes)), "hint")] if report.hints else []
    texts += [f"{len(report.dismissed):,} dismissed"] if report.dismissed else []
    return ", ".join(texts)


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


__all__ = ["check"]
